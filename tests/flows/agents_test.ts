// Agent programs as tasks of a workflow: plain commands, the Agent Client Protocol, and the events of Claude Code.
import assert from "node:assert/strict";
import { connectClient } from "../fixtures/client.ts";
import { createTestHome, isAlive, type TestHome, testServer, until } from "../fixtures/gateway.ts";
import {
  crash,
  linesOf,
  read,
  refused,
  resume,
  run,
  statuses,
  task,
  toldId,
  untilStatus,
} from "../fixtures/workflow.ts";

const agent = (dir: string, ...args: string[]) => testServer("agent", `--state=${dir}`, ...args);

/** A home with one agent of each protocol. */
function homeWith(more: Record<string, unknown> = {}): Promise<TestHome> {
  return createTestHome((dir) => ({
    servers: { kit: testServer("kit") },
    agents: {
      plain: agent(dir),
      acp: { ...agent(dir, "--acp"), protocol: "acp" },
      forgetful: { ...agent(dir, "--acp", "--forgets"), protocol: "acp" },
      coder: { ...agent(dir, "--claude"), protocol: "claude", price: { input: 1_000, output: 1_000 } },
    },
    ...more,
  }));
}

const asks = (steps: unknown[], words = "") => `${words}\nSCRIPT ${JSON.stringify(steps)}`;
const work = (id: string, name: string, steps: unknown[], more: Record<string, unknown> = {}) => ({
  id,
  type: "agent",
  agent: name,
  prompt: asks(steps),
  ...more,
});

Deno.test("tool → agent → code → agent with a schema, over a plain command, ACP and Claude's events", async () => {
  await using home = await homeWith();
  await using client = await connectClient(home);
  const schema = { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] };
  const answer = await run(client, [
    task("start", "kit:echo", { text: "x" }),
    { id: "plain", type: "agent", agent: "plain", prompt: "look at $OUTPUT[start]" },
    { id: "code", type: "code_execution", code: "return deps.plain.output.length" },
    work("acp", "acp", [{ call: "kit:add", arguments: { a: 2, b: 3 } }, { say: '{"sum": $LAST}' }], {
      schema,
      depends_on: ["code"],
    }),
    work("coder", "coder", [{ call: "kit:echo", arguments: { text: "hi" } }, { say: "it said $LAST" }]),
    task("end", "kit:echo", { text: "$OUTPUT[acp].sum $OUTPUT[code] $OUTPUT[coder]" }),
  ], { return: ["plain", "acp", "end"] });
  assert.equal(answer.status, "completed", JSON.stringify(answer));
  assert.deepEqual(answer.results, {
    plain: "heard: look at kit: x",
    acp: { sum: 5 },
    end: "kit: 5 21 it said kit: hi",
  });
  const note = (id: string) => answer.tasks.find((one) => one.id === id)?.note ?? "";
  assert.match(note("plain"), /not governed/);
  assert.match(note("coder"), /^2 turns; 20 tokens in, 20 out; 0\.0400 US dollars$/);
  // The calls of the agents stand under their tasks.
  const shown = JSON.parse((await home.run(["runs", "show", answer.workflow_id, "--json"])).stdout);
  const called = shown.events.filter(({ kind }: { kind: string }) => kind === "called");
  assert.deepEqual(
    called.map(({ task, tool }: Record<string, string>) => `${task} ${tool}`).sort(),
    ["acp kit:add", "coder kit:echo"],
  );
  const given = JSON.parse(await Deno.readTextFile(`${home.dir}/arguments`)) as string[];
  assert.ok(given.includes("--strict-mcp-config"));
  assert.equal(given[given.indexOf("--tools") + 1], "", "the tools of the program are off");
  const audited = await home.run(["audit", "--json"]);
  assert.match(audited.stdout, /"client":"agent:acp"/);
  assert.match(audited.stdout, new RegExp(`"parent":"${answer.workflow_id}/coder"`));
});

Deno.test("rules judge the agent as agent:NAME and what it calls, the task's own list too", async () => {
  await using home = await homeWith({ policy: { deny: ["agent:forgetful", "kit:append"] } });
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  const append = { call: "kit:append", arguments: { file, line: "x" } };
  const denied = await refused(client.call("run_workflow", { tasks: [work("a", "forgetful", [{ say: "x" }])] }));
  assert.match(denied, /agent:forgetful may not be called/);
  const unknown = await refused(client.call("run_workflow", { tasks: [work("a", "nobody", [{ say: "x" }])] }));
  assert.match(unknown, /There is no agent "nobody"/);
  const own = work("a", "acp", [{ say: "x" }], { own_tools: true });
  assert.match(await refused(client.call("run_workflow", { tasks: [own] })), /agents\.acp\.own_tools: true/);
  const answer = await run(client, [
    work("denied", "acp", [append, { say: "$LAST" }]),
    work("listed", "coder", [{ call: "kit:echo", arguments: { text: "x" } }, { say: "$LAST" }], { tools: ["kit:add"] }),
    work("nested", "acp", [
      { call: "run_workflow", arguments: { tasks: [work("deep", "coder", [{ say: "x" }])] } },
      { say: "$LAST" },
    ]),
    work("meddles", "acp", [
      { call: "resume_workflow", arguments: { workflow_id: "wf_0000000000000000", action: "abort" } },
      { say: "$LAST" },
    ]),
  ]);
  const results = answer.results as Record<string, string>;
  assert.match(results.denied!, /ERROR .*kit:append may not be called/);
  assert.match(results.listed!, /ERROR .*the task listed names kit:add/);
  assert.match(results.nested!, /ERROR .*cannot start other agents/);
  assert.match(results.meddles!, /ERROR .*was not started by this agent/);
  assert.deepEqual(await linesOf(file), []);
});

Deno.test("an approval that an agent's call needs reaches the outer client; without one the run waits", async () => {
  await using home = await homeWith({ policy: { approve: ["kit:append"] } });
  const file = `${home.dir}/oracle`;
  const steps = [{ call: "kit:append", arguments: { file, line: "x" } }, { say: "$LAST" }];
  await using asked = await connectClient(home, { capabilities: { elicitation: {} } });
  const running = run(asked, [work("a", "acp", steps)]);
  const question = () => asked.others.find(({ method }) => method === "elicitation/create");
  await until("it asks", () => question() !== undefined);
  assert.match((question()!.params as { message: string }).message, /Allow kit:append\?/);
  await asked.send({ id: question()!.id, result: { action: "accept", content: { allow: true } } });
  assert.deepEqual(statuses(await running), { a: "success" });
  assert.deepEqual(await linesOf(file), ["begin x", "end x"]);

  await using silent = await connectClient(home);
  const paused = await run(silent, [work("a", "acp", steps), work("b", "forgetful", steps)]);
  assert.deepEqual([paused.status, paused.pending?.reason], ["paused", "approval"]);
  assert.deepEqual(paused.pending?.call, { tool: "kit:append", arguments: { file, line: "x" } });
  // A program that cannot go on later hears that nobody can be asked.
  assert.equal(statuses(paused).b, "success");
  assert.equal((await linesOf(file)).length, 2);
});

Deno.test("a budget stops the whole tree within two seconds; so does the end of the run", async () => {
  await using home = await homeWith();
  await using client = await connectClient(home);
  const child = `${home.dir}/child`;
  const over = async (name: string, steps: unknown[], budget: Record<string, number>) => {
    const file = `${child}-${crypto.randomUUID()}`;
    const answer = await run(client, [work("a", name, [{ child: file }, ...steps, { hang: true }], { budget })]);
    const pid = Number(await Deno.readTextFile(file));
    await until("nothing is left", () => !isAlive(pid), 2_000);
    assert.equal(answer.status, "failed");
    return answer.tasks[0]!.error!;
  };
  const [turns, money, minutes] = await Promise.all([
    over("coder", [{ tokens: 1 }, { tokens: 1 }, { tokens: 1 }], { turns: 2 }),
    over("coder", [{ tokens: 100 }], { usd: 0.05 }),
    over("plain", [], { minutes: 0.05 }),
  ]);
  assert.match(turns, /its budget is used up: it took more than 2 turns/);
  assert.match(money, /its budget is used up: it cost 0\.2000 of 0\.05 US dollars/);
  assert.match(minutes, /its budget is used up: it worked for 0\.05 minutes/);
  const unkept = await refused(
    client.call("run_workflow", { tasks: [work("a", "plain", [], { budget: { turns: 3 } })] }),
  );
  assert.match(unkept, /only budget\.minutes can be kept/);

  const file = `${child}-aborted`;
  const before = client.others.length;
  const running = client.call("run_workflow", {
    tasks: [work("a", "acp", [{ child: file }, { hang: true }])],
  }, { progressToken: "p" });
  const id = await toldId(client, before);
  await until("the child", async () => (await linesOf(file)).length === 1);
  await client.call("resume_workflow", { workflow_id: id, action: "abort" });
  await running;
  const pid = Number(await Deno.readTextFile(file));
  await until("nothing is left", () => !isAlive(pid), 3_000);
});

Deno.test("an agent gets the harmless variables and its own; a tool of its own ends it where none is allowed", async () => {
  await using home = await createTestHome((dir) => ({
    agents: {
      plain: { ...agent(dir), env: { OWN_KEY: "${GIVEN_KEY}" } },
      acp: { ...agent(dir, "--acp"), protocol: "acp" },
      free: { ...agent(dir, "--acp"), protocol: "acp", own_tools: true },
    },
  }));
  const env = { ...home.env, GIVEN_KEY: "made-up-for-the-test", FOREIGN_TOKEN: "not-for-agents" };
  await using client = await connectClient({ ...home, env }, { capabilities: { elicitation: {} } });
  const answer = await run(client, [
    work("env", "plain", [{ environment: true }, { say: "$LAST" }]),
    work("folder", "plain", [{ folder: true }, { say: "$LAST" }]),
    work("own", "acp", [{ own: "Bash" }, { hang: true }]),
    work("refused", "acp", [{ permit: "rm x" }, { say: "$LAST" }]),
    { ...work("elsewhere", "plain", [{ say: "x" }]), cwd: "/" },
    work("gone", "plain", [{ exit: 3 }]),
  ]);
  const names = (answer.results as { env: string[] }).env;
  assert.ok(names.includes("OWN_KEY") && names.includes("PATH"));
  assert.ok(!names.includes("FOREIGN_TOKEN") && !names.includes("GIVEN_KEY") && !names.includes("AGENTCARDS_HOME"));
  assert.equal((answer.results as { folder: string }).folder, await Deno.realPath(home.dir));
  const error = (id: string) => answer.tasks.find((one) => one.id === id)?.error ?? "";
  assert.match(error("own"), /used a tool of its own \(Bash\), which own_tools: false forbids/);
  assert.deepEqual((answer.results as { refused: unknown }).refused, { outcome: "selected", optionId: "no" });
  assert.match(error("elsewhere"), /may not work in \/: it is not trusted/);
  assert.match(error("gone"), /plain ended with code 3: it gave up/);

  const seen = client.others.length;
  const running = run(client, [work("a", "free", [{ permit: "make" }, { say: "$LAST" }], { own_tools: true })]);
  const question = () => client.others.slice(seen).find(({ method }) => method === "elicitation/create");
  await until("it asks", () => question() !== undefined);
  assert.match((question()!.params as { message: string }).message, /Allow agent:free\.execute\?/);
  await client.send({ id: question()!.id, result: { action: "accept", content: { allow: true } } });
  assert.deepEqual((await running).results, { a: { outcome: "selected", optionId: "yes" } });
});

Deno.test("after kill -9 the same session goes on and is told what was done; doubts are told", async () => {
  await using home = await homeWith({ policy: { effects: { "kit:hang": "read" } } });
  const files = ["acp", "doubt"].map((name) => `${home.dir}/oracle-${name}`) as [string, string];
  const gates = ["acp", "doubt"].map((name) => `${home.dir}/gate-${name}`) as [string, string];
  const append = (file: string, line: string, ms = 0) => ({ call: "kit:append", arguments: { file, line, ms } });
  await using client = await connectClient(home);
  const seen = client.others.length;
  const tasks = [
    work("acp", "acp", [append(files[0], "once"), { child: gates[0] }, { call: "kit:hang" }, { say: "acp done" }]),
    work("doubt", "coder", [{ child: gates[1] }, append(files[1], "slow", 60_000), { say: "coder: $LAST" }]),
    work("plain", "plain", [{ hang: true }]),
  ];
  client.call("run_workflow", { tasks }, { progressToken: "p" }).catch(() => {});
  const id = await toldId(client, seen);
  const isWorking = async () => (await linesOf(gates[0])).length === 1 && (await linesOf(files[1])).length === 1;
  await until("they work", isWorking);
  const children = await Promise.all(gates.map(async (gate) => Number(await Deno.readTextFile(gate))));
  await crash(home);
  await until("nothing is left", () => !children.some(isAlive), 5_000);

  const prompts = async () => (await linesOf(`${home.dir}/prompts`)).map((line) => JSON.parse(line));
  const of = async (file: string) => (await prompts()).filter(({ prompt }) => prompt.includes(file));
  await until("the session goes on", async () => (await of(files[0])).length === 2);
  const [first, again] = await of(files[0]);
  assert.equal(again.session, first.session);
  assert.match(again.prompt, /You were interrupted[^]*have been made\. Do not make them again:\n- kit:append .*"once"/);
  const running = await client.call("resume_workflow", { workflow_id: id, action: "status" }).then(read);
  assert.deepEqual(statuses(running), { acp: "running", doubt: "in_doubt", plain: "in_doubt" });
  assert.deepEqual(await linesOf(files[0]), ["begin once", "end once"], "nothing is done twice");
  await client.call("resume_workflow", { workflow_id: id, action: "abort" });
});

Deno.test("a call of an agent in doubt is decided, and its session goes on with what was decided", async () => {
  await using home = await homeWith();
  await using client = await connectClient(home);
  const file = `${home.dir}/oracle`;
  const seen = client.others.length;
  const steps = [{ call: "kit:append", arguments: { file, line: "slow", ms: 60_000 } }, { say: "goes on" }];
  client.call("run_workflow", { tasks: [work("a", "coder", steps)] }, { progressToken: "p" }).catch(() => {});
  const id = await toldId(client, seen);
  await until("it acts", async () => (await linesOf(file)).length === 1);
  await crash(home);
  const paused = await untilStatus(client, id, "paused");
  assert.deepEqual([paused.pending?.reason, paused.pending?.call?.tool], ["in_doubt", "kit:append"]);
  // The agent's program does not know what was decided, so its script goes on behind the call.
  const [state] = (await linesOf(`${home.dir}/prompts`)).map((line) => JSON.parse(line).session);
  await Deno.writeTextFile(`${home.dir}/${state}`, JSON.stringify({ at: 1, answer: "" }));
  const done = await resume(client, id, "resolve", { task: "a", outcome: "done", value: "it is written" });
  assert.deepEqual([done.status, done.results], ["completed", { a: "goes on" }]);
  const prompts = (await linesOf(`${home.dir}/prompts`)).map((line) => JSON.parse(line));
  assert.equal(prompts.length, 2);
  assert.equal(prompts[1].session, prompts[0].session);
  assert.match(prompts[1].prompt, /- kit:append .* gave "it is written"/);
  assert.deepEqual(await linesOf(file), ["begin slow"]);
});

Deno.test("the commands list agents, try one, and show how a session is opened", async () => {
  await using home = await createTestHome((dir) => ({
    agents: {
      plain: agent(dir),
      coder: { ...agent(dir, "--claude"), protocol: "claude" },
      gone: { command: "/nowhere/agent" },
      off: { command: "sh", disabled: true },
    },
  }));
  const list = JSON.parse((await home.run(["agents", "--json"])).stdout) as Record<string, unknown>[];
  const shown = list.filter(({ configured }) => configured).map((
    { name, governed, problem },
  ) => [name, governed, problem]);
  assert.deepEqual(shown, [
    ["plain", false, null],
    ["coder", true, null],
    ["gone", false, 'there is no program "/nowhere/agent"'],
  ]);
  const tried = await home.run(["agents", "test", "coder", "--json"]);
  assert.equal(tried.code, 0, tried.stderr + tried.stdout);
  const answer = JSON.parse(tried.stdout);
  assert.match(answer.results.test, /heard: This is a test/);
  const missing = await home.run(["agents", "test", "gone", "--json"]);
  assert.equal(missing.code, 1);
  assert.match(missing.stdout, /Cannot start agent \\"gone\\": there is no program/);
  const opened = await home.run(["agents", "attach", answer.workflow_id, "test", "--print"]);
  assert.equal(opened.code, 0, opened.stderr);
  const { args, folder, session } = JSON.parse(opened.stdout);
  assert.deepEqual([args.slice(-2), folder], [["--resume", session], await Deno.realPath(home.dir)]);
  const again = await home.run(["agents", "attach", answer.workflow_id, "nobody", "--print"]);
  assert.match(again.stderr, /has no task nobody.*\n.*It has test/);
});

Deno.test("auto goes by routes, then by past success, past agents that are not there or may not begin", async () => {
  await using home = await createTestHome((dir) => ({
    agents: {
      routes: [
        { when: '"review" in task.traits', use: "gone" },
        { when: '"review" in task.traits', use: "forbidden" },
        { when: 'task.text.contains("invoice") && task.usd == 0', use: "first" },
      ],
      first: agent(dir),
      second: { ...agent(dir, "--acp"), protocol: "acp" },
      forbidden: agent(dir),
      gone: { command: "/nowhere/agent" },
      claude: { disabled: true },
      codex: { disabled: true },
      gemini: { disabled: true },
    },
    policy: { rules: [{ name: "not today", match: "agent:forbidden", when: 'args.prompt != ""', then: "deny" }] },
  }));
  await using client = await connectClient(home);
  const auto = (id: string, prompt: string, more = {}) => ({ id, type: "agent", agent: "auto", prompt, ...more });
  const noteOf = async (task: Record<string, unknown>) => {
    const answer = await run(client, [task]);
    return answer.tasks[0]!.note ?? answer.tasks[0]!.error ?? "";
  };
  assert.match(await noteOf(auto("a", "pay this invoice")), /^auto chose first: the route task\.text\.contains/);
  const failing = asks([{ exit: 1 }]);
  await run(client, [auto("a", failing, { agent: "first", traits: ["odd"] })]);
  await run(client, [auto("a", asks([{ say: "done" }]), { agent: "second", traits: ["odd"] })]);
  await until("it is written", async () => {
    const text = await Deno.readTextFile(`${home.dir}/agents.json`).catch(() => "");
    return text.includes("odd first") && text.includes("odd second");
  });
  assert.match(await noteOf(auto("a", "x", { traits: ["odd"] })), /^auto chose second: 1 of 1 tasks of odd succeeded/);
  const passed = await noteOf(auto("a", "look at this", { traits: ["review"] }));
  assert.match(passed, /^auto chose (?:first|second): .*tasks of review succeeded; not gone: there is no program/);
  const none = auto("a", "x", { own_tools: true });
  assert.match(await refused(client.call("run_workflow", { tasks: [none] })), /no agent can take it/);
});
