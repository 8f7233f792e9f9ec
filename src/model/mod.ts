// The door of this room: other rooms import this file only.
export {
  type Address,
  type Allowance,
  type ApprovalRequest,
  type Call,
  calledId,
  type Caller,
  type CallResult,
  canPut,
  type Client,
  type Human,
  type HumanWord,
  isFailure,
  type LargeResult,
  nobody,
  type Origin,
  type ToolResult,
} from "./call.ts";
export { CLIENT_NAME, clientName } from "./client/name.ts";
export { meant, parseMeaning } from "./coerce.ts";
export { declarations, declaredMethod, identifier, toolsDeclaration } from "./declaration.ts";
export { worse } from "./effect.ts";
export {
  AgentCardsError,
  describe,
  type ErrorCode,
  type ErrorDetails,
  inOneLine,
  messageOf,
  toAgentCardsError,
} from "./errors.ts";
export type { Expression, ExpressionNode } from "./cel/expression.ts";
export { exposedName, exposedUri, exposedUriParts, mayBeOf } from "./exposed.ts";
export { foldArguments } from "./fold.ts";
export {
  END_EVENT,
  HOOK_TOOL,
  type HookEvent,
  LONGEST_HOOK_TEXT,
  PROMPT_EVENT,
  TOOL_EVENT,
  UNJUDGED,
} from "./client/hook.ts";
export { madeVisible, withoutInvisible } from "./invisible.ts";
export {
  canonicalJson,
  deepFreeze,
  follow,
  isExcessive,
  isObject,
  type Json,
  jsonDepth,
  type JsonObject,
  sha256,
  type Step,
} from "./json.ts";
export { createBreather, createTurns, nextTurn } from "./keyed_mutex.ts";
export { coalesce, createLineSplitter, TOO_LONG } from "./lines.ts";
export { misspelt, readBySchema } from "./meaning.ts";
export { matchesPattern } from "./pattern.ts";
export { progressText } from "./progress.ts";
export { createQuietWork } from "./quiet.ts";
export { type Ask, type Capabilities, FORM, PAGE, type Question, type ServerRequest, takes } from "./question.ts";
export { schemaAt } from "./schema_type.ts";
export { type Field, schemaType } from "./schema_type.ts";
export { signature, typeText } from "./signature.ts";
export { CHARACTERS_PER_TOKEN, cut, nearest, oneLine, sanitise, spelledOut, tokens } from "./text.ts";
export { within } from "./time.ts";
export {
  AGENT_SERVER,
  AGENT_TOOLS,
  type Beside,
  type Catalogue,
  type Effect,
  type Offers,
  type Output,
  OWN_SERVER,
  SERVER_NAME,
  splitToolId,
  type Tool,
  toolId,
  type ToolNote,
  WORKFLOW_SERVER,
} from "./tool.ts";
export { splitWords, terms } from "./words.ts";
