// The door of this room: other rooms import this file only.
export { createToolSearch } from "./search.ts";
export type { Hit, Ranking, SearchStatus, ToolSearch } from "./search_port.ts";
