// The door of this room: other rooms import this file only.
export { type PendingView, type RunBody, runBody, statsOf, workflowAnswer } from "./answer.ts";
export { resultOfRun } from "./attachments.ts";
export { ACTIONS, parseResume, parseRun } from "./input.ts";
export type { Decider, RunView } from "./live.ts";
export type { RunListener, StartRequest, Workflows, WorkSession } from "./port.ts";
export { reportOf, reportsOf, type RunDetails, type RunReport, type TaskReport, tasksOf } from "./report.ts";
export { resumeRequest, runRequest } from "./request.ts";
export { unknownRun } from "./resting.ts";
export { createTemplates, filledIn, type Template, templateOf, type Templates } from "./templates.ts";
export { createWorkflows } from "./workflows.ts";
