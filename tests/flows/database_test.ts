// The database fails in the ways that a laptop makes it fail: everything else goes on, and nothing is forgotten in silence.
import assert from "node:assert/strict";
import { cp, rm } from "node:fs/promises";
import { lockFolder } from "../../src/db/lock.ts";
import { openDatabase } from "../../src/db/pglite/open.ts";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { createTestHome, type TestHome, testServer, until } from "../fixtures/gateway.ts";
import { refused, run, task } from "../fixtures/workflow.ts";

const SERVERS = { kit: testServer("kit") };

/** A home with a finished run, whose engine has stopped. */
async function usedHome(): Promise<TestHome & { readonly id: string }> {
  const home = await createTestHome({ servers: SERVERS }, { hasModel: true });
  await using client = await connectClient(home);
  const { workflow_id } = await run(client, [task("one", "kit:echo", { text: "x" })]);
  await client.close();
  await stop(home);
  return Object.assign(home, { id: workflow_id });
}

async function stop(home: TestHome): Promise<void> {
  const stopped = await home.run(["engine", "stop"]);
  assert.equal(stopped.code, 0, stopped.stderr);
}

/** Whatever is wrong with the database: calls, search and code work, workflows say what is wrong and what to do. */
async function worksWithout(client: RawClient, problem: RegExp): Promise<void> {
  assert.equal(textOf(await client.use("kit:echo", { text: "still" })), "kit: still");
  assert.match(textOf(await client.call("search_tools", { query: "adds two numbers" })), /kit:add/);
  const code = await client.call("execute_code", { code: "return (await kit.echo({ text: 'in code' }))" });
  assert.match(textOf(code), /kit: in code/);
  assert.match(await refused(client.call("run_workflow", { tasks: [task("a", "kit:echo", { text: "a" })] })), problem);
}

async function statusOf(home: TestHome): Promise<{ code: number; problem: string | null }> {
  const { code, stdout } = await home.run(["status", "--json"]);
  return { code, problem: JSON.parse(stdout).database.problem };
}

/** The problem that status tells: it waits for no database, and one that is still being opened has none. */
async function problemOf(home: TestHome): Promise<string> {
  let last = await statusOf(home);
  await until(
    "status tells a problem",
    async () => last.problem !== null || (last = await statusOf(home)).problem !== null,
  );
  assert.equal(last.code, 1);
  return last.problem!;
}

async function knows(home: TestHome, id: string): Promise<boolean> {
  const { stdout } = await home.run(["runs", "--json"]);
  return JSON.parse(stdout).some((known: { id: string }) => known.id === id);
}

Deno.test("a damaged database costs workflows only, and a backup brings every run back", async () => {
  await using home = await usedHome();
  const saved = await home.run(["backup", `${home.dir}/backups/daily-2026-01-01.tar.gz`]);
  assert.equal(saved.code, 0, saved.stderr);
  await stop(home);
  await rm(`${home.dir}/data/global/pg_control`);
  {
    await using client = await connectClient(home);
    await worksWithout(client, /Workflows need the database: Cannot open .*damaged[^]*restore --latest/);
    const { code, problem } = await statusOf(home);
    assert.equal(code, 1);
    assert.match(problem!, /files are damaged/);
  }
  const restored = await home.run(["restore", "--latest"]);
  assert.equal(restored.code, 0, restored.stderr);
  assert.ok(await knows(home, home.id));
  assert.deepEqual(await statusOf(home), { code: 0, problem: null });
});

Deno.test("status tells that rows of a run are missing, before anybody asks for the run", async () => {
  await using home = await usedHome();
  const db = await openDatabase(`${home.dir}/data`);
  await db.query("delete from workflow_event where run = $1 and seq = 2", [home.id]);
  await db.close();
  const problem = await problemOf(home);
  assert.match(problem, new RegExp(`damaged: rows of ${home.id} are missing. .*restore --latest`));
});

Deno.test("an emptied data folder is no new home: nothing is forgotten before somebody says so", async () => {
  await using home = await usedHome();
  await rm(`${home.dir}/data`, { recursive: true });
  {
    await using client = await connectClient(home);
    await worksWithout(client, /is gone: its folder is empty[^]*database accept/);
    assert.equal((await statusOf(home)).code, 1);
    await assert.rejects(Deno.stat(`${home.dir}/data`), Deno.errors.NotFound);
    const accepted = await home.run(["database", "accept"]);
    assert.equal(accepted.code, 0, accepted.stderr);
    assert.equal((await run(client, [task("b", "kit:echo", { text: "b" })])).status, "completed", "at once");
  }
  assert.deepEqual(await statusOf(home), { code: 0, problem: null });
});

Deno.test("a data folder of before is not taken for the present one", async () => {
  await using home = await usedHome();
  await cp(`${home.dir}/data`, `${home.dir}/yesterday`, { recursive: true });
  let id: string;
  {
    await using client = await connectClient(home);
    ({ workflow_id: id } = await run(client, [task("new", "kit:echo", { text: "x" })]));
    await client.close();
    await stop(home);
  }
  await cp(`${home.dir}/data`, `${home.dir}/today`, { recursive: true });
  await rm(`${home.dir}/data`, { recursive: true });
  await Deno.rename(`${home.dir}/yesterday`, `${home.dir}/data`);
  const problem = await problemOf(home);
  assert.match(problem, /older than it was at .* not used/);
  await stop(home);
  await rm(`${home.dir}/data`, { recursive: true });
  await Deno.rename(`${home.dir}/today`, `${home.dir}/data`);
  assert.ok(await knows(home, id));
});

Deno.test("nobody waits for a database that is being opened", async () => {
  await using home = await usedHome();
  // The Worker waits for this lock before it opens anything.
  await using lock = await lockFolder(`${home.dir}/data`);
  assert.ok(lock);
  await using client = await connectClient(home);
  const began = performance.now();
  assert.equal(textOf(await client.use("kit:echo", { text: "first" })), "kit: first");
  assert.match(textOf(await client.call("search_tools", { query: "adds two numbers" })), /kit:add/);
  const ms = performance.now() - began;
  assert.match(await home.log(), /engine_started/);
  assert.doesNotMatch(await home.log(), /database_not_opened/, `it was still waiting after ${ms} ms`);
  await lock.release();
  await until("the database is open", async () => (await statusOf(home)).code === 0);
  assert.ok(await knows(home, home.id));
});
