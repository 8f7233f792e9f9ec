// The door of this room: other rooms import this file only.
export { type PendingView, type RunBody, runBody, statsOf, workflowAnswer } from "./answer.ts";
export { resultOfRun } from "./attachments.ts";
export { ACTIONS, parseResume, parseRun } from "./input.ts";
export type { Decider, RunView } from "./live.ts";
export type { RunListener, StartRequest, Workflows, WorkSession } from "./port.ts";
export { reportOf, reportsOf, type RunDetails, type RunReport, type TaskReport, tasksOf } from "./report.ts";
export { resumeRequest, runRequest } from "./request.ts";
export { unknownRun } from "./resting.ts";
export { parseWorkflowFile } from "./saved/file.ts";
export type { SavedWorkflow } from "./saved/folder.ts";
export { textOfRun } from "./saved/from_run.ts";
export { filesFromDatabase } from "./saved/migrate.ts";
export { preparedRun } from "./saved/prepare.ts";
export { createSavedRunner } from "./saved/run_saved.ts";
export { createSavedWorkflows, type SavedWorkflows } from "./saved/saved.ts";
export { createWorkflows } from "./workflows.ts";
