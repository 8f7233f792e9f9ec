import { deepStrictEqual as assertEquals, match, ok } from "node:assert/strict";
import { join } from "node:path";
import type { Machine } from "../../../src/config/clients/client.ts";
import { findServers, isOwn, readSource } from "../../../src/config/clients/find.ts";
import { places } from "../../../src/config/clients/places.ts";
import { makeHome, SECRETS, writeFiles } from "./client_files.ts";

function machineOf({ home, cwd }: { home: string; cwd: string }, env: Record<string, string> = {}): Machine {
  return { os: "linux", env: { HOME: home, ...env }, cwd };
}

/** What was found of one client: name → our entry, or the reason why it stays. */
async function found(client: string): Promise<Record<string, unknown>> {
  await using world = await makeHome();
  const { sources, problems } = await findServers(machineOf(world));
  assertEquals(problems, []);
  const servers = sources.filter((source) => source.client === client).flatMap((source) => source.servers);
  return Object.fromEntries(servers.map(({ name, server, skipped }) => [name, server ?? skipped]));
}

Deno.test("findServers() reads Claude Code's user and local servers and leaves other folders alone", async () => {
  const servers = await found("claude-code");
  assertEquals(servers.github, {
    command: "npx",
    args: ["-y", "@modelcontextprotocol/server-github"],
    env: { GITHUB_PERSONAL_ACCESS_TOKEN: SECRETS.github },
  });
  assertEquals(servers.docs, { url: "https://example.com/mcp", headers: { Authorization: `Bearer ${SECRETS.docs}` } });
  assertEquals(servers["old events"], { url: "https://events.example.com/sse", transport: "sse" });
  assertEquals(servers.notes, { command: "node", args: ["${NOTES_DIR:-/tmp}/server.js"] });
  assertEquals(servers.off, { command: "node", args: ["off.js"], disabled: true });
  match(String(servers.signed), /OAuth/);
  match(String(servers.helper), /helper program/);
  match(String(servers.socket), /WebSocket/);
  ok(!("stranger" in servers));
});

Deno.test("findServers() reads Claude Desktop, names with spaces included", async () => {
  const servers = await found("claude-desktop");
  assertEquals(Object.keys(servers), ["File System", "notion"]);
});

Deno.test("findServers() translates Cursor's variables and leaves what only Cursor can fill in", async () => {
  await using world = await makeHome();
  const { sources } = await findServers(machineOf(world), { client: "cursor" });
  const [linear, github, here, envfile, signin] = sources[0]!.servers;
  assertEquals(linear!.server!.env, { CACHE: `${world.home}/.cache`, TEAM: "${LINEAR_TEAM}" });
  assertEquals(github!.server!.command, "docker");
  match(here!.skipped!, /\$\{workspaceFolder\}/);
  match(envfile!.skipped!, /envFile/);
  assertEquals(signin!.server, { url: "https://cursor.example.com/mcp", oauth: { client_id: "x" } });
});

Deno.test("findServers() turns VS Code's inputs into variables", async () => {
  const servers = await found("vscode");
  assertEquals(servers.perplexity, {
    command: "npx",
    args: ["-y", "server-perplexity-ask", "--region", "${REGION:-eu}"],
    env: { PERPLEXITY_API_KEY: "${PERPLEXITY_KEY}" },
  });
  match(String(servers.picked), /\$\{command:pick\}/);
});

Deno.test("findServers() reads Windsurf's serverUrl and disabled servers", async () => {
  await using world = await makeHome();
  const { sources } = await findServers(machineOf(world), { client: "windsurf" });
  const [surf, sleeping] = sources[0]!.servers;
  assertEquals(surf!.server, { url: "https://surf.example.com/mcp", headers: { "X-Api-Key": "${SURF_KEY}" } });
  assertEquals(sleeping!.server, { command: "sleeper", disabled: true });
  assertEquals(sleeping!.deny, ["nuke"]);
});

Deno.test("findServers() tells Gemini's httpUrl from its url and reads its $VAR", async () => {
  await using world = await makeHome();
  const { sources } = await findServers(machineOf(world), { client: "gemini" });
  const [streaming, events, resting, google] = sources[0]!.servers;
  assertEquals(streaming!.server, {
    url: "https://gemini.example.com/mcp",
    headers: { Authorization: "Bearer ${GEMINI_TOOL_TOKEN}" },
    timeout: 5000,
  });
  assertEquals(events!.server, { url: "https://gemini.example.com/sse", transport: "sse" });
  assertEquals(events!.deny, ["drop_table"]);
  assertEquals(resting!.server, { command: "rest", cwd: "${HOME}/rest", disabled: true });
  match(resting!.notes[0]!, /only nap/);
  match(google!.skipped!, /OAuth/);
});

Deno.test("findServers() reads Codex's TOML with its variables by name", async () => {
  await using world = await makeHome();
  const { sources } = await findServers(machineOf(world), { client: "codex" });
  const [context7, figma, sso] = sources[0]!.servers;
  assertEquals(context7!.server, {
    command: "npx",
    args: ["-y", "@upstash/context7-mcp"],
    env: { SLACK_BOT: SECRETS.slack, CONTEXT7_HOST: "${CONTEXT7_HOST}" },
    start_timeout: 20_000,
  });
  assertEquals(context7!.deny, ["wipe"]);
  assertEquals(figma!.name, "figma dev");
  assertEquals(figma!.server, {
    url: "https://figma.example.com/mcp",
    headers: { "X-Region": "${FIGMA_REGION}", Authorization: "Bearer ${FIGMA_TOKEN}" },
  });
  assertEquals(figma!.approve, ["write_file"]);
  assertEquals(sso!.server!.url, "https://sso.example.com/mcp");
});

Deno.test("findServers() reads all three generations of Zed entries", async () => {
  const servers = await found("zed");
  assertEquals(servers.oldest, { command: "oldest-server", args: ["--stdio"], env: { A: "1" } });
  assertEquals(servers.plain, { command: "plain-server", disabled: true });
  match(String(servers["mcp-server-extension"]), /extension/);
});

Deno.test("findServers() reads a project's committed files and resolves its folder", async () => {
  await using world = await makeHome({});
  await writeFiles(world.cwd, {
    ".mcp.json": `{"mcpServers":{"a":{"command":"a"}}}`,
    ".cursor/mcp.json": `{"mcpServers":{"b":{"command":"\${workspaceFolder}/b"}}}`,
    ".vscode/mcp.json": `{"servers":{"c":{"command":"c"}}}`,
    ".gemini/settings.json": `{"mcpServers":{"d":{"command":"d"}}}`,
    ".codex/config.toml": `mcp_servers.e.command = "e"\n`,
    ".zed/settings.json": `{"context_servers":{"f":{"command":"f"}}}`,
  });
  const { sources } = await findServers(machineOf(world));
  assertEquals(sources.map(({ scope }) => scope), Array(6).fill("project"));
  assertEquals(sources.flatMap(({ servers }) => servers.map(({ server }) => server!.command)), [
    "a",
    `${world.cwd}/b`,
    "c",
    "d",
    "e",
    "f",
  ]);
});

Deno.test("findServers() goes on past a broken file and says where it is broken, without quoting it", async () => {
  await using world = await makeHome();
  await writeFiles(world.home, {
    ".cursor/mcp.json": `{\n  "mcpServers": {\n    "x": "${SECRETS.github}" oops\n`,
    ".codex/config.toml": `a = 1\nb = "${SECRETS.github}\n`,
    ".gemini/settings.json": `{"mcpServers": []}`,
  });
  const { sources, problems } = await findServers(machineOf(world));
  assertEquals(problems.map(({ client }) => client), ["cursor", "gemini", "codex"]);
  match(problems[0]!.reason, /line 3/);
  match(problems[1]!.reason, /not a map/);
  match(problems[2]!.reason, /line 2/);
  ok(!JSON.stringify(problems).includes(SECRETS.github));
  ok(sources.some(({ client }) => client === "claude-code"));
  ok(sources.some(({ client }) => client === "zed"));
});

Deno.test("findServers() refuses a file above 20 MB, a folder in its place and text that is not UTF-8", async () => {
  await using world = await makeHome({});
  await writeFiles(world.home, { ".cursor/mcp.json": "{}", ".codex/config.toml/x": "" });
  await Deno.truncate(join(world.home, ".cursor/mcp.json"), 21 * 1024 * 1024);
  await Deno.writeFile(join(world.home, ".claude.json"), new Uint8Array([0x7b, 0xff, 0x7d]));
  const { problems } = await findServers(machineOf(world));
  assertEquals(problems.map(({ client }) => client), ["claude-code", "cursor", "codex"]);
  match(problems[1]!.reason, /20 MB/);
});

Deno.test("findServers() guesses the shape of a file the user names", async () => {
  await using world = await makeHome({});
  await writeFiles(world.cwd, {
    "a.json": `\ufeff{"mcpServers":{"a":{"command":"a","env":{"K":"\${env:K}"}}}}`,
    "b.jsonc": `{"servers":{"b":{"command":"b"}}} // VS Code`,
    "c.json": `{"context_servers":{"c":{"command":"c"}}}`,
    "d.toml": `[mcp_servers.d]\ncommand = "d"\n`,
    "e.yaml": `servers:\n  e: { command: e, timeout: 5s, shared: true }\n`,
  });
  for (
    const [file, client, name] of [["a.json", "file", "a"], ["b.jsonc", "vscode", "b"], ["c.json", "zed", "c"], [
      "d.toml",
      "codex",
      "d",
    ], ["e.yaml", "file", "e"]] as const
  ) {
    const { sources, problems } = await findServers(machineOf(world), { config: file });
    assertEquals(problems, []);
    assertEquals([sources[0]!.client, sources[0]!.servers[0]!.name, sources[0]!.servers[0]!.server!.command], [
      client,
      name,
      name,
    ]);
  }
  const { sources } = await findServers(machineOf(world), { config: "e.yaml" });
  assertEquals(sources[0]!.servers[0]!.server, { command: "e", timeout: 5000, shared: true });
  const { problems } = await findServers(machineOf(world), { config: "missing.json" });
  match(problems[0]!.reason, /no such file/);
});

Deno.test("places() knows the folders of macOS and Windows and the variables that move them", async () => {
  const mac = places({ os: "darwin", env: { HOME: "/Users/me" }, cwd: "/p" }).map(({ path }) => path);
  ok(mac.includes("/Users/me/Library/Application Support/Claude/claude_desktop_config.json"));
  ok(mac.includes("/Users/me/Library/Application Support/Code/User/mcp.json"));
  ok(mac.includes("/Users/me/.config/zed/settings.json"));
  const windows = places({
    os: "windows",
    env: { USERPROFILE: "C:\\me", APPDATA: "C:\\me\\R", LOCALAPPDATA: "C:\\me\\L" },
    cwd: "C:\\p",
  }).map(({ path }) => path);
  ok(windows.includes("C:\\me\\R\\Claude\\claude_desktop_config.json"));
  ok(windows.includes("C:\\me\\L\\Packages\\*Claude*\\LocalCache\\Roaming\\Claude\\claude_desktop_config.json"));
  ok(windows.includes("C:\\me\\R\\Zed\\settings.json"));
  await using world = await makeHome({});
  await writeFiles(world.cwd, {
    "claude/.claude.json": `{"mcpServers":{"moved":{"command":"a"}}}`,
    "codex/config.toml": `[mcp_servers.moved2]\ncommand = "b"\n`,
  });
  const env = { CLAUDE_CONFIG_DIR: join(world.cwd, "claude"), CODEX_HOME: join(world.cwd, "codex") };
  const { sources } = await findServers(machineOf(world, env));
  assertEquals(sources.flatMap(({ servers }) => servers.map(({ name }) => name)), ["moved", "moved2"]);
});

Deno.test("places() takes the user's files in the home directory for the user's, not for a project's", () => {
  const all = places({ os: "linux", env: { HOME: "/home/me" }, cwd: "/home/me" });
  assertEquals(all.filter(({ path }) => path === "/home/me/.cursor/mcp.json").map(({ scope }) => scope), ["user"]);
});

Deno.test("isOwn() recognises AgentCards by its name and by its program", () => {
  ok(isOwn("agentcards", { command: "/x/deno" }));
  ok(isOwn("cards", { command: "/usr/local/bin/agentcards", args: ["serve"] }));
  ok(isOwn("cards", { command: "C:\\bin\\agentcards.exe" }));
  ok(!isOwn("cards", { command: "npx", args: ["agentcards-like"] }));
});

Deno.test("readSource() keeps what is no server from doing harm", () => {
  const place = { client: "cursor", scope: "user", path: "/x", keys: ["mcpServers"], format: "json" } as const;
  const machine: Machine = { os: "linux", env: { HOME: "/h" }, cwd: "/p" };
  const text = `{"mcpServers":{"a":5,"b":null,"c":{},"d":{"command":"x","args":"y","env":{"N":1,"gone":null}},` +
    `"e":{"url":"ftp://x"},"f":{"type":"carrier-pigeon","url":"https://x"},"g":{"command":["x"]}}}`;
  const { servers } = readSource(place, text, machine);
  assertEquals(servers.map(({ name, server }) => [name, server !== undefined]), [
    ["a", false],
    ["b", false],
    ["c", false],
    ["d", true],
    ["e", false],
    ["f", false],
    ["g", false],
  ]);
  assertEquals(servers[3]!.server, { command: "x", env: { N: "1" } });
});
