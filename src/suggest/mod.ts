// The door of this room: other rooms import this file only.
export { attachable } from "./ahead/attachment.ts";
export { createReadsAhead, type MadeRun, type ReadsAhead } from "./ahead/reads_ahead.ts";
export { type ChainOffer, type Chains, createChains } from "./chains/chains.ts";
export { type Completion, filledIn, type Inferred } from "./complete.ts";
export { createEpisodes } from "./episodes/episodes.ts";
export { feeds } from "./english/feeds.ts";
export { sketchOf } from "./english/sketch.ts";
export { createLearning, type Learning, together } from "./learning.ts";
export { createPromptHints, type FindHint, type PromptHint, type PromptHints } from "./prompt_hints.ts";
export { lessonsOf } from "./lessons.ts";
export { cautiously, createSuggestions, type Proposal, type Suggestions } from "./suggestions.ts";
