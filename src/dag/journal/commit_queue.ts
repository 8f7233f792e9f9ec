import type { Database } from "../../db/mod.ts";
import type { JsonObject } from "../../model/mod.ts";
import type { RunEvent, RunStatus } from "../event.ts";
import { rowOf, taken, unusable } from "./rows.ts";
import type { RunHead } from "./run_row.ts";

interface Entry {
  readonly run: string;
  readonly epoch: number;
  readonly event: RunEvent;
  readonly summary?: JsonObject;
}

const keyOf = ({ run, epoch }: { run: string; epoch: number }) => `${run} ${epoch}`;

interface Waiting extends Entry {
  readonly written: PromiseWithResolvers<void>;
}

/**
 * Group commit: while one commit is under way, rows gather for the next. A row goes in only under the epoch its run has
 * now; for a run that has another one, nothing is written and its writer is told.
 */
export function createCommitQueue(
  database: () => Promise<Database>,
  { leaseMs, isStillOurs }: { leaseMs: number; isStillOurs: () => boolean },
) {
  let begun: { head: RunHead; epoch: number }[] = [];
  let waiting: Waiting[] = [];
  let flushing: Promise<void> | undefined;
  /** Runs of which a row could not be written: none may follow it, or there would be a gap. */
  const broken = new Set<string>();

  async function flush(): Promise<void> {
    // What is appended in the same turn goes out together.
    await Promise.resolve();
    while (waiting.length > 0) {
      const [heads, batch] = [begun, waiting];
      [begun, waiting] = [[], []];
      try {
        const written = await commit(await database(), heads, batch, leaseMs);
        if (!isStillOurs()) throw unusable("its folder or its lock is another's by now");
        for (const entry of batch) {
          if (written.has(keyOf(entry))) entry.written.resolve();
          else entry.written.reject(taken(entry.run));
        }
      } catch (error) {
        for (const entry of batch) broken.add(keyOf(entry));
        const after = Map.groupBy(waiting, (entry) => broken.has(keyOf(entry)));
        waiting = after.get(false) ?? [];
        for (const { written } of [...batch, ...after.get(true) ?? []]) written.reject(error);
      }
    }
    flushing = undefined;
  }

  return {
    begin(head: RunHead, epoch: number): void {
      begun.push({ head, epoch });
    },
    append(entry: Entry): Promise<void> {
      if (broken.has(keyOf(entry))) return Promise.reject(new Error("a row before could not be written"));
      const written = Promise.withResolvers<void>();
      waiting.push({ ...entry, written });
      flushing ??= flush();
      return written.promise;
    },
    settled: async () => await flushing,
  };
}

const FRESH = `fresh as (
    insert into workflow_run (id, name, status, cwd, fingerprint, servers, variables, summary, request, epoch,
      lease_until)
    select id, name, status, cwd, fingerprint, servers, variables, summary, request, epoch,
      now() + $3 * interval '1 ms'
    from json_to_recordset($2::json) as x(id text, name text, status text, cwd text, fingerprint text, servers jsonb,
      variables jsonb, summary text, request text, epoch integer)
    returning id, epoch)`;

const CHANGED = (heads: string) =>
  `changed as (
    update workflow_run r set status = x.status, summary = x.summary, updated_at = now()
    from json_to_recordset(${heads}::json) as x(run text, epoch integer, status text, summary text)
    where r.id = x.run and r.epoch = x.epoch)`;

const ROWS = (live: string) => `
  insert into workflow_event (run, seq, epoch, at, kind, task, attempt, payload, request)
  select x.run, x.seq, x.epoch, x.at, x.kind, x.task, x.attempt, x.payload, x.request
  from json_to_recordset($1::json) as x(run text, epoch integer, seq integer, at float8, kind text, task text,
    attempt integer, payload text, request text)
  where exists (select 1 from ${live} as r where r.id = x.run and r.epoch = x.epoch)
  returning run, epoch`;

/** Writes a batch, and tells the runs and epochs that were really written to. */
async function commit(
  db: Database,
  heads: readonly { head: RunHead; epoch: number }[],
  batch: readonly Entry[],
  leaseMs: number,
): Promise<Set<string>> {
  const changes = new Map<string, { run: string; epoch: number; status: RunStatus; summary: string }>();
  for (const { run, epoch, event, summary } of batch) {
    const status = statusAfter(event);
    if (status) changes.set(run, { run, epoch, status, summary: JSON.stringify(summary ?? {}) });
  }
  // A row cannot be inserted and updated by one statement.
  const fresh = heads.map(({ head, epoch }) => {
    const change = changes.get(head.id);
    changes.delete(head.id);
    return {
      ...head,
      epoch,
      status: change?.status ?? "running",
      summary: change?.summary ?? JSON.stringify(head.summary),
    };
  });
  const rows = JSON.stringify(batch.map(({ run, epoch, event }) => ({ run, epoch, ...rowOf(event) })));
  // Only what is needed: the usual batch is just rows, and planning the whole takes as long as running it.
  const [parameters, parts]: [unknown[], string[]] = [[rows], []];
  if (fresh.length > 0) {
    parameters.push(JSON.stringify(fresh), leaseMs);
    parts.push(FRESH);
  }
  if (changes.size > 0) {
    parameters.push(JSON.stringify([...changes.values()]));
    parts.push(CHANGED(`$${parameters.length}`));
  }
  const live = fresh.length > 0
    ? "(select id, epoch from fresh union all select id, epoch from workflow_run)"
    : "workflow_run";
  const sql = `${parts.length > 0 ? `with ${parts.join(", ")}` : ""} ${ROWS(live)}`;
  const written = await db.query<{ run: string; epoch: number }>(sql, parameters, { isOften: true });
  return new Set(written.map(keyOf));
}

function statusAfter(event: RunEvent): RunStatus | undefined {
  if (event.kind === "paused") return "paused";
  if (event.kind === "resumed") return "running";
  return event.kind === "finished" ? event.status : undefined;
}
