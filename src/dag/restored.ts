import type { Database } from "../db/mod.ts";
import type { Happening } from "./event.ts";
import { createJournal } from "./journal/journal.ts";
import { restoredPending, summaryOf } from "./pending.ts";
import type { RunState } from "./run_state.ts";
import { record } from "./state.ts";
import type { Task } from "./task.ts";

const ALL = 1_000_000;
const WHY = "after the backup was made it may have run";

/**
 * Brings every run that was not over when a backup was made to rest: nobody knows what it did after that. Each acting
 * task without an end is in doubt, and only a human goes on with the run. Returns the number of such runs.
 */
export async function markRestored(db: Database, isActing: (task: Task) => boolean): Promise<number> {
  const journal = createJournal(db, { isAlone: true });
  const rows = await journal.list({ status: ["running", "paused"], limit: ALL });
  for (const row of rows) {
    const fold = await journal.open(row.id);
    const doubts = record(fold, doubtsOf(fold.state, isActing));
    const writer = await journal.take(row, doubts, summaryOf(fold.state));
    if (!writer) throw new Error(`${row.id} is held by another process`);
    const [paused] = record(fold, [{ kind: "paused", pending: restoredPending(fold.state) }]);
    await writer.append(paused!, summaryOf(fold.state));
    writer.close();
  }
  await journal.close();
  return rows.length;
}

function doubtsOf({ plan, tasks }: RunState, isActing: (task: Task) => boolean): Happening[] {
  return plan.flatMap((task): Happening[] => {
    const { status, attempt, effectful } = tasks.get(task.id)!;
    const isOpen = status === "waiting" || status === "running";
    return isOpen && (effectful || isActing(task)) ? [{ kind: "in_doubt", task: task.id, attempt, why: WHY }] : [];
  });
}
