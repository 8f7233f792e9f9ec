// deno task demo: the main job of AgentCards on three real servers, in a home that is thrown away.
import { duration, painter, thisTerminal } from "../src/cli/screen/terminal.ts";
import { messageOf } from "../src/model/errors.ts";
import { cut, oneLine, tokens } from "../src/model/text.ts";
import { connectClient, type Message, type RawClient, textOf, type ToolResult } from "./fixtures/client.ts";
import { endHome } from "./eval/startup.ts";
import { AS_INSTALLED, createTestHome, npmServer, type TestHome } from "./fixtures/gateway.ts";

interface Definition {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: unknown;
}

/** What an agent asks for, and whose tool must come first. */
const REQUESTS = {
  "add two numbers": "everything",
  "read a text file": "filesystem",
  "add a person to the knowledge graph": "memory",
};
const LOG_LINES = 4_000;
const ORDERS = 1_000;

const { color, out } = thisTerminal();
const paint = painter(color);
const number = (value: number) => value.toLocaleString("en");

let interrupted: Promise<never> | undefined;
Deno.exit(await main());

async function main(): Promise<number> {
  try {
    {
      await using home = await createTestHome({}, AS_INSTALLED);
      onInterrupt(home);
      await demo(home);
    }
    out(`\n${paint("green", "✓")} All of it worked, in ${duration(performance.now())}, and nothing is left behind.\n`);
    return 0;
  } catch (error) {
    await interrupted;
    out(`\n${paint("red", "✗ The demo failed:")} ${messageOf(error)}\n`);
    return 1;
  }
}

async function demo(home: TestHome): Promise<void> {
  out(paint("bold", "\nAgentCards: one MCP server in front of all the others\n"));
  out(paint("dim", "Everything happens in a temporary folder. Your own files are not touched.\n"));

  const work = `${home.dir}/work`;
  await Deno.mkdir(work);
  await Deno.writeTextFile(`${work}/hello.txt`, "Hello from a file.");
  await Deno.writeTextFile(`${work}/server.log`, logFile());
  await Deno.writeTextFile(`${work}/orders.json`, orderFile());

  heading("Found and indexed", "agentcards init --config claude_desktop_config.json --yes");
  const servers = {
    everything: npmServer("everything"),
    filesystem: npmServer("filesystem", work),
    memory: { ...npmServer("memory"), env: { MEMORY_FILE_PATH: `${work}/memory.jsonl` } },
  };
  const before = await init(home, servers);

  heading("Searched", "what an agent asks for, and the tool it gets");
  const began = performance.now();
  await using client = await connectClient(home);
  const list = (await client.request("tools/list")).result as { tools: Definition[] };
  const ready = performance.now() - began;
  for (const [query, server] of Object.entries(REQUESTS)) await search(client, query, server);

  heading("Called", `through agentcards serve (ready in ${duration(ready)}); a server starts with its first call`);
  const john = { entities: [{ name: "John", entityType: "person", observations: ["likes tea"] }] };
  const log = { path: `${work}/server.log` };
  await call(client, { tool: "everything:get-sum", args: { a: 2, b: 40 } });
  await call(client, { tool: "filesystem:read_text_file", args: { path: `${work}/hello.txt` } });
  await call(client, { tool: "memory:create_entities", args: john });
  const show = (text: string) => `too large: kept as ${handleIn(text)}`;
  const large = await call(client, { tool: "filesystem:read_text_file", args: log, show });
  const part = { handle: handleIn(textOf(large)), path: "text", limit: 38 };
  await call(client, { tool: "agentcards:read_result", args: part });

  heading("Run as one workflow", "three servers, in parallel where possible, journalled step by step");
  const kept = await workflow(client, work);

  heading("Reduced in a cage", "the agent's own TypeScript, with the servers as variables and nothing else");
  const reduced = await code(client, `${work}/orders.json`);

  heading("What the agent has to read", "in tokens (characters / 4)");
  const whole = tokens((await Deno.stat(log.path)).size);
  const rows = [
    {
      what: `${before.length} tool definitions, before anything is done`,
      direct: sizeOf(before),
      ours: sizeOf(list.tools),
    },
    { what: "a log file of 4,000 lines", direct: whole, ours: tokens(textOf(large)) },
    { what: "what its workflow read on the way", ...kept },
    { what: `${number(ORDERS)} orders, of which it wants a line`, ...reduced },
  ];
  const total = (key: "direct" | "ours") => rows.reduce((sum, row) => sum + row[key], 0);
  compare([...rows, { what: "together", direct: total("direct"), ours: total("ours") }]);
}

/** Writes a client's file, moves its servers over and returns all their tools. */
async function init(home: TestHome, servers: Record<string, unknown>): Promise<Definition[]> {
  const file = `${home.dir}/claude_desktop_config.json`;
  await Deno.writeTextFile(file, JSON.stringify({ mcpServers: servers }, null, 2));
  const began = performance.now();
  const report = await json<{ servers: { name: string; probe?: { ok: boolean; tools: number; ms: number } }[] }>(
    home,
    ["init", "--config", file, "--yes", "--json"],
  );
  const took = performance.now() - began;
  for (const { name, probe } of report.servers) {
    if (!probe?.ok) throw new Error(`${name} did not start`);
    done(`${name.padEnd(12)} ${String(probe.tools).padStart(2)} tools`, probe.ms);
  }
  const { tools } = await json<{ tools: Definition[] }>(home, ["tools", "--json"]);
  done(`${report.servers.length} servers   ${tools.length} tools, in one catalogue`, took);
  return tools;
}

async function search(client: RawClient, query: string, server: string): Promise<void> {
  const began = performance.now();
  const found = textOf(await client.call("search_tools", { query, limit: 1 }));
  const took = performance.now() - began;
  const tool = /^[\w.-]+:[\w.-]+/.exec(found)?.[0];
  if (!tool?.startsWith(`${server}:`)) throw new Error(`“${query}” found ${tool ?? "nothing"}`);
  done(`${`“${query}”`.padEnd(37)}→ ${tool}`, took);
}

interface Call {
  readonly tool: string;
  readonly args: Message;
  readonly show?: (text: string) => string;
}

async function call(client: RawClient, { tool, args, show = oneLine }: Call): Promise<ToolResult> {
  const began = performance.now();
  const result = await client.use(tool, args);
  const took = performance.now() - began;
  if (result.isError) throw new Error(`${tool}: ${textOf(result)}`);
  done(`${tool.padEnd(26)}→ ${cut(show(textOf(result)), 38)}`, took);
  return result;
}

interface WorkflowAnswer {
  readonly status: string;
  readonly workflow_id: string;
  readonly results: Record<string, unknown>;
  readonly tasks: { id: string; status: string; ms: number; bytes: number; error: string | null }[];
  readonly stats: { wall_ms: number; critical_path_ms: number; sequential_ms: number; tokens_kept: number };
}

/** Reads, waits and writes on three servers at once; returns what that would have cost an agent, and what it did cost. */
async function workflow(client: RawClient, work: string): Promise<{ direct: number; ours: number }> {
  const slow = "everything:trigger-long-running-operation";
  const tasks = [
    { id: "log", tool: "filesystem:read_text_file", arguments: { path: `${work}/server.log` } },
    { id: "files", tool: "filesystem:list_directory", arguments: { path: work } },
    { id: "weather", tool: slow, arguments: { duration: 1, steps: 2 } },
    { id: "traffic", tool: slow, arguments: { duration: 1.2, steps: 2 } },
    { id: "people", tool: "memory:read_graph", arguments: {} },
    {
      id: "report",
      tool: "filesystem:write_file",
      arguments: {
        path: `${work}/report.txt`,
        content: "$OUTPUT[files].content\n$OUTPUT[weather]\n$OUTPUT[traffic]\nKnown: $OUTPUT[people].entities[0].name",
      },
      depends_on: ["log"],
    },
    {
      id: "read",
      tool: "filesystem:read_text_file",
      arguments: { path: `${work}/report.txt` },
      depends_on: ["report"],
    },
  ];
  const text = textOf(await client.call("run_workflow", { tasks }));
  if (!text.startsWith("{")) throw new Error(text);
  const { status, results, stats, tasks: lines } = JSON.parse(text) as WorkflowAnswer;
  if (status !== "completed") throw new Error(`the workflow ${status}: ${text}`);
  for (const { id, ms, bytes } of lines) {
    const tool = tasks.find((task) => task.id === id)!.tool;
    done(`${id.padEnd(8)} ${tool.padEnd(42)} ${`${number(bytes)} B`.padStart(12)}`, ms);
  }
  const report = JSON.stringify(results.read);
  if (!report.includes("Known: John")) throw new Error(`the report is not there: ${report}`);
  out(
    `  ${paint("bold", `${duration(stats.wall_ms)} instead of ${duration(stats.sequential_ms)} one by one`)}: ` +
      `${(stats.sequential_ms / stats.wall_ms).toFixed(1)} times faster. ` +
      `${number(stats.tokens_kept)} tokens never reached the agent.\n`,
  );
  return { direct: stats.tokens_kept + tokens(text), ours: tokens(text) };
}

/** Fetches records, adds them up where they are, and returns one line. */
async function code(client: RawClient, path: string): Promise<{ direct: number; ours: number }> {
  const source = [
    `const { content } = await filesystem.read_text_file({ path: ${JSON.stringify(path)} });`,
    "const orders: { customer: string; cents: number }[] = JSON.parse(content);",
    "const sums = new Map<string, number>();",
    "for (const { customer, cents } of orders) sums.set(customer, (sums.get(customer) ?? 0) + cents);",
    "const [best, cents] = [...sums].sort((a, b) => b[1] - a[1])[0];",
    "return `${orders.length} orders of ${sums.size} customers; most by ${best}: ${(cents / 100).toFixed(2)}`;",
  ];
  for (const line of source) out(paint("dim", `    ${cut(line.replace(path, "orders.json"), 100)}\n`));
  const began = performance.now();
  const text = textOf(await client.call("execute_code", { code: source.join("\n"), options: { typecheck: true } }));
  const took = performance.now() - began;
  const { result, error, metrics } = JSON.parse(text);
  if (error) throw new Error(`the code failed: ${error.message}`);
  done(`→ ${result}`, took);
  out(
    `  ${
      paint("bold", `${number(metrics.bytes_in)} bytes in, ${number(metrics.bytes_out)} out`)
    }; the code itself ran for ` +
      `${duration(metrics.ms)}, after its types were checked.\n`,
  );
  return { direct: tokens(metrics.bytes_in), ours: tokens(text) };
}

function handleIn(text: string): string {
  const handle = /stored as (\w+)/.exec(text)?.[1];
  if (!handle) throw new Error("the large answer was not kept under a handle");
  return handle;
}

interface Compared {
  readonly what: string;
  readonly direct: number;
  readonly ours: number;
}

function compare(rows: readonly Compared[]): void {
  const line = (what: string, ...cells: string[]) =>
    `  ${what.padEnd(45)}${cells.map((cell) => cell.padStart(11)).join("")}\n`;
  out(paint("dim", line("", "without", "with", "not read")));
  for (const { what, direct, ours } of rows) {
    const text = line(what, number(direct), number(ours), number(direct - ours));
    out(what === "together" ? paint("bold", text) : text);
  }
}

function heading(title: string, how: string): void {
  out(`\n${paint("bold", title)}  ${paint("dim", how)}\n`);
}

function done(what: string, ms: number): void {
  out(`  ${paint("green", "✓")} ${what.padEnd(68)}${paint("dim", duration(ms).padStart(8))}\n`);
}

/** Runs a command of ours and reads what it prints. */
async function json<T>(home: TestHome, args: string[]): Promise<T> {
  const { code, stdout, stderr } = await home.run(args);
  if (code !== 0) throw new Error(`agentcards ${args[0]} ended with code ${code}: ${stderr || stdout}`);
  return JSON.parse(stdout) as T;
}

/** What an agent reads of tools. */
function sizeOf(tools: readonly Definition[]): number {
  return tools.reduce(
    (sum, { name, description, inputSchema }) => sum + tokens(JSON.stringify({ name, description, inputSchema })),
    0,
  );
}

function logFile(): string {
  const line = (_: unknown, i: number) =>
    `2026-01-01T00:${String(Math.floor(i / 60) % 60).padStart(2, "0")}:${String(i % 60).padStart(2, "0")}Z ` +
    `GET /orders/${i * 7919 % 10_000} ${i % 97 ? 200 : 500} ${i * 31 % 400} ms`;
  return Array.from({ length: LOG_LINES }, line).join("\n");
}

function orderFile(): string {
  const order = (_: unknown, i: number) => ({
    id: `order-${i + 1}`,
    customer: `customer ${1 + i * 7919 % 41}`,
    cents: 500 + i * 104_729 % 20_000,
    note: "to be delivered to the usual place, before noon",
  });
  return JSON.stringify(Array.from({ length: ORDERS }, order));
}

/** Ctrl-C leaves nothing behind either. */
function onInterrupt(home: TestHome): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => interrupted ??= endHome(home).then(() => Deno.exit(130)));
  }
}
