// The door of this room: other rooms import this file only.
export { createSnapshots, type Snapshots } from "./snapshots.ts";
export type { SpanRecorder } from "./spans.ts";
export type { UndoReport, UndoRequest } from "./undo.ts";
export type { Conflict } from "./undo_plan.ts";
