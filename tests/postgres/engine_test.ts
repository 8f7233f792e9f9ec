// A whole engine on PostgreSQL, by its front door.
import assert from "node:assert/strict";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { createCluster, createLine, PASSWORD } from "../fixtures/cluster.ts";
import { type TestHome, testServer, until } from "../fixtures/gateway.ts";
import { commandOf, descendantsOf } from "../fixtures/processes.ts";
import { isOnPostgres } from "../fixtures/shared_database.ts";
import { crash, linesOf, resume, run, statuses, task, toldId, untilStatus } from "../fixtures/workflow.ts";

const CONFIG = {
  servers: { kit: testServer("kit") },
  policy: { effects: { "kit:wait": "read", "kit:echo": "read" } },
};
const ignore = !isOnPostgres;

/** Starts a run that acts for a minute, and waits until it does. */
async function startActing(client: RawClient, file: string): Promise<string> {
  await run(client, [task("warm", "kit:echo", { text: "up" })]);
  const seen = client.others.length;
  const tasks = [
    task("first", "kit:append", { file, line: "first" }),
    task("acts", "kit:append", { file, line: "acts", ms: 60_000 }, { depends_on: ["first"] }),
    task("end", "kit:echo", { text: "end $OUTPUT[acts]" }),
  ];
  const params = { name: "run_workflow", arguments: { tasks }, _meta: { progressToken: "p" } };
  await client.send({ id: "doomed", method: "tools/call", params });
  await until("it acts", async () => (await linesOf(file)).includes("begin acts"));
  return await toldId(client, seen);
}

Deno.test(
  "an engine that dies leaves its run on the server; the next one tells the doubt and goes on",
  { ignore },
  async () => {
    await using cluster = await createCluster();
    const home = await cluster.home(CONFIG);
    await using client = await connectClient(home);
    const file = `${home.dir}/oracle`;
    const id = await startActing(client, file);
    await crash(home);
    const answered = JSON.stringify(await client.answerTo("doomed"));
    assert.ok(answered.includes(id) && answered.includes("in_doubt"), answered);
    const doubt = await untilStatus(client, id, "paused");
    assert.deepEqual([doubt.pending?.reason, doubt.pending?.task], ["in_doubt", "acts"]);
    const done = await resume(client, id, "resolve", { task: "acts", outcome: "done", value: "by hand" });
    assert.deepEqual([done.status, statuses(done).first], ["completed", "success"]);
    assert.deepEqual(await linesOf(file), ["begin first", "end first", "begin acts"]);
    await assertNoPassword(home);
  },
);

/** Neither logs nor status nor a command line has the password, and the home has no database of its own. */
async function assertNoPassword(home: TestHome): Promise<void> {
  const { stdout, stderr } = await home.run(["status", "--json"]);
  assert.equal(JSON.parse(stdout).database.state, "open", stderr);
  const pid = (await home.enginePid())!;
  const words = [pid, ...descendantsOf(pid)].flatMap((one) => commandOf(one)).join(" ");
  for (const text of [stdout, stderr, words, await home.log()]) assert.ok(!text.includes(PASSWORD));
  await assert.rejects(Deno.stat(`${home.dir}/data`), "PGlite was not opened");
}

Deno.test(
  "a server that is away is told without its password; calls go on, a run goes on when it is back",
  { ignore },
  async () => {
    await using cluster = await createCluster();
    await using line = await createLine(cluster.url);
    const home = await cluster.home(CONFIG, line);
    await using client = await connectClient(home);
    assert.equal((await run(client, [task("warm", "kit:echo", { text: "up" })])).status, "completed");
    const seen = client.others.length;
    const tasks = [task("a", "kit:wait", { ms: 700 }), task("b", "kit:echo", { text: "$OUTPUT[a]" })];
    const params = { name: "run_workflow", arguments: { tasks }, _meta: { progressToken: "p" } };
    await client.send({ id: "going", method: "tools/call", params });
    const id = await toldId(client, seen);
    line.cut();
    assert.equal(textOf(await client.use("kit:echo", { text: "direct" })), "kit: direct");
    assert.ok(!(await client.call("search_tools", { query: "echo a text" })).isError);
    const refused = await client.call("run_workflow", { tasks: [task("x", "kit:echo", { text: "x" })] });
    assert.equal(refused.isError, true);
    assert.match(textOf(refused), /Workflows need the database|cannot be reached/);
    const away = await home.run(["status", "--json"]);
    assert.match(JSON.parse(away.stdout).database.problem, /cannot be reached/);
    // An engine that starts now has the catalogue in a file.
    await crash(home);
    assert.equal(textOf(await client.use("kit:echo", { text: "anew" })), "kit: anew");
    assert.match(textOf(await client.call("search_tools", { query: "echo a text" })), /kit:echo/);
    line.mend();
    assert.equal(statuses(await untilStatus(client, id, "completed")).b, "success");
    await until("the call of meanwhile is filed", async () => {
      const rows = await cluster.query("select 1 from tool_call where tool = 'kit:echo' and run is null");
      return rows.length > 0;
    });
    await assertNoPassword(home);
  },
);

Deno.test(
  "an address with a variable that is not set is a clear problem, and no other database is opened",
  { ignore },
  async () => {
    await using cluster = await createCluster();
    const home = await cluster.home(CONFIG);
    await Deno.remove(`${home.dir}/secrets.env`);
    const { stdout } = await home.run(["status", "--json"]);
    assert.match(JSON.parse(stdout).database.problem, /DATABASE_PASSWORD not set/);
    await assert.rejects(Deno.stat(`${home.dir}/data`));
    // Set, it is found by the next try.
    await Deno.writeTextFile(`${home.dir}/secrets.env`, `DATABASE_PASSWORD=${PASSWORD}\n`, { mode: 0o600 });
    await until("it is open", async () => {
      const { stdout } = await home.run(["status", "--json"]);
      return JSON.parse(stdout).database.problem === null;
    });
  },
);
