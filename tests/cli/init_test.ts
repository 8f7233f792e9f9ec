import { deepStrictEqual as assertEquals, match, ok } from "node:assert/strict";
import { join } from "node:path";
import { parse } from "jsonc-parser";
import { init, type InitIo, type InitOptions, type ProbeResult } from "../../src/cli/init/init.ts";
import { locateHome } from "../../src/config/home.ts";
import { parseConfig } from "../../src/config/read.ts";
import { parseSecrets } from "../../src/config/secrets.ts";
import { ROOT } from "../fixtures/gateway.ts";
import { CLIENT_FILES, makeHome, SECRETS, writeFiles } from "../config/clients/client_files.ts";

const OPTIONS: InitOptions = { dryRun: false, project: false, yes: true, undo: false, json: false };

interface World {
  readonly home: string;
  readonly cwd: string;
}

/** What a run of `init` needs, everything it said, and which servers it started. */
function ioFor({ home, cwd }: World, changes: Partial<InitIo> = {}): InitIo & { said: string[]; probed: string[] } {
  const said: string[] = [];
  const probed: string[] = [];
  const env = { HOME: home, PATH: "/usr/bin:/bin" };
  return {
    home: locateHome(env),
    cwd,
    env,
    isTerminal: false,
    color: false,
    out: (text) => void said.push(text),
    err: (text) => void said.push(text),
    confirm: () => Promise.reject(new Error("asked without a terminal")),
    entry: { command: "/opt/agentcards", args: ["serve"] },
    ownTokens: 280,
    probe: (servers) => {
      probed.push(...servers);
      const results = servers.map((server): ProbeResult => ({ server, ok: true, tools: 3, tokens: 1000, ms: 12 }));
      return Promise.resolve(results);
    },
    learn: () => Promise.resolve(),
    machine: { os: "linux", managed: join(home, "managed-mcp.json"), isClaudeRunning: () => Promise.resolve(false) },
    said,
    probed,
    ...changes,
  };
}

/** Every file under a folder: path → text, mode and time of change. */
async function snapshot(root: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for await (const { name, isDirectory } of Deno.readDir(root)) {
    const path = join(root, name);
    if (isDirectory) Object.assign(files, await snapshot(path));
    const { mode, mtime } = await Deno.stat(path);
    files[path] = `${mode} ${mtime?.getTime()} ${isDirectory ? "" : await Deno.readTextFile(path)}`;
  }
  return files;
}

async function textsOf({ home }: World): Promise<Record<string, string>> {
  const paths = Object.keys(CLIENT_FILES).map((path) => join(home, path));
  return Object.fromEntries(await Promise.all(paths.map(async (path) => [path, await Deno.readTextFile(path)])));
}

const modeOf = async (path: string) => (await Deno.stat(path)).mode! & 0o777;
const readConfig = async (path: string) => parseConfig(await Deno.readTextFile(path), path);

Deno.test("init moves the servers of every client and leaves AgentCards in their place", async () => {
  await using world = await makeHome();
  const io = ioFor(world);
  assertEquals(await init(OPTIONS, io), 0, io.said.join(""));
  const { servers } = await readConfig(io.home.config);
  assertEquals(Object.keys(servers!).sort(), [
    "File-System",
    "context7",
    "docs",
    "events",
    "figma-dev",
    "github",
    "github-cursor",
    "linear",
    "notes",
    "notion",
    "off",
    "old-events",
    "oldest",
    "perplexity",
    "plain",
    "remote",
    "resting",
    "signin",
    "sleeping",
    "sso",
    "streaming",
    "surf",
  ]);
  assertEquals(io.probed.length, 18);
  ok(!io.probed.includes("sleeping"));

  const claude = JSON.parse(await Deno.readTextFile(join(world.home, ".claude.json")));
  assertEquals(Object.keys(claude.mcpServers), ["agentcards", "signed", "helper", "socket"]);
  assertEquals(claude.mcpServers.agentcards, {
    type: "stdio",
    command: "/opt/agentcards",
    args: ["serve", "--client", "claude-code"],
  });
  assertEquals(claude.projects[world.cwd].mcpServers, {});
  ok(claude.projects["/somewhere/else"].mcpServers.stranger);
  assertEquals(claude.numStartups, 41);
  match(await Deno.readTextFile(join(world.home, ".config/zed/settings.json")), /"env": \{\}/);
  match(await Deno.readTextFile(join(world.home, ".codex/config.toml")), /\[mcp_servers\.agentcards\]/);

  const said = io.said.join("");
  match(said, /github +3 +12 ms +ready/);
  match(said, /18,000 until now, 280 with AgentCards/);
  match(said, /Undo: +\/opt\/agentcards init --undo/);
  match(said, /signed .*stays: it signs in with OAuth/);
  match(said, /perplexity: needs a value for PERPLEXITY_KEY/);
});

Deno.test("init puts credentials into secrets.env and nowhere else", async () => {
  await using world = await makeHome();
  const io = ioFor(world);
  await init(OPTIONS, io);
  const json = ioFor(world);
  await writeFiles(world.home, { ".cursor/mcp.json": CLIENT_FILES[".cursor/mcp.json"]!("") });
  await init({ ...OPTIONS, json: true }, json);
  const config = await Deno.readTextFile(io.home.config);
  const secrets = parseSecrets(await Deno.readTextFile(io.home.secrets));
  const clients = Object.values(await textsOf(world)).join("");
  for (const [name, secret] of Object.entries(SECRETS)) {
    ok(!config.includes(secret), `${name} is in config.yaml`);
    ok(![...io.said, ...json.said].join("").includes(secret), `${name} was shown`);
    ok(!clients.includes(secret), `${name} is still in a client`);
    ok(Object.values(secrets).includes(secret), `${name} is not in secrets.env`);
  }
  assertEquals(await modeOf(io.home.secrets), 0o600);
  assertEquals(await modeOf(io.home.config), 0o600);
  for await (const { name } of Deno.readDir(io.home.backups)) {
    assertEquals(await modeOf(join(io.home.backups, name)), 0o700);
    assertEquals(await modeOf(join(io.home.backups, name, "manifest.json")), 0o600);
    assertEquals(await modeOf(join(io.home.backups, name, "original")), 0o600);
  }
});

Deno.test("init --undo restores every file byte for byte, modes included", async () => {
  await using world = await makeHome();
  await Deno.chmod(join(world.home, ".cursor/mcp.json"), 0o640);
  const before = await textsOf(world);
  await init(OPTIONS, ioFor(world));
  for (const [path, text] of Object.entries(await textsOf(world))) ok(text !== before[path], path);
  const io = ioFor(world);
  assertEquals(await init({ ...OPTIONS, undo: true, yes: false }, io), 0, io.said.join(""));
  assertEquals(await textsOf(world), before);
  assertEquals(await modeOf(join(world.home, ".cursor/mcp.json")), 0o640);
  const again = ioFor(world);
  await init({ ...OPTIONS, undo: true }, again);
  assertEquals(again.said.join(""), "Nothing to undo.\n");
});

Deno.test("init --undo after somebody else's edit takes out ours, puts back theirs and keeps the edit", async () => {
  await using world = await makeHome();
  await init(OPTIONS, ioFor(world));
  const zed = join(world.home, ".config/zed/settings.json");
  await Deno.writeTextFile(
    zed,
    (await Deno.readTextFile(zed)).replace('"vim_mode": true', '"vim_mode": false /* mine */'),
  );
  const cursor = join(world.home, ".cursor/mcp.json");
  const edited = JSON.parse(await Deno.readTextFile(cursor));
  edited.mcpServers.github = { command: "newer" };
  await Deno.writeTextFile(cursor, JSON.stringify(edited));
  const codex = join(world.home, ".codex/config.toml");
  await Deno.writeTextFile(codex, (await Deno.readTextFile(codex)) + "\n[mine]\nx = 1\n");

  const io = ioFor(world);
  assertEquals(await init({ ...OPTIONS, undo: true }, io), 0, io.said.join(""));
  const text = await Deno.readTextFile(zed);
  match(text, /"vim_mode": false \/\* mine \*\//);
  match(text, /oldest-server/);
  ok(!text.includes("agentcards"));
  const servers = JSON.parse(await Deno.readTextFile(cursor)).mcpServers;
  assertEquals(servers.github, { command: "newer" });
  ok(servers.linear && !servers.agentcards);
  const toml = await Deno.readTextFile(codex);
  ok(toml.includes("[mcp_servers.context7]") && toml.includes("[mine]") && !toml.includes("agentcards"));
});

Deno.test("init --dry-run leaves every byte, mode and time of the home untouched", async () => {
  await using world = await makeHome();
  const before = await snapshot(world.home);
  for (const json of [false, true]) {
    const io = ioFor(world);
    assertEquals(await init({ ...OPTIONS, dryRun: true, yes: false, json }, io), 0);
    assertEquals(io.probed, []);
  }
  assertEquals(await init({ ...OPTIONS, undo: true, dryRun: true }, ioFor(world)), 0);
  assertEquals(await snapshot(world.home), before);
});

Deno.test("init a second time finds only AgentCards and says so", async () => {
  const { ".claude.json": _, ".config/zed/settings.json": __, ...simple } = CLIENT_FILES;
  await using world = await makeHome(simple);
  await init(OPTIONS, ioFor(world));
  const before = await snapshot(world.home);
  const io = ioFor(world);
  assertEquals(await init(OPTIONS, io), 0);
  match(io.said.join(""), /Nothing to move: AgentCards is set up in .*Cursor \(user\)/);
  assertEquals(await snapshot(world.home), before);
  await init({ ...OPTIONS, undo: true }, ioFor(world));
  const config = await Deno.readTextFile(io.home.config);
  const secrets = await Deno.readTextFile(io.home.secrets);
  await init(OPTIONS, ioFor(world));
  assertEquals(await Deno.readTextFile(io.home.config), config);
  assertEquals(await Deno.readTextFile(io.home.secrets), secrets);
});

Deno.test("init without a terminal wants --yes, and on a terminal it asks", async () => {
  await using world = await makeHome();
  const before = await snapshot(world.home);
  const piped = ioFor(world);
  assertEquals(await init({ ...OPTIONS, yes: false }, piped), 2);
  match(piped.said.join(""), /--yes/);
  const questions: string[] = [];
  const terminal = ioFor(world, {
    isTerminal: true,
    confirm: (question) => {
      questions.push(question);
      return Promise.resolve(false);
    },
  });
  assertEquals(await init({ ...OPTIONS, yes: false }, terminal), 1);
  match(questions[0]!, /Move 22 servers/);
  assertEquals(await snapshot(world.home), before);
});

Deno.test("init carries the client's rules into the policy, allows of the user's own file only, and shows what loses its meaning", async () => {
  await using world = await makeHome();
  await writeFiles(world.home, {
    ".claude/settings.json": JSON.stringify({
      permissions: { allow: ["mcp__github__list_issues"], deny: ["mcp__github__delete_repo"], ask: ["mcp__docs"] },
      hooks: { PreToolUse: [{ matcher: "mcp__github__.*", hooks: [] }] },
    }),
  });
  await writeFiles(world.cwd, {
    ".claude/settings.local.json": JSON.stringify({
      permissions: { deny: ["mcp__old_events__*"], allow: ["mcp__docs__write"] },
    }),
  });
  const io = ioFor(world);
  assertEquals(await init(OPTIONS, io), 0);
  const { policy } = await readConfig(io.home.config);
  assertEquals(policy, {
    deny: ["sleeping:nuke", "events:drop_table", "context7:wipe", "github:delete_repo", "old-events:*"],
    approve: ["figma-dev:write_file", "docs:*"],
    rules: [{
      ...policy!.rules![0]!,
      name: "allowed in the client before",
      match: ["github:list_issues"],
      then: "allow",
    }],
  });
  const said = io.said.join("");
  match(said, /allow rule mcp__github__list_issues is carried over as an allow rule for github:list_issues/);
  match(said, /allow rule mcp__docs__write has no counterpart here/);
  match(said, /PreToolUse hook on mcp__github__\.\* will not see/);
});

Deno.test("init lets Claude Code call our tools unasked, and undo takes that back", async () => {
  const settings = ".claude/settings.json";
  const cases = [
    { before: undefined, after: { permissions: { allow: ["mcp__agentcards"] } } },
    {
      before: '{\n  // mine\n  "permissions": { "allow": ["Bash(ls:*)"] }\n}\n',
      after: { permissions: { allow: ["Bash(ls:*)", "mcp__agentcards"] } },
    },
    { before: '{ "permissions": { "ask": ["mcp__agentcards__call_tool"] } }', after: undefined },
    { before: '{ "permissions": ', after: undefined },
  ];
  for (const { before, after } of cases) {
    await using world = await makeHome();
    if (before) await writeFiles(world.home, { [settings]: before });
    const path = join(world.home, settings);
    const text = () => Deno.readTextFile(path).catch(() => undefined);
    const io = ioFor(world);
    assertEquals(await init(OPTIONS, io), 0);
    if (after) {
      assertEquals(parse((await text())!), after);
      match(io.said.join(""), /settings\.json \(Claude Code\): allows mcp__agentcards/);
    } else assertEquals(await text(), before);
    const mode = after && !before ? (await Deno.stat(path)).mode! & 0o777 : undefined;
    ok(mode === undefined || mode === 0o600);
    assertEquals(await init({ ...OPTIONS, undo: true }, ioFor(world)), 0);
    assertEquals(await text(), before);
  }
});

Deno.test("init --undo takes only our permission out of settings that were changed since", async () => {
  await using world = await makeHome();
  assertEquals(await init(OPTIONS, ioFor(world)), 0);
  const path = join(world.home, ".claude/settings.json");
  await Deno.writeTextFile(path, '{ "permissions": { "allow": ["WebSearch", "mcp__agentcards"] }, "model": "x" }');
  assertEquals(await init({ ...OPTIONS, undo: true }, ioFor(world)), 0);
  assertEquals(parse(await Deno.readTextFile(path)), { permissions: { allow: ["WebSearch"] }, model: "x" });
});

Deno.test("init stops where an administrator manages Claude Code's servers", async () => {
  await using world = await makeHome();
  await writeFiles(world.home, { "managed-mcp.json": "{}" });
  const before = await snapshot(world.home);
  const io = ioFor(world);
  assertEquals(await init(OPTIONS, io), 1);
  match(io.said.join(""), /an administrator manages/);
  assertEquals(await snapshot(world.home), before);
  assertEquals(await init({ ...OPTIONS, client: "cursor" }, ioFor(world)), 0);
  ok(!JSON.parse(await Deno.readTextFile(join(world.home, ".claude.json"))).mcpServers.agentcards);
});

Deno.test("init goes on past a broken file and does not touch it", async () => {
  await using world = await makeHome();
  await writeFiles(world.home, { ".cursor/mcp.json": '{ "mcpServers": { "a": ' });
  const io = ioFor(world);
  assertEquals(await init(OPTIONS, io), 0);
  match(io.said.join(""), /\.cursor\/mcp\.json is left alone: line 1/);
  assertEquals(await Deno.readTextFile(join(world.home, ".cursor/mcp.json")), '{ "mcpServers": { "a": ');
  ok((await readConfig(io.home.config)).servers!.github);
});

Deno.test("init follows a symbolic link and leaves it one", async () => {
  await using world = await makeHome();
  const link = join(world.home, ".cursor/mcp.json");
  const target = join(world.home, "dotfiles-mcp.json");
  const text = await Deno.readTextFile(link);
  await Deno.rename(link, target);
  await Deno.symlink(target, link);
  await init(OPTIONS, ioFor(world));
  ok((await Deno.lstat(link)).isSymlink);
  ok((await Deno.readTextFile(target)).includes("agentcards"));
  await init({ ...OPTIONS, undo: true }, ioFor(world));
  ok((await Deno.lstat(link)).isSymlink);
  assertEquals(await Deno.readTextFile(target), text);
});

Deno.test("init lets a running Claude Code change its own file", async () => {
  await using world = await makeHome();
  const log = join(world.cwd, "log");
  await Deno.writeTextFile(
    join(world.cwd, "claude"),
    `#!/bin/sh\nfor a in "$@"; do printf '%s\\n' "$a"; done >> '${log}'\npwd >> '${log}'\n`,
    { mode: 0o755 },
  );
  const path = join(world.home, ".claude.json");
  const before = await Deno.readTextFile(path);
  const env = { HOME: world.home, PATH: `${world.cwd}:/usr/bin:/bin` };
  const machine = {
    os: "linux",
    managed: join(world.home, "none"),
    isClaudeRunning: () => Promise.resolve(true),
  } as const;
  const io = ioFor(world, { env, machine });
  assertEquals(await init({ ...OPTIONS, client: "claude" }, io), 0, io.said.join(""));
  assertEquals(await Deno.readTextFile(path), before);
  const call = (...args: string[]) => [...args, world.cwd].join("\n") + "\n";
  const remove = (scope: string, name: string) => call("mcp", "remove", "-s", scope, name);
  const own = '{"type":"stdio","command":"/opt/agentcards","args":["serve","--client","claude-code"]}';
  assertEquals(
    await Deno.readTextFile(log),
    call("mcp", "add-json", "-s", "user", "agentcards", own) + remove("user", "github") + remove("user", "docs") +
      remove("user", "old events") + remove("local", "notes") + remove("local", "off"),
  );
  const backups = await Array.fromAsync(Deno.readDir(io.home.backups));
  const originals = await Promise.all(
    backups.map(({ name }) => Deno.readTextFile(join(io.home.backups, name, "original"))),
  );
  assertEquals(originals.toSorted(), ["", before].toSorted());

  // Claude's own edit, then the way back.
  const data = JSON.parse(before);
  data.mcpServers = { agentcards: JSON.parse(own), docs: data.mcpServers.docs };
  await Deno.writeTextFile(path, JSON.stringify(data));
  await Deno.remove(log);
  assertEquals(await init({ ...OPTIONS, undo: true }, ioFor(world, { env, machine })), 0);
  const said = await Deno.readTextFile(log);
  match(said, /add-json\n-s\nuser\ngithub\n/);
  match(said, /remove\n-s\nuser\nagentcards\n/);
  ok(!said.includes("docs"));
});

Deno.test("a server that does not start stays in its client, --failing moves it; one that wants a sign-in moves", async () => {
  await using world = await makeHome();
  const io = ioFor(world, {
    probe: (servers) =>
      Promise.resolve(servers.map((server): ProbeResult => {
        if (server === "github") {
          return { server, ok: false, tools: 0, tokens: 0, ms: 0, error: "npx: \x1b[31mcommand not found" };
        }
        if (server === "old-events") {
          return { server, ok: false, tools: 0, tokens: 0, ms: 0, error: "connection refused" };
        }
        if (server === "signin") {
          return { server, ok: false, tools: 0, tokens: 0, ms: 0, error: "needs a sign-in", needs_sign_in: true };
        }
        return { server, ok: true, tools: 1, tokens: 10, ms: 5 };
      })),
  });
  assertEquals(await init(OPTIONS, io), 0);
  const inClaude = async () => JSON.parse(await Deno.readTextFile(join(world.home, ".claude.json"))).mcpServers;
  ok(!(await readConfig(io.home.config)).servers!.github);
  ok((await inClaude()).github);
  match(io.said.join(""), /github .*stays in the client: it does not start: npx: command not found/);
  match(io.said.join(""), /move it as it is: --failing/);
  assertEquals(await init({ ...OPTIONS, failing: true }, io), 0);
  const { servers } = await readConfig(io.home.config);
  ok(servers!.github);
  ok(!(await inClaude()).github);
  match(io.said.join(""), /github .*does not start: npx: command not found/);
  match(io.said.join(""), /old-events .*stays in the client: it does not start: connection refused/);
  ok(servers!.signin);
  match(io.said.join(""), /signin .*needs a sign-in: agentcards login signin/);
});

Deno.test("init moves nothing when the engine does not answer, says so and exits with 1", async () => {
  await using world = await makeHome();
  const before = await textsOf(world);
  const io = ioFor(world, { probe: () => Promise.reject(new Error("no engine")) });
  assertEquals(await init(OPTIONS, io), 1);
  match(io.said.join(""), /Cannot move anything: no engine\nNothing was changed\./);
  assertEquals(await textsOf(world), before);
  for (const path of [io.home.config, io.home.secrets]) ok(!await Deno.stat(path).catch(() => undefined), path);
  assertEquals(await init(OPTIONS, ioFor(world)), 0, "the next try starts from the same state");
});

Deno.test("init that is interrupted changes nothing; a server that does not answer is in its client after the next one", async () => {
  for (const isKilled of [false, true]) {
    await using world = await makeHome();
    const before = await textsOf(world);
    let stop: (() => Promise<void>) | undefined;
    const cutOff = ioFor(world, {
      onInterrupt: (action) => {
        stop = action;
        return () => {};
      },
      // Nothing comes after it, as in a process that has ended.
      probe: () => new Promise(() => {}),
    });
    void init(OPTIONS, cutOff);
    while (!await Deno.stat(cutOff.home.config).catch(() => undefined)) await new Promise((go) => setTimeout(go, 5));
    if (!isKilled) {
      await stop!();
      ok(!await Deno.stat(cutOff.home.config).catch(() => undefined), "our configuration is as it was");
      ok(!await Deno.stat(cutOff.home.secrets).catch(() => undefined));
    }
    assertEquals(await textsOf(world), before);
    const io = ioFor(world, {
      probe: (servers) =>
        Promise.resolve(
          servers.map((server): ProbeResult =>
            server === "old-events"
              ? { server, ok: false, tools: 0, tokens: 0, ms: 0, error: "connection refused" }
              : { server, ok: true, tools: 1, tokens: 10, ms: 5 }
          ),
        ),
    });
    assertEquals(await init(OPTIONS, io), 0);
    const claude = JSON.parse(await Deno.readTextFile(join(world.home, ".claude.json")));
    ok(claude.mcpServers["old events"], "the server that did not answer stays there");
    const { servers } = await readConfig(io.home.config);
    ok(servers!.github && !servers!["old-events"], isKilled ? "what the first one left is taken out" : "");
  }
});

Deno.test("init reads a project's files, and moves them only with --project into the project's own configuration", async () => {
  await using world = await makeHome({});
  const before =
    `{\n  "mcpServers": {\n    "team": { "command": "team", "env": { "KEY": "\${TEAM_KEY}" } },\n    "leaky": { "command": "l", "env": { "API_TOKEN": "${SECRETS.docs}" } }\n  }\n}\n`;
  await writeFiles(world.cwd, { ".mcp.json": before });
  const without = ioFor(world);
  assertEquals(await init(OPTIONS, without), 0);
  match(without.said.join(""), /team .*stays: it belongs to this project/);
  assertEquals(await Deno.readTextFile(join(world.cwd, ".mcp.json")), before);

  const io = ioFor(world);
  assertEquals(await init({ ...OPTIONS, project: true }, io), 0);
  const text = await Deno.readTextFile(join(world.cwd, ".agentcards/config.yaml"));
  assertEquals(parseConfig(text, "x").servers, { team: { command: "team", env: { KEY: "${TEAM_KEY}" } } });
  const left = JSON.parse(await Deno.readTextFile(join(world.cwd, ".mcp.json"))).mcpServers;
  assertEquals(Object.keys(left), ["agentcards", "leaky"]);
  assertEquals(left.agentcards, {
    type: "stdio",
    command: "agentcards",
    args: ["serve", "--client", "claude-code"],
  }, "works on every machine");
  assertEquals(io.probed, []);
  match(io.said.join(""), /agentcards trust/);
  assertEquals(await Deno.stat(io.home.secrets).catch(() => "none"), "none");
  await init({ ...OPTIONS, undo: true }, ioFor(world));
  assertEquals(await Deno.readTextFile(join(world.cwd, ".mcp.json")), before);
});

Deno.test("init --json prints one object that a program can read", async () => {
  await using world = await makeHome();
  const io = ioFor(world);
  assertEquals(await init({ ...OPTIONS, json: true }, io), 0);
  assertEquals(io.said.length, 1);
  const result = JSON.parse(io.said[0]!);
  assertEquals(result.applied, true);
  assertEquals(result.tokens, { before: 18_000, after: 280 });
  assertEquals(result.servers.length, 22);
  assertEquals(result.changed.length, Object.keys(CLIENT_FILES).length + 1, "and Claude Code's settings");
  ok(result.secrets.includes("GITHUB_PERSONAL_ACCESS_TOKEN"));
  const wrong = ioFor(world);
  assertEquals(await init({ ...OPTIONS, json: true, client: "cursr" }, wrong), 2);
  match(JSON.parse(wrong.said[0]!).error.hint, /cursor/);
});

Deno.test("init --config reads just that file", async () => {
  await using world = await makeHome();
  await writeFiles(world.cwd, {
    "mine.json": `{ "mcpServers": { "only": { "command": "only" } } }\n`,
    "ours.yaml": "servers:\n  imported: { command: i }\n",
  });
  const io = ioFor(world);
  assertEquals(await init({ ...OPTIONS, config: "mine.json" }, io), 0);
  assertEquals(Object.keys((await readConfig(io.home.config)).servers!), ["only"]);
  assertEquals(Object.keys(JSON.parse(await Deno.readTextFile(join(world.cwd, "mine.json"))).mcpServers), [
    "agentcards",
  ]);
  assertEquals(await init({ ...OPTIONS, config: "ours.yaml" }, ioFor(world)), 0);
  assertEquals(Object.keys((await readConfig(io.home.config)).servers!), ["only", "imported"]);
  assertEquals(await Deno.readTextFile(join(world.cwd, "ours.yaml")), "servers:\n  imported: { command: i }\n");
  assertEquals(await init({ ...OPTIONS, config: "missing.json" }, ioFor(world)), 1);
});

Deno.test("init without any server says where it looked and shows a sample", async () => {
  await using world = await makeHome({});
  const io = ioFor(world);
  assertEquals(await init({ ...OPTIONS, yes: false }, io), 0);
  const said = io.said.join("");
  match(said, /No MCP servers found/);
  ok(said.includes(join(world.home, ".codex/config.toml")));
  parseConfig(said.slice(said.indexOf("servers:\n")), "sample");
  assertEquals(await snapshot(world.home), {});
});

Deno.test("init that fails half-way says what was done and how to take it back", async () => {
  await using world = await makeHome();
  const before = await textsOf(world);
  const io = ioFor(world);
  const secrets = join(io.home.dir, "missing", "secrets.env");
  const broken = { ...io, probe: () => Promise.reject(new Error("never reached")), home: { ...io.home, secrets } };
  assertEquals(await init(OPTIONS, broken), 1);
  match(
    io.said.join(""),
    /Cannot finish \(secrets\.env\).*\nDone before that: home, backup\. Take it back with: .*init --undo/s,
  );
  assertEquals(await textsOf(world), before);
});

Deno.test("init notices what a client wrote to its file while the servers were started", async () => {
  await using world = await makeHome();
  const path = join(world.home, ".cursor/mcp.json");
  const io = ioFor(world, {
    probe: async (servers) => {
      const data = JSON.parse(await Deno.readTextFile(path));
      data.mcpServers.late = { command: "late" };
      data.mcpServers.github = { command: "changed" };
      await Deno.writeTextFile(path, JSON.stringify(data));
      return servers.map((server) => ({ server, ok: true, tools: 1, tokens: 1, ms: 1 }));
    },
  });
  assertEquals(await init({ ...OPTIONS, client: "cursor" }, io), 0);
  const { mcpServers } = JSON.parse(await Deno.readTextFile(path));
  assertEquals(mcpServers.late, { command: "late" });
  assertEquals(mcpServers.github, { command: "changed" });
  ok(!mcpServers.linear);
});

Deno.test("init leaves alone a file that cannot be edited without guessing", async () => {
  await using world = await makeHome();
  const text = `mcp_servers = { a = { command = "a" }, b = { url = "https://b", scopes = ["x"] } }\n`;
  await writeFiles(world.home, { ".codex/config.toml": text });
  const io = ioFor(world);
  assertEquals(await init(OPTIONS, io), 0);
  match(io.said.join(""), /config\.toml is left alone: Cannot edit the file/);
  assertEquals(await Deno.readTextFile(join(world.home, ".codex/config.toml")), text);
  ok(!(await readConfig(io.home.config)).servers!.a);
});

Deno.test("init keeps what a user added to our entry and takes the servers that came since", async () => {
  await using world = await makeHome();
  await init(OPTIONS, ioFor(world));
  const path = join(world.home, ".cursor/mcp.json");
  const data = JSON.parse(await Deno.readTextFile(path));
  data.mcpServers.agentcards.env = { AGENTCARDS_HOME: "/elsewhere" };
  data.mcpServers.later = { command: "later" };
  await Deno.writeTextFile(path, JSON.stringify(data));
  assertEquals(await init(OPTIONS, ioFor(world)), 0);
  const { mcpServers } = JSON.parse(await Deno.readTextFile(path));
  assertEquals(mcpServers.agentcards.env, { AGENTCARDS_HOME: "/elsewhere" });
  ok(!mcpServers.later);
  assertEquals(await init({ ...OPTIONS, undo: true }, ioFor(world)), 0);
  const { mcpServers: restored } = JSON.parse(await Deno.readTextFile(path));
  ok(restored.later && restored.linear && restored.github && !restored.agentcards);
});

Deno.test("init does nothing when our own configuration is broken", async () => {
  await using world = await makeHome();
  await writeFiles(world.home, { ".agentcards/config.yaml": "servers: { a: { comand: x } }\n" });
  const before = await snapshot(world.home);
  const io = ioFor(world);
  assertEquals(await init(OPTIONS, io), 1);
  match(io.said.join(""), /comand is not a known key/);
  assertEquals(await snapshot(world.home), before);
});

Deno.test("what an entry that stays denies or asks about holds for ours of the same program, what it allows does not", async () => {
  await using world = await makeHome();
  await Promise.all(Object.keys(CLIENT_FILES).map((file) => Deno.remove(join(world.home, file))));
  const put = (file: string, entry: unknown) =>
    writeFiles(world.home, { [file]: JSON.stringify({ mcpServers: entry }) });
  const program = ["npx", "-y", "some-server"];
  const [command, ...args] = program;
  // Only the client can fill its command in, so that it stays.
  await put(".cursor/mcp.json", { a: { command, args, envFile: ".env", disabledTools: ["rm"] } });
  await put(".gemini/settings.json", { b: { command, args, includeTools: ["ls"], excludeTools: ["mv"] } });
  await put(".codeium/windsurf/mcp_config.json", {
    c: { serverUrl: "https://x.example/mcp", disabledTools: ["send"] },
  });
  await put(".claude.json", { c: { type: "http", url: "https://x.example/mcp", headersHelper: "/bin/h" } });
  await writeFiles(world.home, {
    ".claude/settings.json": JSON.stringify({ permissions: { allow: ["mcp__c__list"], ask: ["mcp__c__send_all"] } }),
  });
  const io = ioFor(world);
  assertEquals(await init(OPTIONS, io), 0, io.said.join(""));
  const { servers, policy } = await readConfig(io.home.config);
  assertEquals(Object.keys(servers!).sort(), ["b", "c"]);
  assertEquals(policy, { deny: ["c:send", "b:mv", "b:rm"], approve: ["c:send_all"] });
  match(io.said.join(""), /mcp\.json: deny rule a:rm is carried over as policy\.deny b:rm/);
});

Deno.test("init leaves a server to the clients it comes from, until --share", async () => {
  await using world = await makeHome();
  const path = (file: string) => join(world.home, file);
  const one = { command: "node", args: ["one.js"] };
  await Promise.all(Object.keys(CLIENT_FILES).map((file) => Deno.remove(path(file))));
  const put = (file: string, mcpServers: unknown) => writeFiles(world.home, { [file]: JSON.stringify({ mcpServers }) });
  await put(".cursor/mcp.json", { one, two: { command: "two" } });
  const io = ioFor(world);
  assertEquals(await init(OPTIONS, io), 0, io.said.join(""));
  match(io.said.join(""), /for Cursor only: one, two/);
  const clientsOf = async () => (await readConfig(io.home.config)).servers!.one!.clients;
  assertEquals(await clientsOf(), ["cursor"]);
  const cursor = JSON.parse(await Deno.readTextFile(path(".cursor/mcp.json"))).mcpServers;
  assertEquals(cursor.agentcards.args, ["serve", "--client", "cursor"]);

  await put(".gemini/settings.json", { one });
  const wider = ioFor(world);
  assertEquals(await init(OPTIONS, wider), 0);
  match(wider.said.join(""), /already here as one[^]*for Cursor, Gemini CLI only: one/);
  assertEquals(await clientsOf(), ["cursor", "gemini"]);

  await put(".codeium/windsurf/mcp_config.json", { one });
  const shared = ioFor(world);
  assertEquals(await init({ ...OPTIONS, share: true }, shared), 0);
  match(shared.said.join(""), /for every client: one/);
  assertEquals(await clientsOf(), undefined);

  // It is for all now: one more client does not take it away from the others.
  await put(".claude.json", { one });
  assertEquals(await init(OPTIONS, ioFor(world)), 0);
  assertEquals(await clientsOf(), undefined);
});

Deno.test("init tells the clients about a home of the user's choice", async () => {
  await using world = await makeHome();
  const env = { HOME: world.home, PATH: "/usr/bin:/bin", AGENTCARDS_HOME: join(world.home, "my cards") };
  const io = ioFor(world, { env, home: locateHome(env) });
  assertEquals(await init(OPTIONS, io), 0);
  const { mcpServers } = JSON.parse(await Deno.readTextFile(join(world.home, ".cursor/mcp.json")));
  assertEquals(mcpServers.agentcards.env, { AGENTCARDS_HOME: env.AGENTCARDS_HOME });
  ok(io.said.join("").includes(`AGENTCARDS_HOME='${env.AGENTCARDS_HOME}' /opt/agentcards init --undo`));
});
Deno.test("init that is killed at any moment can be run again or undone, and nothing is lost", async () => {
  await using first = await makeHome();
  const program = [`--config=${ROOT}deno.json`, "-A", "--no-check", `${ROOT}tests/fixtures/init_until.ts`];
  const run = async ({ home, cwd }: World, ms: number) => {
    const args = ["run", ...program, home, cwd, String(ms)];
    const { code, signal, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
    const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    ok(code === 0 || ms > 0 && signal === "SIGKILL", `${code} ${signal} ${decode(stdout)} ${decode(stderr)}`);
    return Number(decode(stdout));
  };
  const longest = await run(first, 0);
  const { home: { config, secrets } } = ioFor(first);
  const whole = await readConfig(config);
  const names = Object.keys(parseSecrets(await Deno.readTextFile(secrets))).sort();
  // Each moment takes about a second: a few of them, or as many as the variable says.
  const count = Number(Deno.env.get("INIT_MOMENTS") ?? 2);
  const moments = Array.from({ length: count }, () => 1 + Math.random() * longest);
  for (const [turn, at] of moments.entries()) {
    await using world = await makeHome();
    const before = await textsOf(world);
    await run(world, at);
    const io = ioFor(world);
    if (turn % 2 === 0) {
      const probe: InitIo["probe"] = (servers) =>
        Promise.resolve(
          servers.map((server) => ({ server, ok: server !== "surf", tools: 3, tokens: 1000, ms: 12 })),
        );
      assertEquals(await init(OPTIONS, { ...io, probe }), 0, `killed after ${at} ms: ${io.said.join("")}`);
      const { servers, policy } = await readConfig(io.home.config);
      assertEquals(servers, relocated(whole.servers, first, world), `killed after ${at} ms`);
      assertEquals(policy, whole.policy);
      assertEquals(Object.keys(parseSecrets(await Deno.readTextFile(io.home.secrets))).sort(), names);
    }
    assertEquals(await init({ ...OPTIONS, undo: true }, ioFor(world)), 0);
    assertEquals(await textsOf(world), before, `killed after ${at} ms`);
  }
});

/** Servers of one home as they are in another. */
function relocated<T>(value: T, from: World, to: World): T {
  return JSON.parse(JSON.stringify(value).replaceAll(from.cwd, to.cwd).replaceAll(from.home, to.home));
}
