import { deepStrictEqual as assertEquals, match, ok, throws } from "node:assert/strict";
import { parse as parseToml } from "smol-toml";
import { type FileEdit, reverse, rewrite } from "../../../src/config/clients/rewrite.ts";
import { canonicalJson } from "../../../src/model/json.ts";
import { parseFile } from "../../../src/config/clients/parse.ts";
import { CLIENT_FILES } from "./client_files.ts";

const OWN = { command: "/usr/bin/agentcards", args: ["serve"] };

function edit(format: "json" | "toml", key: string, names: readonly string[]): FileEdit {
  return {
    format,
    remove: names.map((name) => ({ keys: [key], name, entry: {} })),
    add: [{ keys: [key], name: "agentcards", entry: OWN }],
  };
}

Deno.test("rewrite() keeps comments, trailing commas and other servers of VS Code's file", () => {
  const before = CLIENT_FILES[".config/Code/User/mcp.json"]!("");
  const after = rewrite(before, edit("json", "servers", ["perplexity", "remote"]));
  for (
    const kept of [
      "// The ones I use every day",
      '"id": "region", "default": "eu"',
      '"picked": {',
      "// only VS Code can ask that",
    ]
  ) {
    ok(after.includes(kept), kept);
  }
  ok(!after.includes("perplexity-ask"));
  assertEquals(Object.keys((parseFile(after, "json") as { servers: object }).servers), ["agentcards", "picked"]);
});

Deno.test("rewrite() keeps Zed's comments, settings and their order", () => {
  const before = CLIENT_FILES[".config/zed/settings.json"]!("");
  const after = rewrite(before, edit("json", "context_servers", ["oldest", "plain"]));
  for (const kept of ["// Zed settings\n", "/* the oldest form */", '"buffer_font_size": 15, // big']) {
    ok(after.includes(kept), kept);
  }
  assertEquals(Object.keys(parseFile(after, "json") as object), ["vim_mode", "context_servers", "buffer_font_size"]);
});

Deno.test("rewrite() keeps tabs, CRLF and a byte order mark", () => {
  const before = '\ufeff{\r\n\t"mcpServers": {\r\n\t\t"a": { "command": "a" }\r\n\t}\r\n}\r\n';
  const after = rewrite(before, edit("json", "mcpServers", ["a"]));
  ok(after.startsWith("\ufeff{\r\n\t"));
  ok(after.endsWith("\r\n}\r\n"));
  ok(!/[^\r]\n/.test(after));
});

Deno.test("rewrite() takes only the moved tables out of a TOML file, all other bytes stay", () => {
  const before = CLIENT_FILES[".codex/config.toml"]!("");
  const after = rewrite(before, edit("toml", "mcp_servers", ["context7", "figma dev"]));
  const kept = `# my codex
model = "gpt-5"

# profiles come next
[profiles.fast]
model = "gpt-5-mini" # cheap
note = """
[mcp_servers.fake]
"""

[mcp_servers.sso]
url = "https://sso.example.com/mcp"
scopes = ["read"]

[tui]
notifications = true
`;
  assertEquals(after, kept + `\n[mcp_servers.agentcards]\ncommand = "/usr/bin/agentcards"\nargs = [ "serve" ]\n`);
});

Deno.test("rewrite() handles dotted keys and tables in one line", () => {
  const dotted =
    `mcp_servers.a.command = "a"\nmcp_servers.a.args = [\n "]", # x\n]\nmodel = "m"\n[mcp_servers]\nb = { command = "b" }\n`;
  throws(() => parseToml(dotted));
  const inTable = `[mcp_servers]\na = { command = "a" }\nb = { command = "b" }\n\n[x]\ny = 1\n`;
  const after = rewrite(inTable, edit("toml", "mcp_servers", ["a"]));
  ok(after.startsWith(`[mcp_servers]\nb = { command = "b" }\n\n[x]\ny = 1\n`));
  const top = `mcp_servers.a.command = "a"\nmcp_servers.a.args = [\n  "]", # x\n]\nmodel = "m"\n`;
  ok(rewrite(top, edit("toml", "mcp_servers", ["a"])).startsWith(`model = "m"\n`));
});

Deno.test("rewrite() refuses what it cannot edit without guessing", () => {
  throws(() =>
    rewrite(`mcp_servers = { a = { command = "a" }, b = { command = "b" } }\n`, edit("toml", "mcp_servers", ["a"]))
  );
  throws(
    () => rewrite(`{"mcpServers":{"a":{"x":1},"a":{"x":2}}}`, edit("json", "mcpServers", ["a"])),
    /unusual way/,
  );
});

Deno.test("reverse() puts back what is missing and overwrites nothing that is there now", () => {
  const before = `{"mcpServers":{"a":{"command":"a"},"b":{"command":"b"}}}`;
  const done: FileEdit = {
    format: "json",
    remove: [{ keys: ["mcpServers"], name: "a", entry: { command: "a" } }, {
      keys: ["mcpServers"],
      name: "b",
      entry: { command: "b" },
    }],
    add: [{ keys: ["mcpServers"], name: "agentcards", entry: OWN }],
  };
  const now = rewrite(before, done).replace('"agentcards"', '"b": {"command": "new"}, "mine": {}, "agentcards"');
  const back = rewrite(now, reverse(done, parseFile(now, "json")));
  assertEquals(parseFile(back, "json"), { mcpServers: { a: { command: "a" }, b: { command: "new" }, mine: {} } });
});

Deno.test("rewrite() on a TOML file can be reversed in meaning", () => {
  const before = CLIENT_FILES[".codex/config.toml"]!("");
  const data = parseToml(before) as { mcp_servers: Record<string, unknown> };
  const keys = ["mcp_servers"];
  const done: FileEdit = {
    format: "toml",
    remove: ["context7", "figma dev"].map((name) => ({ keys, name, entry: data.mcp_servers[name] })),
    add: [{ keys, name: "agentcards", entry: OWN }],
  };
  const now = rewrite(before, done) + `\n[added]\nlater = true\n`;
  const back = rewrite(now, reverse(done, parseFile(now, "toml")));
  assertEquals(canonicalJson(parseToml(back)), canonicalJson({ ...parseToml(before), added: { later: true } }));
  match(back, /\[mcp_servers\."figma dev"\]/);
});
