// The second door: for `serve` and the start of the engine. It pulls in no package.
export { CLIENT_NAME, clientName } from "./client/name.ts";
export { AgentCardsError, describe, messageOf } from "./errors.ts";
export { HOOK_TOOL, LONGEST_HOOK_TEXT, PROMPT_EVENT, TOOL_EVENT, UNJUDGED } from "./client/hook.ts";
export { isObject, jsonDepth, sha256 } from "./json.ts";
export { coalesce, createLineSplitter, TOO_LONG } from "./lines.ts";
export { sanitise } from "./text.ts";
export { within } from "./time.ts";
