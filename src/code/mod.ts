// The door of this room: other rooms import this file only.
export { codeAnswer, typesAnswer } from "./answer.ts";
export { cacheKey } from "./cache.ts";
export { explained, NOTHING_RETURNED, typeProblems, unfenced } from "./hints.ts";
export { callsAs, type OnActing, readStored, runCode, wholeOf } from "./run_code.ts";
export type { SandboxReport } from "./sandbox_level.ts";
export { type CodeRoom, createCodeRoom } from "./services.ts";
export { MAX_STATE, returned } from "./state.ts";
export { chosenTools, serversSpokenOf, typesFor } from "./tool_types.ts";
