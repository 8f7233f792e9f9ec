// The door of this room: other rooms import this file only.
export { type JudgedTool, METHOD_NAMES, type MethodName, type Params, type Progress, type Result } from "./api.ts";
export { askEngine } from "./client.ts";
export type { Gateway } from "./gateway.ts";
export { type ControlLink, type ControlRequest, openControl, type TakeQuestion } from "./link.ts";
export type {
  ApprovalReport,
  EmbedProgress,
  EmbedReport,
  EngineReport,
  GraphPage,
  GraphReport,
  IndexProgress,
  IndexReport,
  NowReport,
  ReviewReport,
  RunNotice,
  RunPage,
  RunProgress,
  SavedReport,
  SearchReport,
  ServerReport,
  StatsReport,
  TaskDetails,
  WatchProgress,
} from "./reports.ts";
