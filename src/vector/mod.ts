// The door of this room: other rooms import this file only.
export { createToolSearch } from "./search.ts";
export { missingOf } from "./rank.ts";
export type { Hit, Judgement, Ranking, SearchExperience, SearchStatus, ToolSearch } from "./search_port.ts";
