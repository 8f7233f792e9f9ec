// Workflows that people write and keep: files, found, called, changed, nested, over a crash.
import assert from "node:assert/strict";
import { openDatabase } from "../../src/db/pglite/open.ts";
import { connectClient, textOf, type ToolResult } from "../fixtures/client.ts";
import { createTestHome, testServer, until } from "../fixtures/gateway.ts";
import { crash, linesOf, read, refused, run, statuses, task } from "../fixtures/workflow.ts";

const GREET = `description: Greets a person by name
version: 2
parameters:
  person: { type: string }
  times: { type: integer, default: 1 }
tasks:
  - { id: hello, tool: "kit:echo", arguments: { text: "hello $INPUT.person" } }
  - { id: again, tool: "kit:echo", arguments: { text: "$OUTPUT[hello]!" }, when: input.times > 1 }
`;

Deno.test("a file is a workflow: found, called by agents, tasks, code and people, and a change counts at once", async () => {
  await using home = await createTestHome({ servers: { kit: testServer("kit") } });
  await Deno.mkdir(`${home.dir}/workflows`);
  const file = `${home.dir}/workflows/greet.yaml`;
  await Deno.writeTextFile(file, GREET);
  await using client = await connectClient(home);
  await until(
    "search knows it",
    async () =>
      textOf(await client.call("search_tools", { query: "greet a person" })).includes("workflow:greet(person: string"),
  );
  const called = read(await client.use("workflow:greet", { person: "ann" }));
  assert.deepEqual([called.status, called.results], ["completed", {}]);
  const twice = read(await client.use("workflow:greet", { person: "$OUTPUT[hello]", times: 2 }));
  assert.deepEqual(twice.results, { again: "kit: kit: hello $OUTPUT[hello]!" }, "an input is meant to the letter");
  assert.match(await refused(client.use("workflow:greet", { times: 2 })), /person[\s\S]*Signature: workflow:greet/);

  const nested = await run(client, [
    task("one", "workflow:greet", { person: "bob", times: 3 }),
    {
      id: "two",
      type: "code_execution",
      code: 'return (await tools["workflow:greet"]({ person: "cy", times: 2 })).results.again',
    },
    task("both", "kit:echo", { text: "$OUTPUT[one].results.again and $OUTPUT[two]" }),
  ]);
  assert.deepEqual(
    nested.results,
    { both: "kit: kit: kit: hello bob! and kit: kit: hello cy!" },
    JSON.stringify(nested),
  );
  const typed = await home.run(["workflow", "run", "greet", "person=dan", "times=2"]);
  assert.match(typed.stdout, /again {2}kit: kit: hello dan!/);
  assert.match(
    (await home.run(["workflow", "show", "greet"])).stdout,
    /workflow:greet version 2[\s\S]*person, times \(else 1\)/,
  );

  await Deno.writeTextFile(file, GREET.replace("hello $INPUT", "good day $INPUT"));
  assert.match(textOf(await client.use("workflow:greet", { person: "eve", times: 2 })), /good day eve!/);
  await Deno.writeTextFile(file, GREET.replace("kit:echo", "$INPUT.who").replace("input.times", "inputs.times"));
  const broken = await home.run(["workflow", "list"]);
  assert.equal(broken.code, 1);
  assert.match(broken.stdout, /greet\.yaml: line 8, column \d+: task again: "inputs\.times > 1" is no condition/);
  assert.match(await refused(client.use("workflow:greet", { person: "x" })), /line 8/);

  // Save, export, import and remove, at the command line.
  const ran = await run(client, [task("sum", "kit:add", { a: 1, b: 2 })]);
  assert.equal((await home.run(["workflow", "save", ran.workflow_id, "sum", "--param", "first=sum.a"])).code, 0);
  const text = (await home.run(["workflow", "export", "sum"])).stdout;
  assert.match(text, /a: \$INPUT\.first/);
  await Deno.writeTextFile(`${home.dir}/other.yaml`, text.replace("tool:", "tol:"));
  const refusedFile = await home.run(["workflow", "import", "other.yaml"]);
  assert.match(refusedFile.stderr, /line \d+, column \d+: task sum: .*tol is not a key of a task/);
  await Deno.writeTextFile(`${home.dir}/other.yaml`, text);
  assert.equal((await home.run(["workflow", "import", "other.yaml", "total"])).code, 0);
  assert.match((await home.run(["workflow", "import", "other.yaml", "total"])).stderr, /already/);
  assert.match((await home.run(["call", "workflow:total", '{"first": 40}'])).stdout, /"sum": ?42/);
  assert.equal((await home.run(["workflow", "remove", "total"])).code, 0);

  // A workflow that calls itself is refused, whatever the detour.
  const self = (name: string, other: string) =>
    Deno.writeTextFile(`${home.dir}/workflows/${name}.yaml`, `tasks: [{ id: a, tool: "workflow:${other}" }]\n`);
  await Promise.all([self("ping", "pong"), self("pong", "ping")]);
  assert.match(textOf(await client.use("workflow:ping")), /failed/);
  assert.match(JSON.stringify(JSON.parse((await home.run(["runs", "--json"])).stdout)), /workflow:ping/);
});

Deno.test("a workflow inside another goes on after a crash, once", async () => {
  await using home = await createTestHome({
    servers: { kit: testServer("kit") },
    policy: { effects: { "kit:wait": "read" } },
  });
  await Deno.mkdir(`${home.dir}/workflows`);
  const log = `${home.dir}/log`;
  await Deno.writeTextFile(
    `${home.dir}/workflows/act.yaml`,
    `parameters: { line: { type: string } }
tasks:
  - { id: write, tool: "kit:append", arguments: { file: ${log}, line: $INPUT.line } }
  - { id: wait, tool: "kit:wait", arguments: { ms: 1500 }, depends_on: [write] }
`,
  );
  await using client = await connectClient(home);
  await client.send({
    id: "doomed",
    method: "tools/call",
    params: { name: "run_workflow", arguments: { tasks: [task("inner", "workflow:act", { line: "x" })] } },
  });
  await until("it has acted", async () => (await linesOf(log)).includes("end x"));
  await crash(home);
  const answer = (await client.answerTo("doomed")).result as ToolResult;
  const end = read(answer);
  if (end.status === "completed") assert.equal(statuses(end).inner, "success");
  assert.deepEqual(await linesOf(log), ["begin x", "end x"], "nothing was done twice");
  const runs = JSON.parse((await home.run(["runs", "--json"])).stdout) as { name: string }[];
  assert.equal(
    runs.filter(({ name }) => name === "workflow:act").length,
    1,
    "the task found the run that it had started",
  );
});

Deno.test("workflows of the database become files once, and a trusted project has its own", async () => {
  await using home = await createTestHome({ servers: { kit: testServer("kit") } });
  await home.run(["workflow", "list"]);
  await home.run(["engine", "stop"]);
  const db = await openDatabase(`${home.dir}/data`);
  await db.query(
    "insert into workflow_template (name, description, parameters, tasks) values ($1, $2, $3::jsonb, $4)",
    [
      "old",
      "An old one",
      [{ name: "text", task: "a", argument: "text", type: "string", usual: "hi" }],
      JSON.stringify({
        tasks: [{ type: "tool", id: "a", tool: "kit:echo", arguments: { text: "hi" }, depends_on: [] }],
        pause: "never",
      }),
    ],
  );
  await db.close();
  await Deno.remove(`${home.dir}/workflows/.from-database`);
  await Deno.mkdir(`${home.dir}/project/.agentcards/workflows`, { recursive: true });
  await Deno.writeTextFile(
    `${home.dir}/project/.agentcards/workflows/mine.yaml`,
    `tasks: [{ id: a, tool: "kit:echo", arguments: { text: project } }]\n`,
  );
  await Deno.writeTextFile(
    `${home.dir}/project/.agentcards/workflows/old.yaml`,
    `tasks: [{ id: a, tool: "kit:fail" }]\n`,
  );
  const cwd = `${home.dir}/project`;
  const list = async () => (await home.run(["workflow", "list"], { cwd })).stdout;
  assert.match(await list(), /workflow:old +1 +text \(else "hi"\) +An old one/);
  assert.doesNotMatch(await list(), /mine/);
  assert.match((await home.run(["workflow", "run", "old"], { cwd })).stdout, /a {2}kit: hi/);
  assert.equal((await home.run(["trust", "--yes"], { cwd })).code, 0);
  assert.match((await home.run(["workflow", "run", "mine"], { cwd })).stdout, /a {2}kit: project/);
  assert.match(
    (await home.run(["workflow", "run", "old"], { cwd })).stdout,
    /a {2}kit: hi/,
    "the user's own keeps its name",
  );
  await Deno.remove(`${home.dir}/workflows/old.yaml`);
  assert.doesNotMatch((await home.run(["workflow", "list"])).stdout, /old/, "what was removed does not come back");
});
