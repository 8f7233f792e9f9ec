// An engine that dies while a human is asked, while a request is called off, and while nothing can be known.
import assert from "node:assert/strict";
import { type ProcessLock, takeLock } from "../../src/db/lock.ts";
import { VERSION } from "../../src/platform/version.ts";
import { connectClient, kept, type Message, textOf, type ToolResult } from "../fixtures/client.ts";
import { createTestHome, sleep, type TestHome, testServer, until } from "../fixtures/gateway.ts";
import { crash, linesOf, read, resume, statuses, task, untilStatus } from "../fixtures/workflow.ts";

const SERVERS = { kit: testServer("kit") };
const POLICY = { effects: { "kit:wait": "read", "kit:echo": "read" }, approve: ["kit:write"] };
const ASKS = { elicitation: { form: {} } };
/** What was done before the question is written down by then. */
const WRITTEN_MS = 300;
const ALLOW = { action: "accept", content: { allow: true } };

const guarded = (dir: string) => [
  task("acts", "kit:append", { file: `${dir}/oracle`, line: "before" }),
  task("asks", "kit:write", { file: `${dir}/written` }, { depends_on: ["acts"] }),
];
/** Kills the engine and keeps every other one from starting. */
async function killAndLock(home: TestHome): Promise<ProcessLock> {
  Deno.kill((await home.enginePid())!, "SIGKILL");
  for (;;) {
    const lock = await takeLock(`${home.dir}/engine.lock`);
    if (lock) return lock;
  }
}

const written = (dir: string) => Deno.readTextFile(`${dir}/written`).catch(() => "");

/** An engine whose journal cannot be read, and a client that waits for a run that an engine before had begun. */
async function loseJournal() {
  const home = await createTestHome({ servers: SERVERS, policy: POLICY });
  const client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  const tasks = [task("acts", "kit:append", { file, line: "x" }), task("reads", "kit:wait", { ms: 60_000 })];
  await client.send({ id: "run", method: "tools/call", params: { name: "run_workflow", arguments: { tasks } } });
  await until("it acts", async () => (await linesOf(file)).length === 2);
  const pid = (await home.enginePid())!;
  Deno.kill(pid, "SIGSTOP");
  await Deno.writeTextFile(`${home.dir}/data/global/pg_control`, "");
  Deno.kill(pid, "SIGKILL");
  const began = performance.now();
  const waited = client.answerTo("run").then(({ result }) => ({
    told: result as ToolResult,
    ms: performance.now() - began,
  }));
  return { home, client, file, waited };
}

/** It waits for a minute, which passes during the stories between the first one and the last one. */
let lost: ReturnType<typeof loseJournal> | undefined;

Deno.test("while the journal cannot be read calls do not wait for it", async () => {
  const { client } = await (lost ??= loseJournal());
  assert.equal(textOf(await client.use("kit:echo", { text: "still" })), "kit: still");
});

Deno.test("an older client is asked again by the next engine, and the old question is taken back", async () => {
  await using home = await createTestHome({ servers: SERVERS, policy: POLICY });
  await using client = await connectClient(home, { capabilities: ASKS });
  const questions = () => client.others.filter(({ method }) => method === "elicitation/create");
  const running = kept(client.call("run_workflow", { tasks: guarded(home.dir) }));
  await until("it asks", () => questions().length === 1);
  await sleep(WRITTEN_MS);
  await crash(home);
  await until("it asks again", () => questions().length === 2);
  const [old, next] = questions() as [Message, Message];
  assert.notEqual(old.id, next.id);
  const withdrawn = client.others.filter(({ method }) => method === "notifications/cancelled");
  assert.deepEqual(withdrawn.map(({ params }) => (params as Message).requestId), [old.id]);
  await client.send({ id: old.id, result: ALLOW });
  await sleep(300);
  assert.equal(await written(home.dir), "", "an answer to the old question allows nothing");
  await client.send({ id: next.id, result: ALLOW });
  const done = read(await running);
  assert.deepEqual(statuses(done), { acts: "success", asks: "success" });
  assert.equal(await written(home.dir), "written");
  assert.deepEqual(await linesOf(`${home.dir}/oracle`), ["begin before", "end before"]);
});

Deno.test("a stateless client that brings an answer to the next engine is asked again, about the same run", async () => {
  await using home = await createTestHome({ servers: SERVERS, policy: POLICY });
  await using client = await connectClient(home, { era: "modern", capabilities: ASKS });
  const tasks = guarded(home.dir);
  const answered = (asked: ToolResult) => ({
    _retry: { inputResponses: { question: ALLOW }, requestState: asked.requestState },
  });
  const asked = await client.call("run_workflow", { tasks });
  assert.equal(asked.resultType, "input_required");
  await sleep(WRITTEN_MS);
  await crash(home);
  const runs = async () => JSON.parse((await home.run(["runs", "--json"])).stdout) as { pending: Message | null }[];
  await until("the next engine has nobody to ask", async () => (await runs())[0]!.pending?.reason === "approval");
  const again = await client.call("run_workflow", { tasks }, answered(asked));
  assert.equal(again.resultType, "input_required", textOf(again));
  assert.equal(await written(home.dir), "", "the answer was for the engine that asked");
  const done = read(await client.call("run_workflow", { tasks }, answered(again)));
  assert.equal(done.status, "completed");
  assert.deepEqual(await linesOf(`${home.dir}/oracle`), ["begin before", "end before"]);
  assert.equal((await runs()).length, 1);

  const file = `${home.dir}/asked`;
  const call = await client.use("kit:append_asked", { file });
  assert.equal(call.resultType, "input_required", textOf(call));
  await crash(home);
  const lost = await client.use("kit:append_asked", { file }, answered(call));
  assert.match(textOf(lost), /kit:append_asked\. It may or may not have had an effect/);
  assert.deepEqual(await linesOf(file), ["begin"]);
});

Deno.test("a request that is called off while there is no engine is not carried out again, and its run rests", async () => {
  const reader = testServer("kit", "--name=reader");
  await using home = await createTestHome({
    servers: { ...SERVERS, reader },
    policy: { effects: { ...POLICY.effects, "reader:append": "read" } },
  });
  await using client = await connectClient(home);
  const [file, readFile] = [`${home.dir}/oracle`, `${home.dir}/read`];
  await client.use("reader:echo", { text: "up" });
  const ask = (id: string, name: string, args: Message) =>
    client.send({ id, method: "tools/call", params: { name, arguments: args } });
  await ask("run", "run_workflow", {
    tasks: [
      task("first", "kit:append", { file, line: "first" }),
      task("reads", "kit:wait", { ms: 3_000 }, { depends_on: ["first"] }),
      task("last", "kit:append", { file, line: "last" }, { depends_on: ["reads"] }),
    ],
  });
  await ask("read", "call_tool", { tool: "reader:append", arguments: { file: readFile, line: "x", ms: 3_000 } });
  await until("both", async () => (await linesOf(file)).length === 2 && (await linesOf(readFile)).length === 1);
  await sleep(WRITTEN_MS);
  {
    await using _lock = await killAndLock(home);
    await sleep(500);
    for (const requestId of ["run", "read"]) {
      await client.send({ method: "notifications/cancelled", params: { requestId, reason: "the user said stop" } });
    }
    await sleep(200);
  }
  const listed = async () =>
    (JSON.parse(textOf(await client.call("resume_workflow", { action: "status" }))) as { runs: Message[] }).runs;
  const [{ workflow_id }] = await listed() as [Message];
  const rests = await untilStatus(client, String(workflow_id), "paused");
  assert.deepEqual([rests.pending?.reason, rests.pending?.why], ["waiting", "the call was cancelled"]);
  assert.equal((await linesOf(readFile)).length, 1);
  assert.equal((await resume(client, String(workflow_id), "continue")).status, "completed");
  assert.deepEqual(await linesOf(file), ["begin first", "end first", "begin last", "end last"]);
});

Deno.test("an engine of a version before, which takes nothing again, serves on and who waited is told", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  const lines: string[] = [];
  using listener = Deno.listen({ transport: "unix", path: `${home.dir}/engine.sock` });
  await Deno.chmod(`${home.dir}/engine.sock`, 0o600);
  const serve = async (connection: Deno.Conn) => {
    const say = (message: Message) => connection.write(new TextEncoder().encode(JSON.stringify(message) + "\n"));
    let isFirst = true;
    let rest = "";
    for await (const chunk of connection.readable.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + chunk).split("\n");
      rest = parts.pop()!;
      for (const line of parts) {
        const { id, method } = JSON.parse(line);
        if (isFirst) await say({ agentcards: 1, version: VERSION, pid: Deno.pid });
        else lines.push(method ?? line);
        isFirst = false;
        if (method === "initialize") await say({ jsonrpc: "2.0", id, result: {} });
        if (method === "tools/list") await say({ jsonrpc: "2.0", id, result: { tools: [] } });
        if (method === "tools/call") return;
      }
    }
  };
  const serving = (async () => {
    for await (const connection of listener) {
      await serve(connection).catch(() => {});
      try {
        connection.close();
      } catch {
        // Reading to its end has closed it.
      }
    }
  })();
  {
    await using client = await connectClient(home);
    const lost = await client.call("run_workflow", { tasks: [] });
    assert.equal(lost.isError, true);
    assert.match(textOf(lost), /goes on by itself: do not run it again/);
    assert.ok((await client.request("tools/list")).result);
  }
  listener.close();
  await serving;
  const handshake = ["initialize", "notifications/initialized"];
  assert.deepEqual(lines, [...handshake, "tools/call", ...handshake, "tools/list"]);
});

Deno.test("while the journal cannot be read nobody is told to run a workflow again", async () => {
  const { home, client, file, waited } = await (lost ??= loseJournal());
  await using _ended = {
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]().then(() => home[Symbol.asyncDispose]()),
  };
  const { told, ms } = await waited;
  assert.ok(ms > 50_000, "it waited");
  assert.equal(told.isError, true);
  assert.match(textOf(told), /not known yet[^]*Do not run it again[^]*resume_workflow {"action": "status"}/);
  assert.equal((await linesOf(file)).length, 2);
});
