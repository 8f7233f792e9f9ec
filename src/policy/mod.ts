// The door of this room: other rooms import this file only.
export { judgeAddress } from "./address.ts";
export { denied } from "./denied.ts";
export { effectOf } from "./effects.ts";
export { type Hidden, hidePii, readPatterns, restorePii } from "./pii.ts";
export { forbiddenOwnTool, judge, type Verdict } from "./rules.ts";
export { costOf, maySpeculate } from "./speculation.ts";
