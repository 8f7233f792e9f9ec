// deno task e2e:claude [--json]: the real Claude Code, with a stand-in for its model, in front of us. What reaches the model
// is compared byte for byte. Exits 1 when anything is not as it should be, 0 where the client cannot be installed.
import assert from "node:assert/strict";
import { parseArgs } from "node:util";
import { thisTerminal } from "../../src/cli/screen/terminal.ts";
import { tokens } from "../../src/model/text.ts";
import {
  AS_INSTALLED,
  createTestHome,
  endProcess,
  PROGRAM,
  ROOT,
  sleep,
  type TestHome,
  testServer,
  until,
} from "../fixtures/gateway.ts";
import { installTools } from "../fixtures/npm_tools.ts";
import { fakeApi, type ModelRequest } from "./fake_api.ts";

const PREFIX = "mcp__agentcards__";
const BUDGET = 700;
const SERVERS = {
  kit: testServer("kit"),
  modern: testServer("kit", "--modern", "--name=modern"),
  pictures: testServer("conformance"),
};

const { values } = parseArgs({ args: Deno.args, options: { json: { type: "boolean" } } });
const { out } = thisTerminal();
const tools = await installTools("claude", ["@anthropic-ai/claude-code@2.1.325"]).catch((error) => {
  out(`skipped: ${error.message}\n`);
  Deno.exit(0);
});
const claude = `${tools}/node_modules/.bin/claude`;
const report: Record<string, unknown> = {};

const note = (what: string, value: unknown = true) => {
  report[what] = value;
  if (!values.json) out(`${what}: ${typeof value === "string" ? value : JSON.stringify(value)}\n`);
};

const asking = (url: string, search: "true" | "false") => ({
  ANTHROPIC_BASE_URL: url,
  ANTHROPIC_API_KEY: "made-up",
  ENABLE_TOOL_SEARCH: search,
});
const PROMPT = ["-p", "go", "--mcp-config", "mcp.json", "--strict-mcp-config", "--allowedTools", `${PREFIX}*`];

await conversation();
await standingCost();
await configuration();
await hooks();
if (values.json) out(JSON.stringify(report) + "\n");

interface Claude {
  readonly home: TestHome;
  readonly args: readonly string[];
  readonly env?: Record<string, string>;
  /** Prompts that are typed one after the other, with a pause before each. */
  readonly prompts?: readonly string[];
}

/** Runs Claude Code in a home where it has never been. */
async function run({ home, args, env = {}, prompts }: Claude): Promise<string> {
  const child = new Deno.Command(claude, {
    args: [...args],
    cwd: home.dir,
    clearEnv: true,
    env: {
      PATH: `${tools}/node_modules/.bin:${Deno.env.get("PATH")}`,
      HOME: `${home.dir}/user`,
      AGENTCARDS_HOME: home.dir,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
      ...env,
    },
    stdin: prompts ? "piped" : "null",
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout(120_000),
  }).spawn();
  const typing = prompts && type(child.stdin, prompts);
  const { code, stdout, stderr } = await child.output();
  await typing;
  const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert.equal(code, 0, text);
  return text;
}

/** A person who types: the gateway is connected by the second prompt. */
async function type(stdin: WritableStream<Uint8Array>, prompts: readonly string[]): Promise<void> {
  const writer = stdin.getWriter();
  for (const text of prompts) {
    const message = { role: "user", content: [{ type: "text", text }] };
    await writer.write(new TextEncoder().encode(`${JSON.stringify({ type: "user", message })}\n`));
    await sleep(5_000);
  }
  await writer.close();
}

async function startHome(more: Record<string, unknown> = {}): Promise<TestHome> {
  const home = await createTestHome({ servers: SERVERS, ...more }, AS_INSTALLED);
  await Deno.mkdir(`${home.dir}/user`);
  await Deno.writeTextFile(
    `${home.dir}/mcp.json`,
    JSON.stringify({
      mcpServers: {
        agentcards: {
          command: Deno.execPath(),
          args: ["run", "-A", "--no-config", `${ROOT}tests/e2e/tap.ts`, `${home.dir}/wire`, ...PROGRAM, "serve"],
          env: { AGENTCARDS_HOME: home.dir },
        },
      },
    }),
  );
  return home;
}

/** A conversation of four calls, with the engine killed in the middle of it. */
async function conversation(): Promise<void> {
  await using home = await startHome();
  const echo = (text: string) => ({ name: `${PREFIX}call_tool`, input: { tool: "kit:echo", arguments: { text } } });
  await using api = fakeApi([
    echo("first"),
    {
      name: `${PREFIX}run_workflow`,
      input: {
        tasks: [
          { id: "sum", tool: "kit:add", arguments: { a: 2, b: 3 } },
          { id: "say", tool: "modern:echo", arguments: { text: "$OUTPUT[sum].sum" } },
        ],
      },
    },
    {
      ...echo("after the engine died"),
      async before() {
        await endProcess((await home.enginePid())!, "SIGKILL");
        // A call in the very moment of its end would be told so, and not be made again.
        await sleep(200);
      },
    },
    { name: `${PREFIX}call_tool`, input: { tool: "pictures:test_image_content" } },
    { name: `${PREFIX}call_tool`, input: { tool: "kit:fail" } },
  ]);
  await run({ home, args: PROMPT, env: asking(api.url, "false") });
  const [first, workflow, again, contents, failed] = api.results();
  assert.deepEqual(first!.content, [{ type: "text", text: "kit: first" }]);
  const answer = JSON.parse((workflow!.content as { text: string }[])[0]!.text);
  assert.deepEqual([answer.status, answer.results], ["completed", { say: "modern: 5" }]);
  assert.deepEqual(again!.content, [{ type: "text", text: "kit: after the engine died" }]);
  const kinds = (contents!.content as { type: string }[]).map(({ type }) => type);
  assert.ok(kinds.includes("image"), `an image is an image: ${kinds}`);
  assert.equal(failed!.is_error, true);
  assert.match(JSON.stringify(failed!.content), /it did not work/);
  note("calls answered, byte for byte", api.results().length);
  note("survived the end of its engine");

  const wire = (await Deno.readTextFile(`${home.dir}/wire`)).trim().split("\n");
  const [asked, said] = ["> ", "< "].map((mark) =>
    wire.filter((line) => line.startsWith(mark)).map((line) => JSON.parse(line.slice(2)) as Record<string, unknown>)
  );
  assert.equal(asked![0]!.method, "server/discover");
  assert.ok(!asked!.some(({ method }) => method === "initialize"), "no fall-back to the older protocol");
  assert.ok(said!.every(({ jsonrpc }) => jsonrpc === "2.0"), "nothing but the protocol on stdout");
  note("protocol", "2026-07-28, and nothing else on stdout");
}

/** What we cost a conversation in which nothing is called. */
async function standingCost(): Promise<void> {
  for (const search of ["false", "true"] as const) {
    await using home = await startHome();
    await using api = fakeApi([]);
    await run({ home, args: PROMPT, env: asking(api.url, search) });
    const request = api.requests.find(({ tools }) => tools?.some(({ name }) => name.startsWith(PREFIX)));
    assert.ok(request, "the model is told of our tools");
    const ours = request.tools!.filter(({ name }) => name.startsWith(PREFIX));
    const definitions = ours.map(({ name, description, input_schema }) => ({ name, description, input_schema }));
    const cost = tokens(JSON.stringify(definitions) + instructionsIn(request));
    assert.ok(cost <= BUDGET, `${cost} tokens`);
    if (search === "false") assert.equal(ours.length, 5);
    const others = request.tools!.filter(({ name }) => /McpResource/.test(name)).map(({ name }) => name);
    note(`standing cost, tool search ${search === "true" ? "on" : "off"}`, {
      tools: ours.map(({ name }) => name.slice(PREFIX.length)),
      tokens: cost,
      ...others.length > 0 && { of_the_client_for_resources: others },
    });
  }
}

function instructionsIn({ system, messages }: ModelRequest): string {
  const text = JSON.stringify([system, messages]);
  return /All of the user's MCP servers stand behind[^"\\]*/.exec(text)?.[0] ?? "";
}

/** `agentcards init` with the real client's own files, written by the client itself. */
async function configuration(): Promise<void> {
  await using home = await createTestHome({}, AS_INSTALLED);
  await Deno.mkdir(`${home.dir}/user`);
  await run({ home, args: ["mcp", "add-json", "-s", "user", "kit", JSON.stringify(SERVERS.kit)] });
  const file = `${home.dir}/user/.claude.json`;
  const before = JSON.parse(await Deno.readTextFile(file)).mcpServers;
  const env = { HOME: `${home.dir}/user`, PATH: `${tools}/node_modules/.bin:${Deno.env.get("PATH")}` };
  const init = await home.run(["init", "--yes", "--json"], { env });
  assert.equal(init.code, 0, init.stderr + init.stdout);
  const list = await run({ home, args: ["mcp", "list"] });
  assert.match(list, /agentcards:.*✔|agentcards:.*Connected/, list);
  assert.doesNotMatch(list, /^kit:/m);
  assert.match(await run({ home, args: ["mcp", "get", "agentcards"] }), /Status:.*(✔|Connected)/);
  note("claude mcp list", list.split("\n").find((line) => line.startsWith("agentcards"))!.replace(/:.*- /, ": … - "));
  const tools_now = await home.run(["tools", "kit", "--json"], { env });
  assert.match(tools_now.stdout, /kit:echo/);
  const undo = await home.run(["init", "--undo", "--yes"], { env });
  assert.equal(undo.code, 0, undo.stderr);
  assert.deepEqual(JSON.parse(await Deno.readTextFile(file)).mcpServers, before);
  note("init moved its servers over, and undo put them back");
}

/** Hooks in the real client's own settings: events arrive, a rule stops a tool of the client, a prompt gets its line. */
async function hooks(): Promise<void> {
  await using home = await startHome({ policy: { deny: ["client:Bash"] } });
  await Deno.mkdir(`${home.dir}/workflows`);
  const tasks = 'tasks: [{ id: a, tool: "kit:echo", arguments: { text: hello } }]';
  await Deno.writeTextFile(`${home.dir}/workflows/greet.yaml`, `description: greet the whole office\n${tasks}\n`);
  const env = { HOME: `${home.dir}/user`, CLAUDE_CONFIG_DIR: "" };
  const install = await home.run(["hook", "install"], { env });
  assert.equal(install.code, 0, install.stderr);
  const stream = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
  const args = ["-p", ...stream, ...PROMPT.slice(2), "Bash", "Glob"];
  await using api = fakeApi([
    { name: "Bash", input: { command: "echo hi", description: "says hi" } },
    { name: "Glob", input: { pattern: "*.json" } },
  ]);
  // A new database takes its time; a line of context does not wait for it.
  const status = async () => JSON.parse((await home.run(["hook", "status", "--json"], { env })).stdout);
  await status();
  await run({ home, args, env: asking(api.url, "false"), prompts: ["wake up", "please greet the whole office"] });
  const stopped = api.results().find(({ content }) => JSON.stringify(content).includes("policy.deny of AgentCards"));
  await until("the events are rows", async () => (await status()).figures.events.SessionEnd >= 1);
  const { figures } = await status();
  const hinted = api.requests.some(({ messages }) => JSON.stringify(messages).includes("workflow:greet"));
  note("hooks: events", figures.events);
  assert.ok(stopped, "the rule stops the client's own shell");
  note("hooks: a rule stops the client's own shell");
  assert.ok(figures.events.UserPromptSubmit >= 1 && figures.events.Stop >= 1 && figures.events.SessionStart >= 1);
  assert.ok(hinted, "the line of context reaches the model");
  note("hooks: a prompt gets its line");
  assert.equal((await home.run(["hook", "remove"], { env })).code, 0);
}
