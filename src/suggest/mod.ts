// The door of this room: other rooms import this file only.
export { type Completion, filledIn, type Inferred } from "./complete.ts";
export { feeds } from "./english/feeds.ts";
export { sketchOf } from "./english/sketch.ts";
export { createLearning, type Learning } from "./learning.ts";
export { createPromptHints, type FindHint, type PromptHint, type PromptHints } from "./prompt_hints.ts";
export { lessonsOf } from "./lessons.ts";
export { cautiously, createSuggestions, type Proposal, type Suggestions } from "./suggestions.ts";
