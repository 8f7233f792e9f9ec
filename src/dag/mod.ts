// The door of this room: other rooms import this file only.
export { APPROVAL_MS, approvalHash, isGenuine, isNotAllowed, notAllowed } from "./approval.ts";
export { type CodeCall, describeEffects } from "./code_call.ts";
export { eventCondition, loadConditions, supervisorCondition, taskCondition } from "./condition/conditions.ts";
export {
  type CallAnswer,
  createEventStream,
  type DecidedBy,
  type Decision,
  type EndStatus,
  type Happening,
  isOver,
  type Pending,
  type RunEvent,
  type RunOptions,
  type RunStatus,
  type TaskStatus,
  type WaitingCall,
} from "./event.ts";
export type { RunEngine } from "./journal/journal_store.ts";
export { createJournal, type Journal, type Writer } from "./journal/journal.ts";
export { kindOf, TASK_FORMS } from "./kinds/all.ts";
export { endsOf, failuresOf } from "./outcome.ts";
export { type Held, pendingOf, summaryOf } from "./pending.ts";
export { createPlaces, type SharedPlaces } from "./ready_queue.ts";
export { plan, planAgain, requireFewTasks } from "./plan.ts";
export { fillIn } from "./inputs.ts";
export { escapeReferences, referencesIn } from "./references.ts";
export { escapeInput, INPUT_KEYS, inputNamesIn, withInput } from "./condition/input.ts";
export { markRestored } from "./restored.ts";
export { startRun } from "./run.ts";
export type { AgentCall, AgentCalls, AgentOptions, CallOptions, Run, RunPorts, TaskResult } from "./run_port.ts";
export type { RunFilter, RunRow } from "./journal/run_row.ts";
export { type AgentSession, ranMs, type RunState, type TaskState } from "./run_state.ts";
export { createFold, type Fold, record } from "./state.ts";
export type { AgentBudget, AgentTask, CodeTask, Plan, Task, ToolTask } from "./task.ts";
