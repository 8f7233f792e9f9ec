// The door of this room: other rooms import this file only.
export { lowerBound } from "./bound.ts";
export { type Budget, createBudget } from "./budget.ts";
export { type Dependency, reliability } from "./dependency.ts";
export { type Experience, openExperience } from "./experience.ts";
export { nameOf } from "./foresight.ts";
export type { Neighbour } from "./graph.ts";
export { WASTE } from "./rule.ts";
export { isPlainKey, leavesOf, pathText, type Remembered } from "./recipe.ts";
export { createLearningStore } from "./learning_store.ts";
export { type Mode, modeFor, type Outcome, speculateAt, withOutcome } from "./threshold.ts";
