import assert from "node:assert/strict";
import { type Field, fieldsOf } from "../../src/cli/prompts/question_fields.ts";
import { connectClient } from "../fixtures/client.ts";
import { createTestHome, sleep, testServer } from "../fixtures/gateway.ts";
import { atTerminal } from "../fixtures/terminal.ts";
import { read, run } from "../fixtures/workflow.ts";

const CONFIG = { servers: { kit: testServer("kit"), modern: testServer("kit", "--modern", "--name=modern") } };
const [ENTER, DOWN] = ["\r", "\x1b[B"];

Deno.test("what a server asks during a call is answered at the terminal, in both eras", async () => {
  await using home = await createTestHome(CONFIG);
  for (const server of ["kit", "modern"]) {
    const answers = [[/Answer it\?/, ENTER], [/◆ {2}name/, `Ada${ENTER}`]] as const;
    const { code, plain } = await atTerminal(home, ["call", `${server}:ask`], { answers });
    assert.equal(code, 0, plain);
    assert.match(plain, new RegExp(`The server "${server}" asks:\\s+What is your name\\?`));
    assert.match(plain, /"action": ?"accept"[^]*"name": ?"Ada"/);
  }
  const refused = await atTerminal(home, ["call", "kit:ask"], { answers: [[/Answer it\?/, DOWN + ENTER]] });
  assert.match(refused.plain, /"action": ?"decline"/);
  const left = await atTerminal(home, ["call", "modern:ask"], { answers: [[/Answer it\?/, "\x03"]] });
  assert.deepEqual([left.code, /The human at the terminal gave no answer/.test(left.plain)], [1, true], left.plain);
  const page = await atTerminal(home, ["call", "kit:visit"], { answers: [[/Go on\?/, `y`]] });
  assert.match(page.plain, /https:\/\/example\.com\/sign-in\s+The page is at example\.com\./);
  assert.match(page.plain, /"action": ?"accept"/);
});

Deno.test("a run that waits for an answer gets it at the terminal, and where nobody sits nobody is asked", async () => {
  await using home = await createTestHome(CONFIG);
  await using client = await connectClient(home);
  const tasks = [
    { id: "name", tool: "kit:ask" },
    { id: "said", tool: "kit:echo", arguments: { text: "$OUTPUT[name]" }, depends_on: ["name"] },
  ];
  const paused = await run(client, tasks);
  assert.equal(paused.pending?.reason, "question", JSON.stringify(paused));
  const { workflow_id: id } = paused;
  assert.match(paused.pending.how!, new RegExp(`agentcards runs resume ${id} at a terminal`));

  const nobody = await home.run(["runs", "resume", id]);
  assert.match(nobody.stdout, new RegExp(`answer it: +agentcards runs resume ${id}`));
  const later = await atTerminal(home, ["runs", "resume", id], { answers: [[/Answer it\?/, DOWN + DOWN + ENTER]] });
  assert.match(later.plain, /answer it: +agentcards runs resume/);
  const answers = [[/Answer it\?/, ENTER], [/◆ {2}name/, `Ada${ENTER}`]] as const;
  const { code, plain } = await atTerminal(home, ["runs", "resume", id], { answers });
  assert.equal(code, 0, plain);
  assert.match(plain, /Ada[^]*✓ completed/);
});

Deno.test("a call that waits is answered at the terminal, by somebody who takes longer than a call may", async () => {
  await using home = await createTestHome({ servers: { kit: { ...testServer("kit"), timeout: 1_000 } } });
  await using client = await connectClient(home);
  const waiting = read(await client.use("kit:ask"));
  const slowly = async () => {
    await sleep(1_800);
    return `Ada${ENTER}`;
  };
  const answers = [[/Answer it\?/, ENTER], [/◆ {2}name/, slowly]] as const;
  const { code, plain } = await atTerminal(home, ["runs", "resume", waiting.workflow_id], { answers });
  assert.equal(code, 0, plain);
  assert.match(plain, /Ada[^]*✓ completed/);
});

Deno.test("a question whose call has ended is taken back, and what may have happened is in doubt", async () => {
  await using home = await createTestHome(CONFIG);
  const tasks = [
    { id: "q", tool: "kit:ask", timeout_ms: 1_500 },
    { id: "other", tool: "modern:wait", arguments: { ms: 3_000 } },
  ];
  await Deno.writeTextFile(`${home.dir}/flow.json`, JSON.stringify({ tasks }));
  const { code, plain } = await atTerminal(home, ["run", "flow.json"]);
  assert.match(plain, /Answer it\?/);
  assert.match(plain, /kit:ask did not answer within 1\.5 s/);
  assert.equal(code, 3, plain);
});

Deno.test("a form asks each field in its own way and takes nothing that does not fit", () => {
  const fields = fieldsOf({
    type: "object",
    properties: {
      name: { type: "string", title: "Your\u001b[31m name", minLength: 2, maxLength: 4 },
      mail: { type: "string", format: "email" },
      age: { type: "integer", minimum: 0, maximum: 150, default: 30 },
      news: { type: "boolean", default: true },
      plan: { type: "string", enum: ["a", "b"], enumNames: ["Small", "Large"], default: "b" },
      size: { type: "string", oneOf: [{ const: "s", title: "S" }, { const: "m", title: "M" }] },
      tags: { type: "array", items: { type: "string", enum: ["x", "y", "z"] }, default: ["x", "zzz"], maxItems: 2 },
    },
    required: ["name", "plan"],
  })!;
  const [name, mail, age, , plan, , tags] = fields;
  const problems = (field: Field | undefined, ...typed: string[]) =>
    typed.map((text) => field?.kind === "text" ? field.problem(text) : "no text");
  assert.deepEqual(fields.map(({ kind }) => kind), ["text", "text", "text", "yes_no", "one", "one", "many"]);
  assert.ok(!name!.label.includes("\x1b") && mail!.label.endsWith(", optional"));
  assert.deepEqual(problems(name, "", "A", "Ada", "Grace"), [
    "It is needed",
    "At least 2 characters",
    undefined,
    "At most 4 characters",
  ]);
  assert.deepEqual(problems(mail, "", "a@b", "nobody"), [
    undefined,
    undefined,
    "Like a@example.com",
  ]);
  assert.deepEqual(problems(age, "7", "1.5", "-1", "x", "200"), [
    undefined,
    "It has to be a whole number",
    "At least 0",
    "It has to be a number",
    "At most 150",
  ]);
  assert.equal(age?.kind === "text" && age.valueOf("7"), 7);
  assert.deepEqual(tags?.kind === "many" && [tags.usual, tags.least, tags.most], [["x"], 0, 2]);
  assert.deepEqual(plan?.kind === "one" && plan.choices, [
    { value: "a", label: "Small" },
    { value: "b", label: "Large" },
  ]);
});

Deno.test("a form that nobody could fill in is not put to anybody", () => {
  const form = (properties: Record<string, unknown>) => fieldsOf({ type: "object", properties });
  assert.deepEqual(fieldsOf(undefined), []);
  assert.equal(form({ deep: { type: "object", properties: {} } }), undefined);
  assert.equal(form({ list: { type: "array", items: { type: "string" } } }), undefined);
  assert.equal(form({ odd: "string" }), undefined);
  assert.equal(form({ number: { type: "integer", enum: [1, 2] } }), undefined);
  assert.equal(form({ long: { type: "string", enum: Array.from({ length: 201 }, (_, i) => `v${i}`) } }), undefined);
  assert.equal(
    form(Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`f${i}`, { type: "string" }]))),
    undefined,
  );
});
