// deno task e2e:servers [--json]: fifteen real servers of npm through one AgentCards, started lazily, all reaped.
// Exits 1 when a server fails, a process is left, or tools/list starts a child; a missing network is no failure of ours.
import { parseArgs } from "node:util";
import type { EngineReport } from "../../src/control/mod.ts";
import { table } from "../../src/cli/screen/table.ts";
import { messageOf } from "../../src/model/errors.ts";
import { oneLine } from "../../src/model/text.ts";
import { ask, endHome, processesOf, rssMb } from "../eval/startup.ts";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { AS_INSTALLED, createTestHome, sleep, type TestHome } from "../fixtures/gateway.ts";

/** How a server starts, and one call that changes nothing. Every credential is made up. */
interface Entry {
  readonly name: string;
  readonly run: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A package to run it with. */
  readonly needs?: string;
  /** Without one the server is only started: all its tools need its service. */
  readonly call?: readonly [tool: string, args: Record<string, unknown>];
}

const OFFICIAL = "@modelcontextprotocol/server-";
const WORK = await Deno.makeTempDir({ prefix: "ac-e2e-" });
const THOUGHT = { thought: "one step", thoughtNumber: 1, totalThoughts: 1, nextThoughtNeeded: false };
const ENTRIES: readonly Entry[] = [
  { name: "filesystem", run: [`${OFFICIAL}filesystem@2026.8.31`, WORK], call: ["list_allowed_directories", {}] },
  {
    name: "memory",
    run: [`${OFFICIAL}memory@2026.8.31`],
    env: { MEMORY_FILE_PATH: `${WORK}/memory.jsonl` },
    call: ["read_graph", {}],
  },
  { name: "thinking", run: [`${OFFICIAL}sequential-thinking@2026.8.31`], call: ["sequentialthinking", THOUGHT] },
  {
    name: "github",
    run: [`${OFFICIAL}github@2025.4.8`],
    env: { GITHUB_PERSONAL_ACCESS_TOKEN: "made-up" },
    call: ["get_issue", {}],
  },
  {
    name: "slack",
    run: [`${OFFICIAL}slack@2025.4.25`],
    env: { SLACK_BOT_TOKEN: "xoxb-made-up", SLACK_TEAM_ID: "T0000000" },
    call: ["slack_get_user_profile", {}],
  },
  { name: "playwright", run: ["@playwright/mcp@0.0.83", "--headless"], call: ["browser_close", {}] },
  {
    name: "chrome",
    run: ["chrome-devtools-mcp@1.11.0", "--headless", "--isolated"],
    env: { CHROME_DEVTOOLS_MCP_NO_USAGE_STATISTICS: "1" },
    call: ["select_page", {}],
  },
  { name: "context7", run: ["@upstash/context7-mcp@4.1.1"], call: ["query-docs", {}] },
  { name: "notion", run: ["@notionhq/notion-mcp-server@2.5.2"], env: { NOTION_TOKEN: "ntn_made-up" } },
  {
    name: "firecrawl",
    run: ["firecrawl-mcp@3.22.2"],
    env: { FIRECRAWL_API_KEY: "fc-made-up" },
    call: ["firecrawl_scrape", {}],
  },
  {
    name: "sentry",
    run: ["@sentry/mcp-server@0.36.0", "--access-token=made-up"],
    env: { SENTRY_DISABLE: "1" },
    call: ["find_teams", {}],
  },
  {
    name: "mongodb",
    run: ["mongodb-mcp-server@3.0.4", "--telemetry", "disabled"],
    env: { MDB_MCP_CONNECTION_STRING: "mongodb://127.0.0.1:27017/db" },
    call: ["list-connections", {}],
  },
  {
    name: "kubernetes",
    run: ["kubernetes-mcp-server@0.0.67"],
    env: { KUBECONFIG: `${WORK}/kubeconfig` },
    call: ["configuration_view", {}],
  },
  {
    name: "git",
    run: ["@cyanheads/git-mcp-server@2.15.3"],
    call: ["git_wrapup_instructions", { acknowledgement: "yes" }],
  },
  {
    name: "dbhub",
    run: ["@bytebase/dbhub@1.4.0", "--transport", "stdio", "--demo"],
    // Its demo database is node:sqlite, which Node 20 does not have.
    needs: "node@24.21.0",
    call: ["execute_sql", { sql: "select 1" }],
  },
];

const KUBECONFIG = `apiVersion: v1
kind: Config
clusters: [{ name: none, cluster: { server: "http://127.0.0.1:1" } }]
contexts: [{ name: none, context: { cluster: none, user: none } }]
current-context: none
users: [{ name: none, user: {} }]
`;
const REAPED_WITHIN_MS = 2_000;
const INSTALL_TIMEOUT_MS = 400_000;

type State = "ok" | "refused" | "started" | "failed" | "not installed" | "no network";
interface Row {
  readonly server: string;
  readonly state: State;
  readonly tools: number | null;
  readonly start_ms: number | null;
  readonly call_ms: number | null;
  readonly note: string;
}
interface Sample {
  readonly seconds: number;
  readonly servers: number;
  readonly processes: number;
  readonly servers_mb: number;
  readonly engine_mb: number;
  readonly serve_mb: number;
}

const { values: { json = false } } = parseArgs({ args: Deno.args, options: { json: { type: "boolean" } } });
const began = performance.now();
let interrupted: Promise<never> | undefined;
let code = 1;
try {
  code = await main();
} catch (error) {
  await interrupted;
  say(`failed: ${messageOf(error)}`);
}
await Deno.remove(WORK, { recursive: true });
Deno.exit(code);

async function main(): Promise<number> {
  await Deno.writeTextFile(`${WORK}/kubeconfig`, KUBECONFIG);
  say(`Warming the npx cache with ${ENTRIES.length} packages, so that no start below includes an installation …`);
  const missing: Row[] = [];
  for (const entry of ENTRIES) {
    const row = await install(entry);
    if (row) missing.push(row);
  }
  const installed = ENTRIES.filter(({ name }) => !missing.some(({ server }) => server === name));
  say(`${installed.length} installed in ${seconds()} s.\n`);

  await using home = await createTestHome({ servers: Object.fromEntries(installed.map(serverConfig)) }, AS_INSTALLED);
  onInterrupt(home);
  const client = await connectClient(home);
  const sample = sampler(home, client);
  const samples: Sample[] = [];
  await client.request("tools/list");
  samples.push(await sample());
  const children = samples[0]!.processes;
  const rows: Row[] = [];
  for (const entry of installed) {
    rows.push(await use(home, client, entry));
    samples.push(await sample());
  }
  const before = await processesOf(home.dir);
  const closing = performance.now();
  const closed = client.close();
  let left = before.length;
  do {
    await sleep(50);
    const engine = await home.enginePid();
    left = (await processesOf(home.dir)).filter(({ pid }) => pid !== engine).length;
  } while (left > 0 && performance.now() - closing < REAPED_WITHIN_MS);
  const reaped = Math.round(performance.now() - closing);
  await closed;
  return report({ rows: [...rows, ...missing], samples, children, left, reaped_ms: reaped });
}

function serverConfig({ name, run, env, needs }: Entry): [string, Record<string, unknown>] {
  const program = needs ? [...packages([needs, run[0]!]), binary(run[0]!), ...run.slice(1)] : run;
  // Servers get a cleared environment; the folder in it tells whose process it is.
  const own = { ...env, E2E_HOME: "${AGENTCARDS_HOME}" };
  return [name, { command: "npx", args: ["-y", ...program], env: own, cwd: WORK }];
}

function packages(names: readonly string[]): string[] {
  return names.flatMap((name) => ["-p", name]);
}

/** `@bytebase/dbhub@1.4.0` installs the program `dbhub`. */
function binary(spec: string): string {
  return spec.replace(/^@[^/]+\//, "").replace(/@.*$/, "");
}

/** Installs a package without starting it; a row says why that did not work. */
async function install({ name, run, needs }: Entry): Promise<Row | undefined> {
  const { success, stderr } = await new Deno.Command("npx", {
    args: ["-y", ...packages(needs ? [needs, run[0]!] : [run[0]!]), "-c", "true"],
    cwd: WORK,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
    signal: AbortSignal.timeout(INSTALL_TIMEOUT_MS),
  }).output();
  if (success) return;
  const words = new TextDecoder().decode(stderr);
  const state = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|network/.test(words) ? "no network" : "not installed";
  const note = oneLine(words.split("\n").filter((line) => line.includes("npm error")).join(" "), 60);
  return { server: name, state, tools: null, start_ms: null, call_ms: null, note };
}

async function use(home: TestHome, client: RawClient, { name, call }: Entry): Promise<Row> {
  // Searching one server is what makes an agent's first contact: it starts the server and reads its tools.
  const found = await client.call("search_tools", { query: name, server: name, limit: 1 });
  const known = await serverReport(home, name);
  const base = { server: name, tools: known?.tools ?? null, start_ms: known?.start_ms ?? null, call_ms: null };
  if (!known?.tools) return { ...base, state: "failed", note: oneLine(known?.error ?? textOf(found), 60) };
  if (!call) return { ...base, state: "started", note: "tools listed; every call would need its service" };
  const began = performance.now();
  const result = await client.use(`${name}:${call[0]}`, call[1]).catch((error) => String(error));
  const call_ms = Math.round(performance.now() - began);
  if (typeof result === "string") return { ...base, call_ms, state: "failed", note: oneLine(result, 60) };
  const isRunning = (await serverReport(home, name))?.running;
  const state = !isRunning ? "failed" : result.isError ? "refused" : "ok";
  return { ...base, call_ms, state, note: oneLine(`${call[0]}: ${textOf(result)}`, 60) };
}

async function serverReport(home: TestHome, name: string): Promise<EngineReport["servers"][number] | undefined> {
  return (await ask(home, "status")).servers.find((server) => server.name === name);
}

/** Takes memory and processes at a moment. */
function sampler(home: TestHome, client: RawClient): () => Promise<Sample> {
  let servers = -1;
  return async () => {
    const children = (await processesOf(home.dir)).filter(({ isServer }) => isServer);
    const sizes = await Promise.all(children.map(({ pid }) => rssMb(pid)));
    return {
      seconds: seconds(),
      servers: ++servers,
      processes: children.length,
      servers_mb: Math.round(sizes.reduce((sum, size) => sum + size, 0)),
      engine_mb: Math.round(await rssMb((await home.enginePid())!)),
      serve_mb: Math.round(await rssMb(client.pid)),
    };
  };
}

interface Outcome {
  readonly rows: readonly Row[];
  readonly samples: readonly Sample[];
  readonly children: number;
  readonly left: number;
  readonly reaped_ms: number;
}

function report(outcome: Outcome): number {
  const { rows, samples, children, left, reaped_ms } = outcome;
  const cell = (value: string | number | null) => value === null ? "–" : String(value);
  say(table([
    ["server", "tools", "start ms", "call ms", "state", "note"],
    ...rows.map(({ server, tools, start_ms, call_ms, state, note }) =>
      [server, tools, start_ms, call_ms, state, note].map(cell)
    ),
  ]));
  say(table([
    ["after s", "servers", "processes", "servers MB", "engine MB", "serve MB"],
    ...samples.filter((_, i) => i % 3 === 0).map((sample) => Object.values(sample).map(cell)),
  ]));
  const works = rows.filter(({ state }) => ["ok", "refused", "started"].includes(state)).length;
  const offline = rows.filter(({ state }) => state === "no network").length;
  const uninstalled = rows.filter(({ state }) => state === "not installed").length;
  const tools = rows.reduce((sum, { tools }) => sum + (tools ?? 0), 0);
  say(
    `${works} of ${ENTRIES.length} servers work, ${tools} tools; not installed: ${uninstalled}, no network: ${offline}`,
  );
  say(`children started by tools/list: ${children}; processes left ${reaped_ms} ms after the client closed: ${left}`);
  say("(refused: the server answered that the arguments or the made-up credentials are wrong; that is a round trip)");
  const isGood = works + offline === ENTRIES.length && children === 0 && left === 0;
  if (json) say(JSON.stringify({ works, listed: ENTRIES.length, tools, uninstalled, offline, ...outcome }));
  return isGood ? 0 : 1;
}

/** Ctrl-C leaves nothing behind either. */
function onInterrupt(home: TestHome): void {
  const end = async () => {
    await endHome(home);
    await Deno.remove(WORK, { recursive: true }).catch(() => {});
    return Deno.exit(130);
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, () => interrupted ??= end());
}

function seconds(): number {
  return Math.round((performance.now() - began) / 1_000);
}

function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}
