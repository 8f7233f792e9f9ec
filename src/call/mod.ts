// The door of this room: other rooms import this file only.
export {
  besideValue,
  codeValueOf,
  howToRead,
  outlined,
  shape,
  shownJson,
  textResult,
  toolResultOf,
  valueOf,
} from "./answer.ts";
export { agentProblems } from "./agent_tasks.ts";
export { argumentCheck, signatureNote, writtenArguments } from "./arguments.ts";
export { type CallLog, createCallLog } from "./call_log.ts";
export { createArgumentHistory, type RecordedCall } from "./stores/argument_history.ts";
export { createCallStore } from "./stores/call_store.ts";
export { callTool, fitted, MEANT, toolCall } from "./call_tool.ts";
export { createCatalogueStore } from "./catalogue/catalogue.ts";
export { createCatalogueTables } from "./stores/catalogue_store.ts";
export { serverVariables, withoutVariableNote } from "./code_names.ts";
export { helpFor, ownTools } from "./help.ts";
export { readHookEvent } from "./hooks/hook_event.ts";
export { createHookLog, type HookListener, type HookLog } from "./hooks/hook_log.ts";
export type { HookFigures } from "./hooks/hook_store.ts";
export { createSpoolReader } from "./hooks/spooled.ts";
export { putApproval } from "./human/approval.ts";
export { AT_A_TERMINAL } from "./human/asking.ts";
export { createOpenApprovals, type OpenApprovals } from "./human/open_approvals.ts";
export { createQuestions } from "./human/run_watchers.ts";
export { createParking, identity, type Origin, type Route, type SealedState } from "./human/stateless_client.ts";
export { parseInput } from "./input.ts";
export { createLargeFrames } from "./large/frames.ts";
export type { EndedCall, Learner, Observer, Shown } from "./observer.ts";
export { openSession } from "./open_session.ts";
export { openPiiVault, type PiiVault } from "./privacy/vault.ts";
export { checkOptions, createToolBook, type Planning, planTasks, type ToolBook } from "./plan_tasks.ts";
export { createPrivacy } from "./privacy/privacy.ts";
export { resolveTool } from "./resolve.ts";
export { createResultStore, newHandle, stepsOf } from "./results.ts";
export {
  findTools,
  type Found,
  knownCatalogues,
  knownTools,
  listServers,
  mayBeCalled,
  reviewNote,
  serverMeant,
  toolsInMemory,
  warmSearch,
  withheldNote,
} from "./search.ts";
export { reportSecrets, type SecretsReport } from "./secret_report.ts";
export type { Session, SessionContext, Shared } from "./session.ts";
export { retireUnused } from "./shared_servers.ts";
export { CACHED } from "./stages/cache.ts";
export { fileOf } from "./stages/observe.ts";
export { withheldError } from "./stages/pin.ts";
export { CALL_TIMEOUT_MS } from "./stages/send.ts";
export type { GuardedCall, Guardrail, GuardVerdict } from "./stages/guard.ts";
export { requireReadable } from "./stored_access.ts";
