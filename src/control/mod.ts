// The door of this room: other rooms import this file only.
export type { JudgedTool, MethodName, Params, Progress, Result } from "./api.ts";
export { askEngine, type ControlRequest, type TakeQuestion } from "./client.ts";
export type { Gateway } from "./gateway.ts";
export type {
  ApprovalReport,
  EmbedProgress,
  EmbedReport,
  EngineReport,
  GraphReport,
  IndexProgress,
  IndexReport,
  ReviewReport,
  RunProgress,
  SavedReport,
  SearchReport,
  ServerReport,
} from "./reports.ts";
