// The door of this room: other rooms import this file only.
export { type CageCall, type CageOutcome, type CageTools, JsonText } from "./cage.ts";
export type { Level } from "./command.ts";
export { type Available, availableLevel } from "./level.ts";
export { type CageLimits, MAX_DECLARATIONS } from "./limits.ts";
export type { Sandbox } from "./sandbox.ts";
export type { TypeChecker, TypeCheckRequest, TypeProblem } from "./typecheck.ts";
