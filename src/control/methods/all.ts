import type { Methods } from "../context.ts";
import { contexts, drain, engines } from "./cluster.ts";
import { agents, supervisoryReports } from "./agents.ts";
import { acceptDatabase, acceptSandbox, auditExport, backup, stop } from "./home.ts";
import { hooks } from "./hooks.ts";
import { review, reviewAccept } from "./review.ts";
import { graph, graphAll } from "./learned.ts";
import {
  policy,
  policyExplain,
  policyGrants,
  policyReplay,
  policyRevoke,
  policySuggest,
  policyTest,
} from "./policy.ts";
import { now, runPage, runs, runTask } from "./pages.ts";
import { approvals, decide, decideCall, observe, promptUndo, run, runShow, runUndo } from "./runs.ts";
import {
  workflowCheck,
  workflowImport,
  workflowRemove,
  workflows,
  workflowSave,
  workflowShow,
  workflowSuggest,
} from "./saved.ts";
import { embed, index, restart } from "./servers.ts";
import { signedIn } from "./sign_in.ts";
import { stats } from "./stats.ts";
import { status } from "./status.ts";
import { call, search, tools } from "./tools.ts";
import { triggerOff, triggerOn, triggers, triggerShow, triggerTry } from "./triggers.ts";
import { watch } from "./watch.ts";

/** Every control method by its name. */
export const METHODS: Methods = {
  accept_database: acceptDatabase,
  accept_sandbox: acceptSandbox,
  agents,
  approvals,
  audit_export: auditExport,
  backup,
  call,
  contexts,
  decide,
  decide_call: decideCall,
  drain,
  embed,
  engines,
  graph,
  graph_all: graphAll,
  hooks,
  index,
  now,
  observe,
  policy,
  policy_explain: policyExplain,
  policy_grants: policyGrants,
  policy_replay: policyReplay,
  policy_revoke: policyRevoke,
  policy_suggest: policySuggest,
  policy_test: policyTest,
  prompt_undo: promptUndo,
  restart,
  review,
  review_accept: reviewAccept,
  run,
  run_page: runPage,
  run_show: runShow,
  run_task: runTask,
  run_undo: runUndo,
  runs,
  search,
  signed_in: signedIn,
  stats,
  status,
  stop,
  supervisory_reports: supervisoryReports,
  tools,
  trigger_off: triggerOff,
  trigger_on: triggerOn,
  trigger_show: triggerShow,
  trigger_try: triggerTry,
  triggers,
  watch,
  workflow_check: workflowCheck,
  workflow_import: workflowImport,
  workflow_remove: workflowRemove,
  workflow_save: workflowSave,
  workflow_show: workflowShow,
  workflow_suggest: workflowSuggest,
  workflows,
};
