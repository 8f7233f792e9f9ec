// Small versions of the commands that measure learning, on data of their own.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { sharedModels } from "../fixtures/gateway.ts";

const MAIN = fileURLToPath(new URL("./main.ts", import.meta.url));

async function evaluate(files: Record<string, unknown>, args: (dir: string) => string[]) {
  const dir = await Deno.makeTempDir({ prefix: "ac-eval-" });
  try {
    for (const [name, content] of Object.entries(files)) {
      const text = Array.isArray(content)
        ? content.map((row) => JSON.stringify(row)).join("\n")
        : JSON.stringify(content);
      await Deno.mkdir(`${dir}/${name}`.replace(/\/[^/]*$/, ""), { recursive: true });
      await Deno.writeTextFile(`${dir}/${name}`, text);
    }
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--allow-all", "--quiet", "--cached-only", MAIN, ...args(dir), "--json"],
      stdin: "null",
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    return JSON.parse(new TextDecoder().decode(stdout).trim().split("\n").at(-1)!);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

const text = { type: "string" };

Deno.test("eval dependencies finds which call feeds which, whatever order they come in", async () => {
  const node = (id: number, tool: string, args: Record<string, unknown>) => ({ id, tool, args });
  const figures = await evaluate({
    "rows.jsonl": [{
      source: "own",
      id: "1",
      query: "Find the user Ann and list the orders of that user",
      nodes: [node(0, "find_user", { name: "Ann" }), node(1, "list_orders", { user_id: "$var1.user_id$" })],
      links: [{ source: 0, target: 1, from: "user_id", to: "user_id" }],
    }, {
      source: "own-nolink",
      id: "2",
      query: "Find the users Ann and Ben",
      nodes: [node(0, "find_user", { name: "Ann" }), node(1, "find_user", { name: "Ben" })],
      links: [],
    }],
    "tools.jsonl": ["own", "own-nolink"].flatMap((source) => [
      {
        source,
        name: "find_user",
        description: "Finds a user",
        input: { name: { ...text, required: true } },
        output: { user_id: text },
      },
      {
        source,
        name: "list_orders",
        description: "Lists orders of a user",
        input: { user_id: { ...text, required: true } },
        output: {},
      },
    ]),
  }, (dir) => ["dependencies", "--data", `${dir}/rows.jsonl`, "--tools", `${dir}/tools.jsonl`]);
  assert.deepEqual(figures.sources.own, { n: 1, precision: 1, recall: 1, f1: 1, false_edge_rate: 0 });
  assert.equal(figures.sources["own-nolink"].false_edge_rate, 0);
});

Deno.test("eval prediction learns as it goes, and calls ahead only what it is sure of and only reads", async () => {
  const row = (id: number, tools: string[]) => ({
    source: tools.includes("create_note") ? "acts" : "reads",
    id: String(id),
    query: "",
    nodes: tools.map((tool, i) => ({ id: i, tool, args: { n: i } })),
  });
  const figures = await evaluate({
    "seq.jsonl": Array.from(
      { length: 60 },
      (_, i) => row(i, i % 2 ? ["list_notes", "get_note"] : ["find_note", "create_note"]),
    ),
  }, (dir) => ["prediction", "--data", `${dir}/seq.jsonl`]);
  const { reads, acts } = figures.sources;
  assert.ok(reads.top1 > 95 && acts.top1 > 95, JSON.stringify(figures.sources));
  assert.ok(reads.speculation.coverage > 0.3 && reads.speculation.precision === 1);
  assert.ok(reads.speculation_exact.coverage > 0.3);
  assert.deepEqual([acts.speculation.n, acts.speculation_exact.n], [0, 0], "what acts is never called ahead");
  assert.ok(figures.update_ms.p95 < 20);
});

Deno.test("eval speculation reads the items of a list ahead, and nothing past a call that acts", async () => {
  const lists = Array.from({ length: 30 }, (_, i) => {
    const ids = [0, 1, 2].map((n) => `note-${i}-${n}`);
    const output = JSON.stringify({ notes: ids.map((id) => ({ id })) });
    const get = (id: string) => ({ tool: "get_note", args: { id }, output: JSON.stringify({ text: id }), ok: true });
    const list = { tool: "list_notes", args: { folder: `folder-${i}` }, output, ok: true };
    const act = { tool: "send_note", args: { id: ids[0] }, output: "sent", ok: true };
    return [
      { source: "lists", id: `${i}`, prompt: "", calls: [list, ...ids.map(get)] },
      { source: "acts", id: `${i}`, prompt: "", calls: [act, act] },
    ];
  });
  const figures = await evaluate(
    { "rows.jsonl": lists.flat() },
    (dir) => ["speculation", "--data", `${dir}/rows.jsonl`],
  );
  const { lists: read, acts } = figures.sources;
  assert.ok(read.precision > 0.9 && read.coverage > 0.4, JSON.stringify(read));
  assert.ok(read.tokens_per_saved > 0 && read.waste <= 0.1, JSON.stringify(read));
  assert.deepEqual([acts.reads, acts.made], [0, 0], "what acts is never made ahead");
  assert.equal(figures.without_prompts.all.n, figures.all.n);
});

const SERVERS = {
  "tools/notes.json": {
    tools: [
      {
        name: "create_note",
        description: "Creates a note",
        inputSchema: { type: "object", properties: { title: text, folder: text }, required: ["title"] },
      },
      {
        name: "list_notes",
        description: "Lists the notes of a folder",
        inputSchema: { type: "object", properties: { folder: text, limit: { type: "integer" } }, required: ["folder"] },
      },
    ],
  },
};
const INTENTS = [
  {
    id: "1",
    intent: 'Create a note titled "Milk" in the folder shopping',
    tools: ["notes:create_note"],
    arguments: { "notes:create_note": { title: "Milk", folder: "shopping" } },
    fed: {},
  },
  {
    id: "2",
    intent: "List the first 5 notes of the folder work",
    tools: ["notes:list_notes"],
    arguments: { "notes:list_notes": { folder: "work", limit: 5 } },
    fed: {},
  },
];

Deno.test("eval binding counts values that are right, wrong and left out", async () => {
  const wrong = { ...INTENTS[1], id: "3", arguments: { "notes:list_notes": { folder: "work", limit: 6 } } };
  const figures = await evaluate(
    { ...SERVERS, "intents.jsonl": [...INTENTS, wrong] },
    (dir) => ["binding", "--intents", `${dir}/intents.jsonl`, "--servers", `${dir}/tools`],
  );
  assert.deepEqual([figures.n, figures.bound, figures.precision], [3, 6, 0.833]);
});

Deno.test("eval suggest plans whole requests and says how sure it was", async () => {
  const models = await sharedModels();
  const figures = await evaluate(
    { ...SERVERS, "intents.jsonl": INTENTS },
    (dir) => ["suggest", "--intents", `${dir}/intents.jsonl`, "--servers", `${dir}/tools`, "--models", models],
  );
  assert.deepEqual([figures.n, figures.right_tools, figures.right], [2, 2, 2]);
  assert.ok(figures.p95_ms > 0);
});
