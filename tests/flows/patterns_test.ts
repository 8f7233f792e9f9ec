// The workflows that ship, each with the example of docs/AGENTS.md, over agent programs and a server of their own.
import assert from "node:assert/strict";
import { connectClient, type Message, type RawClient } from "../fixtures/client.ts";
import { createTestHome, ROOT, sleep, type TestHome, testServer, until } from "../fixtures/gateway.ts";
import { type Answer, linesOf, read } from "../fixtures/workflow.ts";

interface Example {
  readonly tool: string;
  readonly arguments: Record<string, unknown>;
}

const page = await Deno.readTextFile(`${ROOT}docs/AGENTS.md`);
const EXAMPLES = [...page.matchAll(/```json\n([^]*?)```/g)].map(([, text]) => JSON.parse(text!) as Example);
const exampleOf = (name: string) => EXAMPLES.find(({ tool }) => tool === `workflow:${name}`)!;

const say = (value: unknown) => [{ say: typeof value === "string" ? value : JSON.stringify(value) }];
const call = (tool: string) => [{ call: `ci:${tool}`, arguments: {} }, { say: `did ${tool}` }];

/** The answers of the agents by words of their prompts. */
const ANSWERS: [string, unknown[]][] = [
  ["Plan this task", say("1. look 2. add")],
  ["Do this task", call("touch")],
  ["Verify that the task was done", say({ ok: false, problems: ["no index yet"] })],
  ["Repair what is wrong", call("repair")],
  ["Verify that the problems are gone", say({ ok: true, problems: [] })],
  ["for security alone", say({ problems: [] })],
  ["is it correct", say({ problems: [{ what: "no test", severity: "high" }] })],
  ["A first repair was not enough", call("repair")],
  ["Make the check", call("touch")],
  ["Two answers to one question", say({ better: 2, why: "it is shorter", answer: "no" })],
  ["Is this cache", say("perhaps")],
  ["Judge how severe", say({ severity: "high", plan: "read the logs" })],
  ["Diagnose this incident", say("the disk is full")],
  ["recommend a fix", say({ cause: "logs fill the disk", fix: "restart it", needs_fix: true })],
  ["Apply this fix", call("restart")],
  ["Write a short post-mortem", say("The disk was full.")],
  ["breaking changes", say({ approve: true, problems: [] })],
  ["Tell the team", say("It went well.")],
];

async function startHome(): Promise<TestHome> {
  const home = await createTestHome((dir) => {
    const agent = { ...testServer("agent", "--acp", `--answers=${dir}/answers`), protocol: "acp" };
    return {
      servers: { ci: testServer("ci", dir) },
      agents: { claude: agent, codex: agent, gemini: { disabled: true } },
    };
  });
  await Deno.writeTextFile(`${home.dir}/answers`, JSON.stringify(ANSWERS));
  return home;
}

/** Calls a workflow for a person who says yes to everything. */
async function ran(client: RawClient, { tool, arguments: given }: Example): Promise<Answer> {
  const seen = new Set<unknown>();
  let isOver = false;
  const running = client.use(tool, given).finally(() => isOver = true);
  while (!isOver) {
    for (const { id, method } of client.others as Message[]) {
      if (method !== "elicitation/create" || seen.has(id)) continue;
      seen.add(id);
      await client.send({ id, result: { action: "accept", content: { allow: true } } });
    }
    await sleep(20);
  }
  const answer = read(await running);
  assert.equal(answer.status, "completed", JSON.stringify(answer));
  return answer;
}

Deno.test("the examples of the page on agents do what it says", async () => {
  await using home = await startHome();
  await using client = await connectClient(home, { capabilities: { elicitation: {} } });
  const resultOf = async (name: string) => (await ran(client, exampleOf(name))).results as Record<string, Message>;
  const did = () => linesOf(`${home.dir}/did`);
  const forget = () => Deno.remove(`${home.dir}/did`).catch(() => {});

  const { result } = await resultOf("plan_execute_verify");
  assert.deepEqual(result, { ok: true, problems: [], plan: "1. look 2. add", done: "did repair" });
  assert.deepEqual(await did(), ["touch", "repair"]);

  const { verdict } = await resultOf("review_change");
  assert.deepEqual(verdict, { verdict: "reject", problems: [{ what: "no test", severity: "high" }] });

  await forget();
  assert.deepEqual(await resultOf("fix_until_green"), {
    result: { green: true, repairs: ["did touch", "did repair"] },
  });
  assert.deepEqual(await did(), ["touch", "repair"]);

  const opinion = await resultOf("second_opinion");
  assert.deepEqual(opinion, { verdict: { better: 2, why: "it is shorter", answer: "no" } });

  await forget();
  const incident = await resultOf("incident");
  assert.deepEqual([incident.facts!.resolved, incident.facts!.severity, incident.facts!.state], [true, "high", {
    state: "up",
  }]);
  assert.equal(incident.post_mortem as unknown, "The disk was full.");
  assert.deepEqual(await did(), ["restart"]);

  await forget();
  await Deno.writeTextFile(`${home.dir}/did`, "repair\n");
  const deployment = await resultOf("review_to_deploy");
  assert.deepEqual(deployment.facts, { approved: true, reasons: [], deployed: true, healthy: true, problem: null });
  assert.equal(deployment.summary as unknown, "It went well.");
  assert.equal((await did()).at(-1), "deploy");
  assert.equal(
    client.others.filter(({ method }) => method === "elicitation/create").length,
    2,
    "the fix, the deployment",
  );
});

Deno.test("shipped workflows are found where agents are configured, and give way to the user's own", async () => {
  await using home = await startHome();
  await using client = await connectClient(home);
  const find = async () => JSON.stringify(await client.call("search_tools", { query: "review a change with agents" }));
  await until("it is found", async () => (await find()).includes("workflow:review_change"));
  const removed = await home.run(["workflow", "remove", "incident"]);
  assert.match(removed.stderr, /ships with AgentCards/);
  await Deno.mkdir(`${home.dir}/workflows`, { recursive: true });
  const own = 'description: mine\ntasks: [{ id: a, type: code_execution, code: "return 1" }]\n';
  await Deno.writeTextFile(`${home.dir}/workflows/incident.yaml`, own);
  const shown = await home.run(["workflow", "show", "incident"]);
  assert.match(shown.stdout, /mine/);
  // A change that is not approved is not deployed, and nobody is asked.
  const answers = [["breaking changes", say({ approve: false, problems: ["no"] })], ["Tell the team", say("Not yet.")]];
  await Deno.writeTextFile(`${home.dir}/answers`, JSON.stringify(answers));
  const { tool, arguments: given } = exampleOf("review_to_deploy");
  const answer = read(await client.use(tool, given));
  assert.equal(answer.status, "completed", JSON.stringify(answer));
  const { facts } = answer.results as { facts: Message };
  assert.deepEqual([facts.approved, facts.deployed], [false, false]);
  assert.deepEqual(await linesOf(`${home.dir}/did`), []);
});
