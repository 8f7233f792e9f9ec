import { isObject, type JsonObject } from "../model/json.ts";
import { reportsOf, type RunReport } from "./workflow_control.ts";
import type { WorkSession } from "./workflows.ts";

/** The number of runs of a folder that are looked at, and that an agent is told. */
const LOOKED_AT = 500;
const SHOWN_RUNS = 30;

/** The runs an agent may ask about: those of its session, and those of its folder that are not over. */
export async function listRuns(session: WorkSession): Promise<JsonObject> {
  const own = new Set(session.workflows.idsOf(session));
  const all = await reportsOf(session.workflows, { cwd: session.cwd, limit: LOOKED_AT });
  const found = all.filter(({ id, status }) => own.has(id) || status === "running" || status === "paused");
  const shown = found.slice(0, SHOWN_RUNS).map((run) => lineOf(run, own.has(run.id)));
  return {
    runs: shown,
    ...found.length > shown.length && { runs_omitted: found.length - shown.length },
    next: found.length === 0
      ? "This session has run no workflow, and none of this folder is unfinished."
      : "resume_workflow with a workflow_id and an action goes on with one.",
  };
}

function lineOf(
  { id, name, status, tasks, succeeded, created, pending, error }: RunReport,
  isOwn: boolean,
): JsonObject {
  const { reason, for: whom, task } = isObject(pending) ? pending : {};
  return {
    workflow_id: id,
    status,
    ...name !== "" && { name },
    tasks: `${succeeded} of ${tasks} succeeded`,
    started: new Date(created).toISOString(),
    ...reason !== undefined && { waits: [reason, whom && `for ${whom}`, task].filter(Boolean).join(" ") },
    ...error !== null && { error },
    ...!isOwn && { session: "another" },
  };
}
