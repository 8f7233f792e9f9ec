// The five kinds of rules and redaction, on every path of a call: the table in docs/POLICY.md is made here.
// UPDATE_POLICY=1 writes it.
import assert from "node:assert/strict";
import { stringify } from "yaml";
import { connectClient, type Message, type ToolResult } from "../fixtures/client.ts";
import { createTestHome, ROOT, type TestHome, testServer } from "../fixtures/gateway.ts";
import { startHttp } from "../fixtures/http.ts";
import { task } from "../fixtures/workflow.ts";

const DOCUMENT = `${ROOT}docs/POLICY.md`;
const [BEGIN, END] = ["<!-- paths -->", "<!-- /paths -->"];
const KEY = "AKIAABCDEFGHIJKLMNOP";

interface Kind {
  readonly name: string;
  readonly rule: Message;
  /** Texts of calls that pass, in order, and of the call after them that does not. */
  readonly passes: readonly string[];
  readonly stops: string;
  /** The words of the refusal; for a redaction, of the answer. */
  readonly words: RegExp;
}

/** Each has an entry of its own, named with `=`: all start one program, and a denial would hold for all of them. */
const KINDS: readonly Kind[] = [
  {
    name: "validation",
    rule: { when: "size(args.text) > 20", then: "deny" },
    passes: ["short"],
    stops: "a text of more than twenty characters",
    words: /the rule "validation" forbids it/,
  },
  {
    name: "block",
    rule: { match: "=block:add", then: "deny" },
    passes: ["fine"],
    stops: "",
    words: /block:add may not be called: the rule "block" forbids it/,
  },
  {
    name: "approval",
    rule: { when: 'args.text == "LOUD"', then: "approve" },
    passes: ["quiet"],
    stops: "LOUD",
    words: /the rule "approval" asks/,
  },
  {
    name: "rate",
    rule: { rate: { calls: 2, per: "1h" }, then: "deny" },
    passes: ["one", "two"],
    stops: "three",
    words: /the rule "rate" forbids it/,
  },
  {
    name: "cost",
    rule: { budget: { usd: 1, per: "1d", cost: 0.6 }, then: "deny" },
    passes: ["one"],
    stops: "two",
    words: /the rule "cost" forbids it/,
  },
  {
    name: "redaction",
    rule: { on: "result", when: 'regex(text, "AKIA[0-9A-Z]{16}")', then: "redact" },
    passes: ["plain"],
    stops: `key ${KEY}`,
    words: /\[redacted: redaction\]/,
  },
];

const CONFIG = {
  servers: Object.fromEntries(KINDS.map(({ name }) => [name, testServer("kit", `--name=${name}`)])),
  policy: { rules: KINDS.map(({ name, rule }) => ({ name, match: `=${name}:*`, ...rule })) },
};

/** Calls the tool of a kind's server; the block rule forbids a tool of its own. */
const toolOf = ({ name }: Kind, text: string) => name === "block" && text === "" ? "block:add" : `${name}:echo`;
const argumentsOf = (tool: string, text: string) => tool === "block:add" ? { a: 1, b: 2 } : { text };

type Path = (tool: string, args: Message) => Promise<string>;

const said = (made: Promise<ToolResult>) =>
  made.then((result) => JSON.stringify(result), (error) => JSON.stringify({ error: String(error.message ?? error) }));

interface Way {
  readonly config?: Message;
  open(home: TestHome): Promise<{ readonly call: Path } & AsyncDisposable>;
}

/** A path that goes through a client over stdio. */
function overStdio(path: (client: Awaited<ReturnType<typeof connectClient>>) => Path, config?: Message): Way {
  return {
    ...config && { config },
    async open(home) {
      const client = await connectClient(home);
      return { call: path(client), [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() };
    },
  };
}

const WAYS: Readonly<Record<string, Way>> = {
  call_tool: overStdio((client) => (tool, args) => said(client.use(tool, args))),
  workflow: overStdio((client) => (tool, args) =>
    said(client.call("run_workflow", { tasks: [task("a", tool, args)] }))
  ),
  code: overStdio((client) => (tool, args) =>
    said(client.call("execute_code", { code: `return await tools["${tool}"](${JSON.stringify(args)})` }))
  ),
  direct: overStdio(
    (client) => (tool, args) => said(client.call(tool.replace(":", "__"), args)),
    { expose: { tools: "direct" } },
  ),
  "saved workflow": {
    async open(home) {
      await Deno.mkdir(`${home.dir}/workflows`, { recursive: true });
      for (const { name } of KINDS) {
        const tasks = [{ id: "a", tool: `${name}:echo`, arguments: { text: "$INPUT.text" } }];
        const parameters = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
        await Deno.writeTextFile(`${home.dir}/workflows/${name}.yaml`, stringify({ parameters, tasks }));
      }
      const blocked = { tasks: [{ id: "a", tool: "block:add", arguments: { a: 1, b: 2 } }] };
      await Deno.writeTextFile(`${home.dir}/workflows/blocked.yaml`, stringify(blocked));
      const client = await connectClient(home);
      return {
        call: (tool, args) =>
          said(
            tool === "block:add"
              ? client.use("workflow:blocked")
              : client.use(`workflow:${tool.slice(0, tool.indexOf(":"))}`, args),
          ),
        [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
      };
    },
  },
  HTTP: {
    async open(home) {
      const server = await startHttp(home);
      const _meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
      };
      let id = 0;
      return {
        async call(tool, args) {
          const response = await fetch(server.url, {
            method: "POST",
            headers: {
              "content-type": "application/json",
              accept: "application/json, text/event-stream",
              authorization: `Bearer ${server.token}`,
              "mcp-protocol-version": "2026-07-28",
              "mcp-method": "tools/call",
              "mcp-name": "call_tool",
            },
            body: JSON.stringify({
              jsonrpc: "2.0",
              id: ++id,
              method: "tools/call",
              params: { name: "call_tool", arguments: { tool, arguments: args }, _meta },
            }),
          });
          return await response.text();
        },
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
  },
};

const plain = (text: string) => text.replaceAll('\\"', '"').replaceAll('\\\\"', '"').replaceAll('\\"', '"');

/** What is wrong with a kind of rule on a path; undefined if it holds. */
async function problemOf(kind: Kind, call: Path): Promise<string | undefined> {
  for (const text of kind.passes) {
    const answer = plain(await call(toolOf(kind, text), argumentsOf(toolOf(kind, text), text)));
    if (!answer.includes(`${kind.name}: ${text}`)) return `stops "${text}": ${answer.slice(0, 300)}`;
  }
  const tool = toolOf(kind, kind.stops);
  const answer = plain(await call(tool, argumentsOf(tool, kind.stops)));
  if (!kind.words.test(answer)) return `does not say so: ${answer.slice(0, 300)}`;
  const passed = kind.name === "redaction" ? KEY : `${kind.name}: ${kind.stops}`;
  return kind.stops !== "" && answer.includes(passed)
    ? `lets "${kind.stops}" pass: ${answer.slice(0, 300)}`
    : undefined;
}

Deno.test("every kind of rule holds on every path, and the table says so", async () => {
  const problems: string[] = [];
  const cells = new Map<string, string[]>(KINDS.map(({ name }) => [name, []]));
  await Promise.all(
    Object.entries(WAYS).map(async ([name, { config, open }], at) => {
      await using home = await createTestHome({ ...CONFIG, ...config });
      await using way = await open(home);
      for (const kind of KINDS) {
        const problem = await problemOf(kind, way.call);
        cells.get(kind.name)![at] = problem === undefined ? "✓" : "✗";
        if (problem !== undefined) problems.push(`${kind.name}, ${name}: ${problem}`);
      }
    }),
  );
  assert.deepEqual(problems, []);
  const rows = [...cells].map(([name, row]) => `| ${[name, ...row].join(" | ")} |`);
  const head = ["kind of rule", ...Object.keys(WAYS)];
  const table = [`| ${head.join(" | ")} |`, `| ${head.map(() => "---").join(" | ")} |`, ...rows].join("\n");
  const document = await Deno.readTextFile(DOCUMENT);
  const [before, rest = ""] = document.split(BEGIN);
  const [written = "", after = ""] = rest.split(END);
  if (Deno.env.get("UPDATE_POLICY")) {
    await Deno.writeTextFile(DOCUMENT, `${before}${BEGIN}\n\n${table}\n\n${END}${after}`);
    return;
  }
  const squeezed = (text: string) => text.replace(/[ -]+/g, " ").trim();
  assert.equal(squeezed(written), squeezed(table), "docs/POLICY.md: UPDATE_POLICY=1 writes the table");
});
