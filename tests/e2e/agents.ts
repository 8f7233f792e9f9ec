// deno task e2e:agents [--json] [--api FILE]: the real Claude Code as a task of a workflow, with a stand-in for its model.
// --api: a program that stands in for the model's API (`node FILE --port N --out DIR --call NAME --input JSON`), besides our
// own. Exits 1 when anything is not as it should be, 0 where the program cannot be installed.
import assert from "node:assert/strict";
import { parseArgs } from "node:util";
import { thisTerminal } from "../../src/cli/screen/terminal.ts";
import { connectClient } from "../fixtures/client.ts";
import { createTestHome, isAlive, type TestHome, testServer, until } from "../fixtures/gateway.ts";
import { installTools } from "../fixtures/npm_tools.ts";
import { descendantsOf } from "../fixtures/processes.ts";
import { crash, linesOf, run, statuses, task, toldId, untilStatus } from "../fixtures/workflow.ts";
import { type FakeApi, fakeApi, type ScriptedCall } from "./fake_api.ts";

const PREFIX = "mcp__agentcards__";
const { values } = parseArgs({ args: Deno.args, options: { json: { type: "boolean" }, api: { type: "string" } } });
const { out } = thisTerminal();
const tools = await installTools("claude", ["@anthropic-ai/claude-code@2.1.325"]).catch((error) => {
  out(`skipped: ${error.message}\n`);
  Deno.exit(0);
});
const report: Record<string, unknown> = {};
const note = (what: string, value: unknown = true) => {
  report[what] = value;
  if (!values.json) out(`${what}: ${typeof value === "string" ? value : JSON.stringify(value)}\n`);
};

/** A home whose agent `claude` is the real program, in front of an API of ours. */
async function homeFor(url: string, more: Record<string, unknown> = {}, own: Record<string, unknown> = {}) {
  const home = await createTestHome((dir) => ({
    servers: { kit: testServer("kit") },
    agents: {
      claude: {
        command: `${tools}/node_modules/.bin/claude`,
        ...own,
        env: {
          HOME: `${dir}/user`,
          ANTHROPIC_BASE_URL: url,
          ANTHROPIC_API_KEY: "made-up",
          ENABLE_TOOL_SEARCH: "false",
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
          DISABLE_AUTOUPDATER: "1",
        },
      },
    },
    ...more,
  }));
  await Deno.mkdir(`${home.dir}/user`);
  return home;
}

const call = (tool: string, args: unknown, more: Partial<ScriptedCall> = {}): ScriptedCall => ({
  name: `${PREFIX}call_tool`,
  input: { tool, arguments: args },
  ...more,
});
const claude = (id: string, prompt: string, more: Record<string, unknown> = {}) => ({
  id,
  type: "agent",
  agent: "claude",
  prompt,
  ...more,
});

/** Nothing of the agent is left: the engine has no child that runs Claude Code. */
async function nothingLeft(home: TestHome, withinMs = 2_000): Promise<void> {
  const engine = (await home.enginePid())!;
  const left = () =>
    descendantsOf(engine).filter((pid) => {
      try {
        return isAlive(pid) && Deno.readTextFileSync(`/proc/${pid}/cmdline`).includes("claude");
      } catch {
        return false;
      }
    });
  await until("the end of the program", () => left().length === 0, withinMs);
}

async function workflow(): Promise<void> {
  await using api = fakeApi([
    call("kit:add", { a: 2, b: 3 }),
    call("kit:append", { file: "/nowhere", line: "x" }),
    { name: "Bash", input: { command: "echo hi" } },
  ], '{"sum": 5}');
  await using home = await homeFor(api.url, { policy: { deny: ["kit:append"] } });
  await using client = await connectClient(home);
  const schema = { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] };
  const answer = await run(client, [
    task("start", "kit:echo", { text: "x" }),
    claude("add", "add, after $OUTPUT[start]", { schema }),
    { id: "code", type: "code_execution", code: "return deps.add.output.sum * 2" },
    claude("again", "look at $OUTPUT[code]", { schema }),
  ], { return: ["code", "again"] });
  assert.deepEqual(
    [answer.status, answer.results],
    ["completed", { code: 10, again: { sum: 5 } }],
    JSON.stringify(answer),
  );
  const results = api.results().map((block) => JSON.stringify(block.content));
  assert.match(results[0]!, /\b5\b/);
  assert.match(results[1]!, /kit:append may not be called/);
  const offered = api.requests.flatMap(({ tools = [] }) => tools.map(({ name }) => name));
  assert.deepEqual([...new Set(offered)].filter((name) => !name.startsWith(PREFIX)), []);
  note("tool → agent → code → agent with a schema", answer.results);
  note("a denied tool is denied, and the program has no tools but ours");
  const shown = JSON.parse((await home.run(["runs", "show", answer.workflow_id, "--json"])).stdout);
  const called = shown.events.filter(({ kind }: { kind: string }) => kind === "called");
  assert.ok(called.some(({ task, tool }: Record<string, string>) => task === "add" && tool === "kit:add"));
  note("its calls stand under the run", called.length);
  await nothingLeft(home);
  note("nothing is left running");
}

async function approval(): Promise<void> {
  const file = await Deno.makeTempFile();
  await using api = fakeApi([call("kit:append", { file, line: "x" })]);
  await using home = await homeFor(api.url, { policy: { approve: ["kit:append"] } });
  await using client = await connectClient(home, { capabilities: { elicitation: {} } });
  const running = run(client, [claude("a", "write")]);
  const question = () => client.others.find(({ method }) => method === "elicitation/create");
  await until("it asks", () => question() !== undefined);
  assert.match((question()!.params as { message: string }).message, /Allow kit:append\?/);
  await client.send({ id: question()!.id, result: { action: "accept", content: { allow: true } } });
  assert.deepEqual(statuses(await running), { a: "success" });
  assert.deepEqual(await linesOf(file), ["begin x", "end x"]);
  await Deno.remove(file);
  note("an approval that the agent's call needs reaches the outer client");
}

async function budget(): Promise<void> {
  const endless = Array.from({ length: 50 }, (_, i) => call("kit:echo", { text: `turn ${i}` }));
  await using api = fakeApi(endless);
  await using home = await homeFor(api.url);
  await using client = await connectClient(home);
  const answer = await run(client, [claude("a", "go on for ever", { budget: { turns: 3 } })]);
  assert.match(answer.tasks[0]!.error!, /its budget is used up: it took more than 3 turns/);
  await nothingLeft(home);
  note("a budget of 3 turns stops it within 2 s, and nothing is left", answer.tasks[0]!.error);
}

async function resumed(): Promise<void> {
  const file = await Deno.makeTempFile();
  const crashed = { now: false };
  await using api: FakeApi = fakeApi([
    call("kit:append", { file, line: "once" }),
    call("kit:echo", { text: "after" }, {
      async before() {
        if (crashed.now) return;
        crashed.now = true;
        await crash(home);
      },
    }),
  ], "all done");
  await using home = await homeFor(api.url);
  await using client = await connectClient(home);
  const seen = client.others.length;
  client.call("run_workflow", { tasks: [claude("a", "write, then say")] }, { progressToken: "p" }).catch(() => {});
  const id = await toldId(client, seen);
  await until("the engine dies", () => crashed.now);
  const done = await untilStatus(client, id, "completed");
  assert.deepEqual(done.results, { a: "all done" });
  assert.deepEqual(await linesOf(file), ["begin once", "end once"], "nothing is done twice");
  await Deno.remove(file);
  const sessions = await sessionFiles(home);
  assert.equal(sessions.length, 1, `one session: ${sessions}`);
  const told = api.requests.at(-1)!;
  assert.match(JSON.stringify(told.messages), /You were interrupted[^]*kit:append/);
  note("after kill -9 of the engine the same session goes on, and is told what was done", sessions[0]);
}

/** Tools of the program's own: each is a question to the person, whose word holds. */
async function ownTools(): Promise<void> {
  const dir = await Deno.makeTempDir();
  const touch = (name: string) => ({
    name: "Bash",
    input: { command: `touch ${dir}/${name}`, description: "makes a file" },
  });
  await using api = fakeApi([touch("allowed"), touch("refused")]);
  await using home = await homeFor(api.url, {}, { own_tools: true });
  await using client = await connectClient(home, { capabilities: { elicitation: {} } });
  const running = run(client, [claude("a", "make files", { own_tools: true })]);
  const questions = () => client.others.filter(({ method }) => method === "elicitation/create");
  for (const [i, allow] of [true, false].entries()) {
    await until(`question ${i + 1}`, () => questions().length > i);
    assert.match((questions()[i]!.params as { message: string }).message, /Allow agent:claude\.Bash\?[^]*touch/);
    await client.send({ id: questions()[i]!.id, result: { action: "accept", content: { allow } } });
  }
  const answer = await running;
  assert.match(answer.tasks[0]!.note!, /not governed/);
  assert.deepEqual((await Array.fromAsync(Deno.readDir(dir))).map(({ name }) => name), ["allowed"]);
  await Deno.remove(dir, { recursive: true });
  note("a tool of the program's own is an approval of the person");
}

/** The same program behind its adapter for the Agent Client Protocol, where that can be installed. */
async function overAcp(): Promise<void> {
  const adapter = await installTools("claude-acp", ["@zed-industries/claude-code-acp@0.16.2"]).catch((error) => {
    note("claude-code-acp skipped", error.message);
  });
  if (!adapter) return;
  await using api = fakeApi([
    call("kit:add", { a: 2, b: 3 }),
    call("kit:append", { file: "/nowhere", line: "x" }),
    { name: "Bash", input: { command: "echo hi" } },
  ], '{"sum": 5}');
  const command = `${adapter}/node_modules/.bin/claude-code-acp`;
  await using home = await homeFor(api.url, { policy: { deny: ["kit:append"] } }, { command, protocol: "acp" });
  await using client = await connectClient(home);
  const schema = { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] };
  const answer = await run(client, [claude("a", "add", { schema })]);
  assert.deepEqual([answer.status, answer.results], ["completed", { a: { sum: 5 } }], JSON.stringify(answer));
  const results = api.results().map((block) => JSON.stringify(block.content));
  assert.match(results[0]!, /\b5\b/);
  assert.match(results[1]!, /kit:append may not be called/);
  const offered = api.requests.flatMap(({ tools = [] }) => tools.map(({ name }) => name));
  note("claude-code-acp: tools besides ours", [...new Set(offered)].filter((name) => !name.startsWith(PREFIX)));
  await nothingLeft(home);
  note("claude-code-acp: its calls go through us, and nothing is left running");
}

/** The files in which the program keeps its sessions. */
async function sessionFiles(home: TestHome): Promise<string[]> {
  const root = `${home.dir}/user/.claude/projects`;
  const files: string[] = [];
  for await (const project of Deno.readDir(root)) {
    for await (const { name } of Deno.readDir(`${root}/${project.name}`)) {
      if (name.endsWith(".jsonl")) files.push(name);
    }
  }
  return files;
}

/** The same with a stand-in that somebody else wrote. */
async function foreignApi(file: string): Promise<void> {
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const dir = await Deno.makeTempDir();
  const input = JSON.stringify({ tool: "kit:echo", arguments: { text: "hello" } });
  const child = new Deno.Command("node", {
    args: [file, "--port", String(port), "--out", dir, "--call", `${PREFIX}call_tool`, "--input", input],
    stdout: "null",
    stderr: "null",
  }).spawn();
  try {
    const url = `http://127.0.0.1:${port}`;
    await until("the stand-in", () => fetch(url).then((reply) => (reply.body?.cancel(), true), () => false));
    await using home = await homeFor(url);
    await using client = await connectClient(home);
    const answer = await run(client, [claude("a", "go")]);
    assert.deepEqual(answer.results, { a: "ok" }, JSON.stringify(answer));
    note("with the given stand-in for the API", answer.results);
  } finally {
    child.kill("SIGKILL");
    await child.status;
    await Deno.remove(dir, { recursive: true });
  }
}

await workflow();
await approval();
await budget();
await resumed();
await ownTools();
await overAcp();
if (values.api) await foreignApi(values.api);
if (values.json) out(`${JSON.stringify(report)}\n`);
