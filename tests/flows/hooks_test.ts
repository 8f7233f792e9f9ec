// Hooks of a client: installed by the command line, reported over the client's own connection, kept as rows.
import assert from "node:assert/strict";
import { locateHome } from "../../src/config/home.ts";
import { parseFile } from "../../src/config/clients/parse.ts";
import { askEngine } from "../../src/control/start.ts";
import { HOOK_TOOL } from "../../src/model/client/hook.ts";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { createTestHome, endProcess, PROGRAM, type TestHome, testServer, until } from "../fixtures/gateway.ts";
import { createRepository } from "../fixtures/repository.ts";

const SETTINGS = `// my settings
{
  "model": "opus", // the good one
  "hooks": {
    "Stop": [
      { "hooks": [{ "type": "command", "command": "say done" }] }
    ]
  },
}
`;

interface Hook {
  readonly type: string;
  readonly timeout: number;
  readonly command?: string;
  readonly input?: Record<string, string>;
}

interface Installed extends AsyncDisposable {
  readonly home: TestHome;
  readonly settings: string;
  /** Reports an event as the client does: with the input of its entry, the templates filled in. */
  report(client: RawClient, event: string, values?: Record<string, string>): Promise<Record<string, unknown>>;
  status(): Promise<Status>;
  hooks(event: string): Hook[];
}

interface Status {
  readonly files: readonly { path: string; events: string[]; works: boolean }[];
  readonly figures: { total: number; events: Record<string, number> };
  readonly hints: { given: number; used: number };
  readonly events: readonly {
    event: string;
    tool: string | null;
    isDirect: boolean;
    content: Record<string, string>;
  }[];
}

async function install(): Promise<Installed> {
  const base = await createTestHome({
    servers: { kit: testServer("kit") },
    policy: { deny: ["client:WebFetch"], approve: ["client:Bash"] },
    secrets: { also: ["PIN_CODE"] },
  });
  const user = `${base.dir}/user`;
  const settings = `${user}/.claude/settings.json`;
  await Deno.mkdir(`${user}/.claude`, { recursive: true });
  await Deno.writeTextFile(settings, SETTINGS);
  await Deno.writeTextFile(`${base.dir}/secrets.env`, "API_TOKEN=tkn-3f9a8b7c6d5e\n", { mode: 0o600 });
  const env = { HOME: user, CLAUDE_CONFIG_DIR: "" };
  const home: TestHome = { ...base, run: (args, options) => base.run(args, { ...options, env }) };
  const { code, stderr } = await home.run(["hook", "install"]);
  assert.equal(code, 0, stderr);
  const written = () => {
    return parseFile(Deno.readTextFileSync(settings), "json") as { hooks: Record<string, { hooks: Hook[] }[]> };
  };
  const hooks = (event: string) => written().hooks[event]!.flatMap((group) => group.hooks);
  return {
    home,
    settings,
    hooks,
    async report(client, event, values = {}) {
      const { input } = hooks(event).find(({ type }) => type === "mcp_tool")!;
      const filled = Object.entries(input!).map(([key, text]) => [
        key,
        text.replace(/^\$\{(.*)\}$/, (_, name) => values[name] ?? ""),
      ]);
      const params = { name: HOOK_TOOL, arguments: Object.fromEntries(filled) };
      return (await client.request("tools/call", params)).result as Record<string, unknown>;
    },
    async status() {
      const { stdout, stderr } = await home.run(["hook", "status", "--json"]);
      assert.ok(stdout.startsWith("{"), stderr);
      return JSON.parse(stdout);
    },
    [Symbol.asyncDispose]: () => base[Symbol.asyncDispose](),
  };
}

Deno.test("hooks report what a client does, answer where they may, and leave its settings byte for byte", async (t) => {
  await using installed = await install();
  const { home, report, status, hooks } = installed;
  await using client = await connectClient(home, { args: ["serve", "--client", "claude-code"] });

  await t.step("entries wait 2 s at the most, and tools of our own are left out", () => {
    for (const event of ["UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PermissionDenied", "Stop"]) {
      const hook = hooks(event).find(({ type }) => type === "mcp_tool")!;
      assert.equal(hook.timeout, 2, event);
    }
    assert.ok(hooks("Stop").some(({ command }) => command === "say done"));
    assert.ok(!new RegExp(JSON.parse(JSON.stringify(matcherOf(installed)))).test("mcp__agentcards__call_tool"));
  });

  await t.step("the tool is on no list, and only a hook with the key is heard", async () => {
    const { result } = await client.request("tools/list") as { result: { tools: { name: string }[] } };
    assert.ok(!result.tools.some(({ name }) => name === HOOK_TOOL));
    await until("the engine answers", async () => textOf(await client.use("kit:echo", { text: "up" })) === "kit: up");
    await client.request("tools/call", { name: HOOK_TOOL, arguments: { key: "guessed", event: "Stop" } });
    for (const tool of [HOOK_TOOL, `agentcards:${HOOK_TOOL}`]) {
      assert.equal((await client.use(tool, { key: keyOf(installed), event: "Stop" })).isError, true, tool);
    }
    const code = `return await agentcards.${HOOK_TOOL}({ key: "${keyOf(installed)}", event: "Stop" })`;
    const ran = await client.call("execute_code", { code });
    assert.match(textOf(ran), /Error/);
    assert.equal((await status()).figures.total, 0);
  });

  await t.step("events are rows, without secrets and bounded", async () => {
    const used = {
      tool_name: "Bash",
      tool_input: '{"command":"ls"}',
      tool_response: "tkn-3f9a8b7c6d5e" + "x".repeat(20_000),
    };
    assert.deepEqual(await report(client, "PostToolUse", used), { content: [] });
    await report(client, "UserPromptSubmit", { prompt: "Tidy this folder" });
    await report(client, "Stop");
    const { figures, events } = await status();
    assert.deepEqual(figures.events, { PostToolUse: 1, Stop: 1, UserPromptSubmit: 1 });
    const { stdout } = await home.run(["hook", "status", "--json"]);
    assert.equal(JSON.parse(stdout).files[0].works, true);
    assert.equal(events.length, 1);
    const rows = await rowsOf(home);
    const row = rows.find(({ event }) => event === "PostToolUse")!;
    assert.equal(row.tool, "Bash");
    assert.ok(row.isDirect);
    assert.ok(row.content.output!.length <= 8_000 && !row.content.output!.includes("tkn-3f9a8b7c6d5e"));
  });

  await t.step("rules about the client's own tools are answered, others left to the client", async () => {
    const verdict = async (tool_name: string) => {
      const { content } = await report(client, "PreToolUse", { tool_name, tool_input: "{}" }) as {
        content: { text: string }[];
      };
      return content.length === 0 ? undefined : JSON.parse(content[0]!.text).hookSpecificOutput.permissionDecision;
    };
    assert.equal(await verdict("WebFetch"), "deny");
    assert.equal(await verdict("Bash"), "ask");
    assert.equal(await verdict("Read"), undefined);
  });

  await t.step("a prompt that asks for a saved workflow gets one line that names it", async () => {
    const folder = `${home.dir}/workflows`;
    await Deno.mkdir(folder, { recursive: true });
    const tasks = 'tasks:\n  - { id: a, tool: "kit:echo", arguments: { text: "$INPUT.week" } }\n';
    const parameters = "parameters: { type: object, properties: { week: { type: string } }, required: [week] }\n";
    await Deno.writeTextFile(
      `${folder}/report.yaml`,
      `description: weekly report of open issues\n${parameters}${tasks}`,
    );
    const hint = async (prompt: string) => {
      const { content } = await report(client, "UserPromptSubmit", { prompt }) as { content: { text: string }[] };
      return content.length === 0 ? undefined : JSON.parse(content[0]!.text).hookSpecificOutput.additionalContext;
    };
    assert.match(await hint("Please make the weekly report of the open issues for week 12"), /workflow:report.*week/);
    assert.equal(textOf(await client.use("workflow:report", { week: "12" })).includes("completed"), true);
    assert.equal(await hint("Why is the sky blue?"), undefined);
    const { hints } = await status();
    assert.deepEqual([hints.given, hints.used], [1, 1]);
  });

  await t.step("without an engine an event waits in a file, and the client waits for nothing", async () => {
    const before = (await rowsOf(home)).length;
    Deno.kill((await home.enginePid())!, "SIGSTOP");
    const began = performance.now();
    for (let i = 0; i < 20; i++) await report(client, "PostToolUse", { tool_name: `T${i}` });
    assert.ok(performance.now() - began < 1_000, "a hung engine delays nobody");
    await endProcess((await home.enginePid())!, "SIGKILL");
    await until("an engine takes the events up", async () => (await rowsOf(home)).length === before + 20);
  });

  await t.step("the command of session events drops a file that is no word of the user", async () => {
    const { command } = hooks("SessionStart")[0]!;
    const child = new Deno.Command("sh", { args: ["-c", command!], stdin: "piped", stdout: "piped" }).spawn();
    const writer = child.stdin.getWriter();
    const said = { hook_event_name: "SessionStart", session_id: "s-1", cwd: "/work", prompt: "I, the user" };
    await writer.write(new TextEncoder().encode(JSON.stringify(said)));
    await writer.close();
    const { code, stdout } = await child.output();
    assert.deepEqual([code, stdout.length], [0, 0]);
    const found = async () => (await rowsOf(home)).find(({ event }) => event === "SessionStart");
    await until("the file becomes a row", async () => await found() !== undefined);
    assert.equal((await found())!.isDirect, false);
  });

  await t.step("remove restores the file, or takes out only our hooks where it was edited", async () => {
    const { settings } = installed;
    const edited = (await Deno.readTextFile(settings)).replace('"opus"', '"sonnet"');
    await Deno.writeTextFile(settings, edited);
    assert.equal((await home.run(["hook", "remove"])).code, 0);
    assert.equal(await Deno.readTextFile(settings), SETTINGS.replace('"opus"', '"sonnet"'));
    await Deno.writeTextFile(settings, SETTINGS);
    await Deno.chmod(settings, 0o640);
    await home.run(["hook", "install"]);
    await home.run(["hook", "install"]);
    await home.run(["hook", "remove"]);
    assert.equal(await Deno.readTextFile(settings), SETTINGS);
    assert.equal((await Deno.stat(settings)).mode! & 0o777, 0o640);
    await home.run(["hook", "install", "--client", "gemini"]);
    await home.run(["hook", "remove", "--client", "gemini"]);
    await assert.rejects(Deno.stat(`${home.dir}/user/.gemini/settings.json`), Deno.errors.NotFound);
    assert.equal((await home.run(["hook", "status"])).stdout.startsWith("No hooks"), true);
  });
});

function matcherOf({ settings }: Installed): string {
  return /"matcher": ("[^"]*")/.exec(Deno.readTextFileSync(settings))![1]!.slice(1, -1).replaceAll("\\\\", "\\");
}

function keyOf({ hooks }: Installed): string {
  return hooks("Stop").find(({ type }) => type === "mcp_tool")!.input!.key!;
}

async function rowsOf(home: TestHome): Promise<Status["events"]> {
  const place = { home: locateHome(home.env), cwd: home.dir, env: home.env, program: PROGRAM };
  const { events } = await askEngine(place, { method: "hooks", params: { limit: 1_000 } });
  return events as unknown as Status["events"];
}

Deno.test("what a client did since a prompt is taken back, whichever tool it used", async () => {
  await using repository = await createRepository({ "a.txt": "a\n" });
  await using installed = await install();
  const { home, report } = installed;
  await using client = await connectClient(home, {
    args: ["serve", "--client", "claude-code"],
    cwd: repository.dir,
  });
  await until("the engine answers", async () => textOf(await client.use("kit:echo", { text: "up" })) === "kit: up");
  const recorded = async (kind: string) => {
    const names = await Array.fromAsync(Deno.readDir(`${home.dir}/snapshots/prompts`)).catch(() => []);
    const texts = await Promise.all(
      names.map(({ name }) => Deno.readTextFile(`${home.dir}/snapshots/prompts/${name}`)),
    );
    return texts.join("").split(`{"kind":"${kind}"`).length - 1;
  };
  const turn = async (number: number, work: () => Promise<unknown>) => {
    await report(client, "UserPromptSubmit", { prompt: `Prompt ${number}`, session_id: "conversation" });
    await until(`the files before prompt ${number}`, async () => await recorded("before") === number);
    await work();
    await report(client, "Stop", { session_id: "conversation" });
    await until(`the files after prompt ${number}`, async () => await recorded("after") === number);
  };
  await turn(1, () => repository.write("a.txt", "by the first\n"));
  await repository.write("b.txt", "by a person\n");
  await turn(2, () => repository.write("made.txt", "by the second\n"));
  const undo = (...args: string[]) => home.run(["undo", "--json", ...args], { cwd: repository.dir });
  const looked = JSON.parse((await undo("--dry-run")).stdout);
  assert.deepEqual(looked.files, [{ path: "made.txt", change: "remove" }]);
  assert.equal(JSON.parse((await undo("--yes")).stdout).state, "undone");
  assert.equal(JSON.parse((await undo("--yes")).stdout).state, "undone", "then the prompt before");
  assert.deepEqual((await repository.git("status", "--porcelain")).trim(), "?? b.txt");
  const none = await undo("--yes");
  assert.equal(none.code, 1);
  assert.match(none.stderr, /No prompt is recorded/);
});
