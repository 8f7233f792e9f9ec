// What a gateway must not lose, through each of its ways, for both kinds of client and in front of both kinds of server.
// The table in docs/FIDELITY.md is what came out: `deno task fidelity` writes it, the test compares.
import assert from "node:assert/strict";
import { connectClient, type Era, type Message, type RawClient, textOf, type ToolResult } from "../fixtures/client.ts";
import { createTestHome, ROOT, testServer, until } from "../fixtures/gateway.ts";

const WAYS = ["call_tool", "workflow", "code", "direct"] as const;
type Way = typeof WAYS[number];
const ERAS = ["legacy", "modern"] satisfies Era[];
const SERVERS = ["kit", "modern"] as const;
const DOCUMENT = `${ROOT}docs/FIDELITY.md`;

/** One call of one tool, however it is made. */
interface Call {
  readonly way: Way;
  readonly era: Era;
  readonly client: RawClient;
  readonly server: string;
  /** The name of the client's tool, and its arguments for a server's tool. */
  request(tool: string, args?: Message): [name: string, args: Message];
  /** Makes the call and gives the client's own result. */
  make(tool: string, args?: Message, meta?: Message): Promise<ToolResult>;
  /** What the call gave, where the way gives values. */
  value(result: ToolResult): unknown;
}

type Check = (call: Call) => Promise<void>;
/** A reason why a way cannot carry something, instead of a check. */
type Feature = { readonly check: Check; readonly not?: Partial<Record<Way, string>> };

const QUESTION_TIMEOUT_MS = 20_000;

/** Answers the one question that comes while a call is made. */
async function answering(call: Call, tool: string, { method, answer }: { method: string; answer: Message }) {
  const { client, era } = call;
  if (era === "legacy") {
    const seen = client.others.length;
    const making = call.make(tool);
    const asked = () => client.others.slice(seen).find((message) => message.method === method);
    await until(`${method} of ${tool}`, () => asked() !== undefined, QUESTION_TIMEOUT_MS);
    assert.deepEqual(Object.keys(asked()!).toSorted(), ["id", "jsonrpc", "method", "params"]);
    await client.send({ id: asked()!.id, result: answer });
    return { question: asked()!.params as Message, result: await making };
  }
  const first = await call.make(tool);
  assert.equal(first.resultType, "input_required", JSON.stringify(first).slice(0, 300));
  const [[key, question]] = Object.entries(first.inputRequests!) as [[string, Message]];
  assert.deepEqual([question.method, Object.keys(question).toSorted()], [method, ["method", "params"]]);
  const _retry = { inputResponses: { [key]: answer }, requestState: first.requestState };
  return { question: question.params as Message, result: await call.make(tool, {}, { _retry }) };
}

/** The content that came through: of the result itself, or of the task's value and what stands beside it. */
const blocks = ({ way }: Call, result: ToolResult) => way === "workflow" ? result.content.slice(1) : result.content;

const content = (type: string, inCode: (value: unknown) => boolean): Check => async (call) => {
  const result = await call.make("contents");
  if (call.way === "code") assert.ok((call.value(result) as unknown[]).some(inCode), textOf(result));
  else {
    const found = blocks(call, result).find((block) => block.type === type);
    const [expected] = CONTENTS.filter((block) => block.type === type);
    assert.deepEqual(found, expected);
  }
};

const CONTENTS = [
  { type: "text", text: "hello", annotations: { audience: ["user"] } },
  { type: "image", data: "aGk=", mimeType: "image/png" },
  { type: "audio", data: "aGk=", mimeType: "audio/wav" },
  { type: "resource_link", uri: "file:///x", name: "x" },
  { type: "resource", resource: { uri: "file:///y", text: "why", mimeType: "text/plain" } },
  { type: "something_new", data: [1, { two: 3 }] },
];

const isBytes = (value: unknown) => JSON.stringify(value) === '"2 bytes"';
const progressOf = ({ client }: Call, token: string) =>
  client.others.filter(({ method }) => method === "notifications/progress").map(({ params }) => params as Message)
    .filter(({ progressToken }) => progressToken === token);

const FEATURES: Record<string, Feature> = {
  "text": {
    async check(call) {
      const result = await call.make("echo", { text: "x" });
      assert.match(JSON.stringify(result), new RegExp(`${call.server}: x`));
    },
  },
  "image": { check: content("image", isBytes) },
  "audio": { check: content("audio", isBytes) },
  "resource link": { check: content("resource_link", (value) => (value as Message).uri === "file:///x") },
  "embedded resource": { check: content("resource", (value) => value === "why") },
  "content of a kind nobody knows yet": {
    check: content("something_new", (value) => (value as Message).type === "something_new"),
  },
  "structured content": {
    async check(call) {
      const result = await call.make("add", { a: 2, b: 3 });
      const value = call.way === "workflow" || call.way === "code" ? call.value(result) : result.structuredContent;
      assert.deepEqual(value, { sum: 5 });
    },
  },
  "structured content that is no object": {
    async check(call) {
      const result = await call.make("everything");
      const given = [1, "two", null];
      if (call.way === "workflow" || call.way === "code") assert.deepEqual(call.value(result), given);
      else assert.deepEqual(result.structuredContent, call.era === "legacy" ? { result: given } : given);
    },
  },
  "a tool's error stays a tool's error": {
    async check(call) {
      const result = await call.make("fail");
      assert.match(textOf(result), /it did not work/);
      if (call.way === "call_tool" || call.way === "direct") assert.equal(result.isError, true);
      if (call.way === "workflow") assert.equal(JSON.parse(textOf(result)).status, "failed");
      if (call.way === "code") assert.match(textOf(result), /ToolError/);
    },
  },
  "meta data of the result": {
    not: { code: "code gets values, not envelopes" },
    async check(call) {
      const { _meta } = await call.make("everything");
      const meta = call.way === "workflow" ? (_meta!["agentcards/results"] as Message).t as Message : _meta!;
      assert.equal(meta["example.com/trace"], "abc");
    },
  },
  "trace context reaches the server": {
    async check(call) {
      const result = await call.make("meta", {}, { traceparent: "00-abc-def-01" });
      assert.match(JSON.stringify(result), /00-abc-def-01/);
    },
  },
  "progress": {
    async check(call) {
      const token = `p-${crypto.randomUUID()}`;
      await call.make("wait", { ms: 90, steps: 3 }, { progressToken: token });
      const told = progressOf(call, token);
      const steps = told.filter(({ message }) => /step \d/.test(String(message)));
      assert.deepEqual(steps.map(({ message }) => /step \d/.exec(String(message))![0]), ["step 1", "step 2", "step 3"]);
      const values = told.map(({ progress }) => Number(progress));
      assert.ok(values.every((value, i) => i === 0 || value > values[i - 1]!), `it goes up: ${values}`);
    },
  },
  "cancellation reaches the server": {
    async check(call) {
      const id = `c-${crypto.randomUUID()}`;
      const cancelled = async () => textOf(await call.client.use(`${call.server}:cancelled`));
      const [name, args] = call.request("wait", { ms: 20_000, steps: 1_000 });
      const token = `t-${id}`;
      const before = call.way === "direct" ? 0 : (await cancelled()).length;
      void call.client.request("tools/call", { name, arguments: args, _meta: { progressToken: token } }, id).catch(
        () => {},
      );
      await until("it is under way", () => progressOf(call, token).some(({ message }) => /step/.test(String(message))));
      await call.client.send({ method: "notifications/cancelled", params: { requestId: id } });
      if (call.way === "direct") {
        const told = () => call.client.request("tools/call", { name: `${call.server}__cancelled`, arguments: {} });
        await until("it is cancelled", async () => textOf((await told()).result as ToolResult).includes("wait"));
      } else await until("it is cancelled", async () => (await cancelled()).length > before);
    },
  },
  "a question to the human, as a form": {
    async check(call) {
      const answer = { action: "accept", content: { name: "Ada" } };
      const { question, result } = await answering(call, "ask", { method: "elicitation/create", answer });
      assert.equal(question.message, `[server ${call.server}] What is your name?`);
      assert.match(JSON.stringify(result), /Ada/);
    },
  },
  "a question to the human, as a page": {
    async check(call) {
      const { question, result } = await answering(call, "visit", {
        method: "elicitation/create",
        answer: { action: "accept" },
      });
      assert.equal(question.url, "https://example.com/sign-in");
      assert.match(JSON.stringify(result), /accept/);
    },
  },
  "sampling": {
    async check(call) {
      const answer = { role: "assistant", content: { type: "text", text: "Paris" }, model: "m" };
      const { question, result } = await answering(call, "sample", { method: "sampling/createMessage", answer });
      assert.match(JSON.stringify(question), /capital of France/);
      assert.match(JSON.stringify(result), /Paris/);
    },
  },
  "roots": {
    async check(call) {
      const answer = { roots: [{ uri: "file:///a/b", name: "b" }] };
      const { result } = await answering(call, "roots", { method: "roots/list", answer });
      assert.match(JSON.stringify(result), /file:\/\/\/a\/b/);
    },
  },
  "what the server logs": {
    async check(call) {
      const seen = call.client.others.length;
      const meta = call.era === "modern" ? { "io.modelcontextprotocol/logLevel": "info" } : {};
      await call.make("log", {}, meta);
      const logged = () => call.client.others.slice(seen).filter(({ method }) => method === "notifications/message");
      await until("both lines", () => logged().length === 2);
      const [line, error] = logged().map(({ params }) => params as Message);
      assert.deepEqual(line, { level: "info", logger: `${call.server}/main`, data: "a line" });
      assert.deepEqual(error, { level: "error", logger: call.server, data: { code: 7 } });
    },
  },
};

const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } };

function callOf(way: Way, { client, server }: { client: RawClient; server: string }): Call {
  const request = (tool: string, args: Message = {}): [string, Message] => {
    const id = `${server}:${tool}`;
    if (way === "call_tool") return ["call_tool", { tool: id, arguments: args }];
    if (way === "direct") return [`${server}__${tool}`, args];
    if (way === "workflow") return ["run_workflow", { tasks: [{ id: "t", tool: id, arguments: args }] }];
    return ["execute_code", { code: CODE, context: { id, args } }];
  };
  return {
    way,
    era: client.era,
    client,
    server,
    request,
    make(tool, args, meta) {
      const [name, given] = request(tool, args);
      return client.call(name, given, meta);
    },
    value: (result) => {
      const answer = JSON.parse(textOf(result));
      return way === "workflow" ? answer.results.t : answer.result;
    },
  };
}

/** Bytes are not JSON: of them only the length comes back. */
const CODE = `
const shown = (value) => value instanceof Uint8Array ? value.length + " bytes"
  : value?.bytes instanceof Uint8Array ? value.bytes.length + " bytes"
  : Array.isArray(value) ? value.map(shown) : value;
return shown(await tools[context.id](context.args));
`;

/** Every cell of the table: what is passed on, or why not. */
async function measure(): Promise<Record<string, Record<string, string>>> {
  const cells: Record<string, Record<string, string>> = {};
  const servers = { kit: testServer("kit"), modern: testServer("kit", "--modern", "--name=modern") };
  for (const expose of ["meta", "direct"] as const) {
    for (const era of ERAS) {
      // Of a run that is called off, what acts comes to its end.
      const policy = { effects: { "*:wait": "read" } };
      await using home = await createTestHome({ servers, policy, expose: { tools: expose } });
      await using client = await connectClient(home, { era, capabilities: CAPABILITIES });
      for (const way of expose === "direct" ? ["direct"] as const : ["call_tool", "workflow", "code"] as const) {
        for (const [feature, { check, not }] of Object.entries(FEATURES)) {
          const row = cells[feature] ??= {};
          const column = `${way} ${era}`;
          row[column] = not?.[way] ?? "✓";
          if (not?.[way]) continue;
          for (const server of SERVERS) {
            try {
              await check(callOf(way, { client, server }));
            } catch (error) {
              row[column] = `✗ ${server}: ${(error as Error).message.slice(0, 300)}`;
            }
          }
        }
      }
    }
  }
  return cells;
}

function documentOf(cells: Record<string, Record<string, string>>): string {
  const columns = WAYS.flatMap((way) => ERAS.map((era) => `${way} ${era}`));
  const notes: string[] = [];
  const rows = Object.entries(cells).map(([feature, row]) => {
    const shown = columns.map((column) => {
      const cell = row[column]!;
      if (cell === "✓") return cell;
      if (!notes.includes(cell)) notes.push(cell);
      return `[${notes.indexOf(cell) + 1}]`;
    });
    return `| ${[feature, ...shown].join(" | ")} |`;
  });
  return `# What passes through

Written by \`deno task fidelity\`; \`tests/flows/fidelity_test.ts\` fails when it is not true any more. Each cell was tried in
front of a server of the older protocol and one of the stateless protocol; ✓ means that both work.

- \`call_tool\`: an agent calls a tool through our own. \`workflow\`: as a task of \`run_workflow\`; content that is no text
  follows the JSON, meta data stands in \`_meta["agentcards/results"]\`. \`code\`: from inside \`execute_code\`, as a value.
  \`direct\`: with \`expose.tools: direct\`, under its own name.
- legacy: a client of the revisions up to 2025-11-25. modern: 2026-07-28.

| | ${columns.join(" | ")} |
| --- | ${columns.map(() => "---").join(" | ")} |
${rows.join("\n")}

${notes.map((note, i) => `[${i + 1}] ${note}.`).join("\n")}

Structured content that is no object reaches legacy clients as \`{"result": …}\`: their revision knows objects only, and they
would refuse the whole answer.

A question to the human has the name of its server before its message, \`[server NAME]\`. A result in which tag characters,
bidirectional overrides or control characters stand has escapes such as \`\\u202e\` in their place, and a note that says so;
every other result is unchanged. Definitions, prompts, questions, progress and logs come without invisible characters.
`;
}

Deno.test("everything passes through, whichever way and whoever asks, and the table says so", async () => {
  const cells = await measure();
  const broken = Object.entries(cells).flatMap(([feature, row]) =>
    Object.entries(row).filter(([, cell]) => cell.startsWith("✗")).map(([column, cell]) =>
      `${feature}, ${column}: ${cell}`
    )
  );
  assert.deepEqual(broken, []);
  const text = documentOf(cells);
  if (Deno.env.get("UPDATE_FIDELITY")) await Deno.writeTextFile(DOCUMENT, text);
  const squeezed = (table: string) => table.replace(/[ -]+/g, " ").replace(/\s+/g, " ");
  assert.equal(
    squeezed(await Deno.readTextFile(DOCUMENT)),
    squeezed(text),
    "run `deno task fidelity` and read the change",
  );
});
