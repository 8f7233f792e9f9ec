// The door of this room: other rooms import this file only.
export { askEngine, type ControlRequest, type TakeQuestion } from "./client.ts";
export type { Gateway } from "./gateway.ts";
export type { GraphReport } from "./learning_methods.ts";
export type { EmbedProgress, EmbedReport, EngineReport, IndexReport, SearchReport, ServerReport } from "./methods.ts";
export type { ApprovalReport, RunProgress } from "./workflow_methods.ts";
