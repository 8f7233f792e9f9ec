import type { Methods } from "../context.ts";
import { acceptDatabase, acceptSandbox, backup, stop } from "./home.ts";
import { graph, templateRemove, templates, templateSave } from "./learned.ts";
import { approvals, decide, decideCall, observe, run, runs, runShow } from "./runs.ts";
import { embed, index } from "./servers.ts";
import { status } from "./status.ts";
import { call, search, tools } from "./tools.ts";

/** Every control method by its name. */
export const METHODS: Methods = {
  accept_database: acceptDatabase,
  accept_sandbox: acceptSandbox,
  approvals,
  backup,
  call,
  decide,
  decide_call: decideCall,
  embed,
  graph,
  index,
  observe,
  run,
  run_show: runShow,
  runs,
  search,
  status,
  stop,
  template_remove: templateRemove,
  template_save: templateSave,
  templates,
  tools,
};
