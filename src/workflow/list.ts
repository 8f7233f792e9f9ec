import { isOver } from "../dag/mod.ts";
import { isObject, type JsonObject } from "../model/mod.ts";
import { reportsOf, type RunReport } from "./report.ts";
import type { WorkSession } from "./port.ts";

/** The number of runs of a folder that are looked at, and that an agent is told. */
const LOOKED_AT = 500;
const SHOWN_RUNS = 30;

/** The age up to which runs that are over and may belong to others are told. */
const RECENT_MS = 24 * 3_600_000;

/**
 * The runs an agent may ask about: those of its session; those of its folder that are not over or can be repaired; and
 * those that an earlier engine ran, since nobody knows any more whose they were.
 */
export async function listRuns(session: WorkSession): Promise<JsonObject> {
  const { workflows, connection, cwd } = session;
  const own = new Set(workflows.idsOf(session));
  // Those of the same client in an engine that is gone.
  const before = connection === undefined ? [] : await workflows.journal.list({ connection, cwd, limit: LOOKED_AT });
  for (const { id } of before) own.add(id);
  const all = await reportsOf(workflows, { cwd, limit: LOOKED_AT });
  const isFirst = (run: RunReport) => own.has(run.id) || !isOver(run);
  const others = all.filter((run) => !isFirst(run) && Date.now() - run.created < RECENT_MS)
    .filter((run) => run.status !== "completed" || isEarlier(run));
  const found = [...all.filter(isFirst), ...others];
  const shown = found.slice(0, SHOWN_RUNS).map((run) => lineOf(run, own.has(run.id)));
  return {
    runs: shown,
    ...found.length > shown.length && { runs_omitted: found.length - shown.length },
    next: found.length === 0
      ? "No run of this session is known; in this folder none is unfinished, and none failed within a day."
      : "resume_workflow with a workflow_id and an action goes on with one.",
  };
}

/** True if a run was begun before this engine: the engine has no memory of the sessions before it. */
function isEarlier({ created }: RunReport): boolean {
  return created < performance.timeOrigin;
}

function lineOf(
  run: RunReport,
  isOwn: boolean,
): JsonObject {
  const { id, name, status, tasks, succeeded, created, pending, error } = run;
  const { reason, for: whom, task } = isObject(pending) ? pending : {};
  return {
    workflow_id: id,
    status,
    ...name !== "" && { name },
    tasks: `${succeeded} of ${tasks} succeeded`,
    started: new Date(created).toISOString(),
    ...reason !== undefined && { waits: [reason, whom && `for ${whom}`, task].filter(Boolean).join(" ") },
    ...error !== null && { error },
    ...!isOwn && { session: isEarlier(run) ? "not known, an earlier engine ran it" : "another" },
  };
}
