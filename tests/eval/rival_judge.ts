import type { Database } from "../../src/db/database.ts";
import { type DagTask, kindOf } from "./random_dag.ts";
import type { RivalBegin, Rivals } from "./rivals.ts";

export interface RivalVerdict {
  silent_reruns: number;
  finished_reruns: number;
  lost: number;
  doubts: number;
  in_doubt_surfaced: number;
  double_executions: number;
  /** Effectful calls that went out without a row of their own epoch that says so. */
  unfenced_calls: number;
  /** Rows that a runner wrote after it had been replaced. */
  stale_rows: number;
  doubts_not_begun: number;
  /** Calls of a runner that had been replaced: reads, and what it had written down before. */
  zombie_calls: number;
}

interface Row {
  readonly seq: number;
  readonly epoch: number;
  readonly kind: string;
  readonly task: string | null;
  readonly attempt: number | null;
}

export interface RivalEvidence {
  readonly db: Database;
  readonly rivals: Rivals;
  readonly run: string;
  readonly tasks: readonly DagTask[];
  /** The rows that runners were told to be written. */
  readonly written: readonly { readonly epoch: number; readonly seq: number }[];
}

/** Holds the journal of a run that is over against what its runners really did. */
export async function judgeRivals({ db, rivals, run, tasks, written }: RivalEvidence): Promise<RivalVerdict> {
  const rows = await db.query<Row>(
    "select seq, epoch, kind, task, attempt from workflow_event where run = $1 order by seq",
    [run],
  );
  const [head] = await db.query<{ status: string }>("select status from workflow_run where id = $1", [run]);
  // Runners skip what is in doubt; an end that was skipped has not succeeded.
  if (!["completed", "partial", "failed"].includes(head?.status ?? "")) throw new Error(`${run} is ${head?.status}`);
  const begins = rivals.begins(run);
  rivals.clear();
  const kept = new Set(rows.map(({ epoch, seq }) => `${epoch} ${seq}`));
  const verdict: RivalVerdict = {
    silent_reruns: 0,
    finished_reruns: 0,
    lost: written.filter(({ epoch, seq }) => !kept.has(`${epoch} ${seq}`)).length +
      (rows.some(({ seq }, i) => seq !== i + 1) ? 1 : 0),
    doubts: 0,
    in_doubt_surfaced: 0,
    double_executions: 0,
    unfenced_calls: 0,
    stale_rows: rows.filter(({ epoch }, i) => epoch < (rows[i - 1]?.epoch ?? 0)).length,
    doubts_not_begun: 0,
    zombie_calls: 0,
  };
  for (const task of tasks) {
    const own = begins.filter((begin) => begin.task === task.id);
    judgeTask(task, { own, about: rows.filter((row) => row.task === task.id), verdict });
  }
  return verdict;
}

function judgeTask(
  task: DagTask,
  { own, about, verdict }: { own: readonly RivalBegin[]; about: readonly Row[]; verdict: RivalVerdict },
): void {
  const ended = about.filter(({ kind }) => kind === "done" || kind === "failed");
  verdict.finished_reruns += own.filter((begin) => ended.some(({ epoch }) => epoch < begin.epoch)).length;
  const isWritten = ({ attempt, epoch }: RivalBegin) =>
    about.some((row) => row.kind === "started" && row.attempt === attempt && row.epoch === epoch);
  verdict.zombie_calls += own.filter((begin) => !isWritten(begin)).length;
  if (kindOf(task) !== "effectful") return;
  const doubted = about.filter(({ kind }) => kind === "in_doubt");
  verdict.double_executions += Math.max(0, own.length - 1);
  verdict.silent_reruns += Math.max(0, new Set(own.map(({ epoch }) => epoch)).size - 1);
  for (const begin of own) {
    if (!isWritten(begin)) verdict.unfenced_calls++;
    if (ended.some(({ epoch }) => epoch === begin.epoch)) continue;
    verdict.doubts++;
    if (doubted.some(({ epoch }) => epoch > begin.epoch)) verdict.in_doubt_surfaced++;
  }
  verdict.doubts_not_begun += doubted.filter(({ epoch }) => !own.some((begin) => begin.epoch < epoch)).length;
}
