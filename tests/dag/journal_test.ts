import assert from "node:assert/strict";
import { createJournal } from "../../src/dag/journal/journal.ts";
import type { RunHead } from "../../src/dag/journal/run_row.ts";
import type { Happening, RunEvent } from "../../src/dag/event.ts";
import { type Database, lazyDatabase, noDatabase } from "../../src/db/database.ts";
import { isOnPostgres, withEmptyDatabase } from "../fixtures/shared_database.ts";
import { sleep, until } from "../fixtures/gateway.ts";

const head = (id: string, more: Partial<RunHead> = {}): RunHead => ({
  id,
  name: "",
  cwd: "/somewhere",
  fingerprint: "f",
  servers: ["s"],
  variables: ["TOKEN"],
  summary: { tasks: 1 },
  ...more,
});
const event = (seq: number, happening: Happening): RunEvent => ({ ...happening, seq, at: seq });
const started = (seq: number, task = "a") => event(seq, { kind: "started", task, attempt: 1, effect: "effectful" });
const planned = event(1, { kind: "planned", tasks: [], options: {} });
const finished = (seq: number) => event(seq, { kind: "finished", status: "completed" });
const paused = (seq: number) =>
  event(seq, { kind: "paused", pending: { reason: "layer", for: "agent", why: "", calls: [], choices: [] } });
const resumed = (seq: number) => event(seq, { kind: "resumed", why: "test" });

interface Counted {
  readonly db: Database;
  commits(): number;
}

function withDatabase(work: (counted: Counted) => Promise<void>): Promise<void> {
  return withEmptyDatabase(async (db) => {
    let commits = 0;
    const query: Database["query"] = (sql, parameters, options) => {
      if (sql.includes("into workflow_event")) commits++;
      return db.query(sql, parameters, options);
    };
    await work({ db: { ...db, query }, commits: () => commits });
  });
}

Deno.test("rows that come while a commit is under way go out together, in order, to the letter", async () => {
  await withDatabase(async ({ db, commits }) => {
    const journal = createJournal(db, { isAlone: true });
    const writer = journal.begin(head("wf_1"));
    const odd = "NUL \u0000, half a pair \ud800, and 'quotes'";
    const done = event(3, {
      kind: "done",
      task: "a",
      attempt: 1,
      ms: 1,
      bytes: 3,
      output: { kind: "value", value: odd },
    });
    await Promise.all([writer.append(planned), writer.append(started(2)), writer.append(done)]);
    const many = Array.from({ length: 200 }, (_, i) => writer.append(started(4 + i, `t${i}`)));
    await Promise.all([...many, writer.append(finished(204), { tasks: 200, ms: 5 })]);
    assert.ok(commits() <= 3, `${commits()} commits`);
    const events = await journal.events("wf_1");
    assert.deepEqual(events.map(({ seq }) => seq), Array.from({ length: 204 }, (_, i) => i + 1));
    assert.deepEqual(events[2], done);
    const row = await journal.find("wf_1");
    assert.deepEqual([row?.status, row?.summary, row?.variables], ["completed", { tasks: 200, ms: 5 }, ["TOKEN"]]);
    assert.equal(await journal.find("wf_2"), undefined);
    await journal.close();
  });
});

Deno.test("a run begun, paused and ended within one commit has the status of its end", async () => {
  await withDatabase(async ({ db, commits }) => {
    const journal = createJournal(db, { isAlone: true });
    const writer = journal.begin(head("wf_1"));
    await Promise.all([writer.append(planned), writer.append(finished(2), { tasks: 3 })]);
    assert.equal(commits(), 1);
    assert.deepEqual((await journal.find("wf_1"))?.status, "completed");
    await journal.close();
  });
});

Deno.test("whoever was replaced writes nothing any more, and hears of it", async () => {
  await withDatabase(async ({ db }) => {
    const journal = createJournal(db, { isAlone: false, leaseMs: 1_000 });
    const first = journal.begin(head("wf_1"));
    await first.append(planned);
    const row = (await journal.find("wf_1"))!;
    assert.equal(row.isHeld, true);
    assert.equal(await journal.take(row, [resumed(2)], {}), undefined, "its runner lives");
    await sleep(1_500);
    assert.equal((await journal.find("wf_1"))?.isHeld, true, "a lease is kept as long as its runner lives");
    // As if the process had been stopped: no beat any more.
    first.close();
    await until("the lease ran out", async () => (await journal.find("wf_1"))?.isHeld === false);
    const seen = (await journal.find("wf_1"))!;
    const [a, b] = await Promise.all([journal.take(seen, [resumed(2)], {}), journal.take(seen, [resumed(2)], {})]);
    assert.equal([a, b].filter(Boolean).length, 1, "two who want it at once: one gets it");
    await assert.rejects(first.append(started(2)), { code: "RUN_TAKEN" });
    assert.equal((await first.lost).code, "RUN_TAKEN");
    const winner = a ?? b!;
    await winner.append(started(3));
    // Both in one commit: each under its own epoch.
    const [late, good] = await Promise.allSettled([first.append(started(4)), winner.append(started(4, "b"))]);
    assert.deepEqual([late.status, good.status], ["rejected", "fulfilled"]);
    const events = await journal.events("wf_1");
    assert.deepEqual(events.map(({ seq, kind }) => `${seq} ${kind}`), [
      "1 planned",
      "2 resumed",
      "3 started",
      "4 started",
    ]);
    assert.equal((events[3] as { task: string }).task, "b");
    winner.close();
    await journal.close();
  });
});

Deno.test("a beat that finds the run in other hands tells its runner", async () => {
  await withDatabase(async ({ db }) => {
    const journal = createJournal(db, { isAlone: false, leaseMs: 90 });
    const writer = journal.begin(head("wf_1"));
    await writer.append(planned);
    await db.query("update workflow_run set epoch = epoch + 1");
    assert.equal((await writer.lost).code, "RUN_TAKEN");
    writer.close();
    await journal.close();
  });
});

Deno.test("a run that rests is taken by one decision only, with its rows or not at all", async () => {
  await withDatabase(async ({ db }) => {
    const journal = createJournal(db, { isAlone: true });
    const writer = journal.begin(head("wf_1"));
    await Promise.all([writer.append(planned), writer.append(paused(2))]);
    writer.close();
    const row = (await journal.find("wf_1"))!;
    assert.equal(row.status, "paused");
    const command = event(3, { kind: "command", by: "human", decision: { action: "continue" } });
    assert.equal(await journal.note(row, [command], { noted: true }), true);
    assert.equal(await journal.note(row, [command], {}), false, "seen too early");
    assert.equal(await journal.take(row, [resumed(3)], {}), undefined);
    const now = (await journal.find("wf_1"))!;
    assert.deepEqual([now.status, now.summary], ["paused", { noted: true }]);
    const taken = await journal.take(now, [resumed(4)], {});
    assert.equal((await journal.find("wf_1"))?.status, "running");
    assert.equal((await journal.open("wf_1")).state.status, "running");
    assert.equal(await journal.take((await journal.find("wf_1"))!, [resumed(5)], {}), undefined);
    taken?.close();
    await journal.close();
  });
});

Deno.test("whoever opens the database alone knows that every earlier runner is gone", async () => {
  await withDatabase(async ({ db }) => {
    const before = createJournal(db, { isAlone: true });
    await before.begin(head("wf_1")).append(planned);
    assert.equal((await before.find("wf_1"))?.isHeld, true);
    const after = createJournal(db, { isAlone: true });
    const row = (await after.find("wf_1"))!;
    assert.equal(row.isHeld, false);
    assert.ok(Math.abs(row.quiet) < 5_000);
    (await after.take(row, [resumed(2)], {}))?.close();
    await before.close();
    await after.close();
  });
});

Deno.test("old runs are forgotten by age and number, one that waits never", async () => {
  await withDatabase(async ({ db }) => {
    const journal = createJournal(db, { isAlone: true });
    for (let i = 0; i < 6; i++) {
      const writer = journal.begin(head(`wf_${i}`, { cwd: `/${i % 2}` }));
      await Promise.all([writer.append(planned), writer.append(i === 0 ? paused(2) : finished(2))]);
      writer.close();
    }
    await db.query("update workflow_run set created_at = now() - (10 - right(id, 1)::int) * interval '1 hour'");
    await db.query("update workflow_run set updated_at = now() - interval '40 days' where id in ('wf_0', 'wf_1')");
    const ids = async () => (await journal.list()).map(({ id }) => id).sort();
    assert.equal(await journal.prune({ ageMs: 30 * 86_400_000, count: 100, bytes: 1e9 }), 1);
    assert.deepEqual(await ids(), ["wf_0", "wf_2", "wf_3", "wf_4", "wf_5"]);
    assert.equal(await journal.prune({ ageMs: 30 * 86_400_000, count: 2, bytes: 1e9 }), 2);
    assert.deepEqual(await ids(), ["wf_0", "wf_4", "wf_5"]);
    assert.deepEqual(await journal.events("wf_1"), []);
    assert.equal((await journal.events("wf_0")).length, 2);
    assert.deepEqual((await journal.list({ status: ["paused"] })).map(({ id }) => id), ["wf_0"]);
    assert.deepEqual((await journal.list({ cwd: "/1" })).map(({ id }) => id), ["wf_5"]);
    assert.equal((await journal.list({ limit: 1 })).length, 1);
    await journal.close();
  });
});

Deno.test("a snapshot shortens reading, and a runner that was replaced cannot leave one", async () => {
  await withDatabase(async ({ db }) => {
    const journal = createJournal(db, { isAlone: true });
    const writer = journal.begin(head("wf_1"));
    const tasks = [{ id: "a", type: "tool", tool: "s:x", arguments: {}, depends_on: [] }] as const;
    await Promise.all([
      writer.append(event(1, { kind: "planned", tasks, options: {} })),
      writer.append(started(2)),
      writer.append(
        event(3, { kind: "done", task: "a", attempt: 1, ms: 1, bytes: 1, output: { kind: "value", value: 1 } }),
      ),
    ]);
    await writer.snapshot((await journal.open("wf_1")).state);
    await db.query("delete from workflow_event where seq < 3");
    await writer.append(paused(4));
    const { state } = await journal.open("wf_1");
    assert.deepEqual([state.status, state.tasks.get("a")?.status, state.seq], ["paused", "success", 4]);
    await db.query("update workflow_run set epoch = 9");
    await db.query("delete from workflow_snapshot");
    await writer.snapshot(state);
    assert.deepEqual(await db.query("select 1 from workflow_snapshot"), []);
    writer.close();
    await journal.close();
  });
});

Deno.test("after a row that could not be written none follows, so that there is never a gap", async () => {
  await withDatabase(async ({ db }) => {
    let isFull = false;
    const query: Database["query"] = async (sql, parameters, options) => {
      if (isFull && sql.includes("into workflow_event")) {
        await sleep(20);
        throw new Error("disk full");
      }
      return await db.query(sql, parameters, options);
    };
    const journal = createJournal({ ...db, query }, { isAlone: true });
    const [bad, good] = [journal.begin(head("wf_bad")), journal.begin(head("wf_good"))];
    await Promise.all([bad.append(planned), good.append(planned)]);
    isFull = true;
    const lost = bad.append(started(2));
    await sleep(5);
    const behind = bad.append(started(3, "b"));
    await assert.rejects(lost, /disk full/);
    isFull = false;
    await assert.rejects(behind);
    await assert.rejects(bad.append(finished(4)));
    await good.append(finished(2));
    assert.deepEqual((await journal.events("wf_bad")).map(({ seq }) => seq), [1]);
    assert.equal((await journal.find("wf_good"))?.status, "completed");
    bad.release();
    await until("it can be taken up", async () => (await journal.find("wf_bad"))?.isHeld === false);
    await db.query(
      "insert into workflow_event select run, 5, epoch, at, kind, task, attempt, payload from workflow_event where run = 'wf_bad'",
    );
    await assert.rejects(journal.open("wf_bad"), /row 2 of wf_bad is missing/);
    bad.close();
    good.close();
    await journal.close();
  });
});

Deno.test("a beat never takes a run for lost whose first row is still on the way", async () => {
  await withDatabase(async ({ db }) => {
    const query: Database["query"] = async (sql, parameters, options) => {
      if (sql.includes("into workflow_event")) await sleep(60);
      return await db.query(sql, parameters, options);
    };
    const journal = createJournal({ ...db, query }, { isAlone: true, leaseMs: 30 });
    const writer = journal.begin(head("wf_1"));
    const first = await Promise.race([writer.append(planned), writer.lost]);
    assert.equal(first, undefined);
    writer.close();
    await journal.close();
  });
});

Deno.test("without a database, and with one that fails, the writer is told", async () => {
  const none = createJournal(lazyDatabase(() => Promise.reject(noDatabase())), { isAlone: true });
  await assert.rejects(none.begin(head("wf_1")).append(planned), { code: "DB_UNUSABLE" });
  await none.close();
  await withDatabase(async ({ db }) => {
    const query: Database["query"] = (sql, parameters) =>
      sql.includes("into workflow_event") ? Promise.reject(new Error("disk full")) : db.query(sql, parameters);
    const journal = createJournal({ ...db, query }, { isAlone: true });
    const writer = journal.begin(head("wf_1"));
    await assert.rejects(writer.append(planned), /The journal cannot be used: disk full/);
    assert.equal((await writer.lost).code, "DB_UNUSABLE");
    writer.close();
    await journal.close();
  });
});

Deno.test("a run is found by the request that started it and by those that decided about it, and by their connection", async () => {
  await withDatabase(async ({ db }) => {
    const journal = createJournal(db, { isAlone: true });
    const writer = journal.begin(head("wf_1", { request: 'conn:"a":1' }));
    const abort: Happening = {
      kind: "command",
      by: "agent",
      decision: { action: "abort" },
      request: "other:2:1",
    };
    // Not awaited: a row that is on its way counts.
    void writer.append(planned);
    assert.equal(await journal.runOf('conn:"a":1'), "wf_1");
    await writer.append(event(2, abort));
    await writer.append(paused(3));
    writer.close();
    assert.equal(await journal.runOf("other:2:1"), "wf_1");
    assert.equal(await journal.runOf("other:2:2"), undefined);
    const taken = await journal.take(
      (await journal.find("wf_1"))!,
      [event(4, { ...abort, request: "conn:3:1" }), resumed(5)],
      {},
    );
    assert.equal(await journal.runOf("conn:3:1"), "wf_1");
    taken!.close();
    await journal.begin(head("wf_2")).append(planned);
    assert.deepEqual((await journal.list({ connection: "conn" })).map(({ id }) => id), ["wf_1"]);
    assert.deepEqual(await journal.list({ connection: "con" }), []);
    assert.equal((await journal.list()).length, 2);
    assert.deepEqual((await journal.events("wf_1")).map(({ kind }) => kind), [
      "planned",
      "command",
      "paused",
      "command",
      "resumed",
    ]);
    await journal.close();
  });
});

Deno.test("pruning below the quota of bytes costs no look at the file system per row", async () => {
  await withDatabase(async ({ db }) => {
    const journal = createJournal(db, { isAlone: true });
    await db.query(
      `insert into workflow_run (id, name, status, cwd, fingerprint, servers, variables, summary, epoch, lease_until)
       select 'wf_' || n, '', 'completed', '', '', '[]', '[]', '{}', 1, now() from generate_series(0, 159) as n`,
    );
    await db.query(
      `insert into workflow_event (run, seq, epoch, at, kind, payload)
       select 'wf_' || n / 50, n % 50 + 1, 1, 0, 'started', '{}' from generate_series(0, 7999) as n`,
    );
    const began = performance.now();
    await journal.prune({ ageMs: 30 * 86_400_000, count: 1_000, bytes: 1e9 });
    const ms = performance.now() - began;
    // Once per row took about 0.3 ms each: 2.4 s.
    assert.ok(ms < 800, `${Math.round(ms)} ms`);
    await journal.close();
  });
});

Deno.test("a row that is on its way while another runner takes the run over is not written", async () => {
  await withDatabase(async ({ db }) => {
    const journal = createJournal(db, { isAlone: false });
    const writer = journal.begin(head("wf_1"));
    await writer.append(planned);
    let written: Promise<unknown> | undefined;
    await db.transaction(async (tx) => {
      await tx.query("update workflow_run set epoch = epoch + 1 where id = 'wf_1'");
      let isSettled = false;
      written = writer.append(started(2)).then(() => "written", (error) => error.code);
      written.then(() => isSettled = true);
      // PGlite lets the row wait for its turn, a server for the row of the run.
      const isWaiting = async () =>
        !isOnPostgres || isSettled || (await tx.query("select 1 from pg_locks where not granted")).length > 0;
      await until("the row waits", isWaiting);
    });
    assert.equal(await written, "RUN_TAKEN");
    assert.deepEqual((await journal.events("wf_1")).map(({ seq }) => seq), [1]);
    writer.close();
    await journal.close();
  });
});

const engineNamed = (id: string, owner = "ann") => ({ id, host: "h", owner, isShared: false });

Deno.test("a call that acts does not go out when its row was answered after the lease, and another engine has the run", async () => {
  await withDatabase(async ({ db }) => {
    const late = Promise.withResolvers<void>();
    const query: Database["query"] = async (sql, parameters, options) => {
      const rows = await db.query(sql, parameters, options);
      // A process that is stopped gets its answers late, and says nothing meanwhile.
      if (String(parameters?.[0]).includes("slow")) await late.promise;
      return rows as never;
    };
    const slow = createJournal({ ...db, query }, { isAlone: false, engine: engineNamed("e1"), leaseMs: 60_000 });
    const writer = slow.begin(head("wf_1"));
    await writer.append(planned);
    const written = writer.append(started(2, "slow")).then(() => "written", (error) => error.code);
    await until("the row is there", async () => (await slow.events("wf_1")).length === 2);
    await db.query("update workflow_run set lease_until = now() - interval '1 s'");
    const other = createJournal(db, { isAlone: false, engine: engineNamed("e2") });
    assert.deepEqual(await other.claim({ folders: ["/elsewhere"], without: [], limit: 5 }), []);
    assert.deepEqual(await other.claim({ folders: ["/somewhere"], without: [], limit: 5 }), ["wf_1"]);
    assert.equal((await slow.find("wf_1"))?.isHeld, true);
    const row = (await other.find("wf_1"))!;
    assert.equal(row.isHeld, false);
    const taken = await other.take(row, [resumed(3)], {});
    assert.ok(taken);
    assert.equal((await other.find("wf_1"))?.takenFrom, "e1");
    const ticks = performance.now;
    // Half a lease later.
    performance.now = () => ticks.call(performance) + 31_000;
    late.resolve();
    assert.equal(await written.finally(() => performance.now = ticks), "RUN_TAKEN");
    for (const one of [writer, taken]) one.close();
    await Promise.all([slow.close(), other.close()]);
  });
});

Deno.test("an engine sees runs of its owner, and those that are for the team", async () => {
  await withDatabase(async ({ db }) => {
    const ann = createJournal(db, { isAlone: false, engine: engineNamed("e1") });
    const team = createJournal(db, { isAlone: false, engine: { ...engineNamed("e2", "cy"), isShared: true } });
    const bob = createJournal(db, { isAlone: false, engine: engineNamed("e3", "bob") });
    for (const [journal, id] of [[ann, "wf_ann"], [team, "wf_team"]] as const) {
      const writer = journal.begin(head(id));
      await writer.append(planned);
      writer.close();
    }
    assert.deepEqual((await bob.list()).map(({ id }) => id), ["wf_team"]);
    assert.equal(await bob.find("wf_ann"), undefined);
    await db.query("update workflow_run set lease_until = now() - interval '1 s'");
    assert.deepEqual(await bob.claim({ folders: ["/somewhere"], without: [], limit: 5 }), ["wf_team"]);
    await Promise.all([ann.close(), team.close(), bob.close()]);
  });
});
