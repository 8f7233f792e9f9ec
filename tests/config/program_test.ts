import assert from "node:assert/strict";
import { programOf, twinsOf } from "../../src/config/program.ts";

Deno.test("entries that differ in variables, folders, versions or flags start the same program", () => {
  const same: { command?: string; args?: string[]; url?: string }[][] = [
    [
      { command: "npx", args: ["-y", "@modelcontextprotocol/server-github"] },
      { command: "/usr/local/bin/npx", args: ["@modelcontextprotocol/server-github@latest"] },
      { command: "npx.cmd", args: ["--yes", "-p", "@modelcontextprotocol/server-github@1.2.3", "mcp-github"] },
      { command: "npm", args: ["exec", "@modelcontextprotocol/server-github"] },
    ],
    [
      { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "/a"] },
      { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "/b"] },
    ],
    [{ command: "uvx", args: ["mcp-server-git"] }, {
      command: "uvx",
      args: ["mcp-server-git==1.0", "--repository", "x"],
    }],
    [{ command: "python3", args: ["-m", "server"] }, { command: "/usr/bin/python3", args: ["-m", "server", "--x"] }],
    [{ command: "node", args: ["/opt/s/index.js"] }, {
      command: "node",
      args: ["--no-warnings", "/opt/s/index.js", "b"],
    }],
    [
      { command: "docker", args: ["run", "-i", "--rm", "-e", "TOKEN", "ghcr.io/github/github-mcp-server"] },
      { command: "docker", args: ["run", "-i", "-e", "OTHER", "ghcr.io/github/github-mcp-server:1.2"] },
    ],
    [{ url: "https://example.com/mcp" }, { url: "https://example.com/mcp/?key=1" }],
    [{ command: "/opt/bin/server" }, { command: "server", args: ["--flag"] }],
  ];
  const programs = same.map((entries) => {
    const names = [...new Set(entries.map(programOf))];
    assert.equal(names.length, 1, names.join(" | "));
    return names[0]!;
  });
  assert.equal(new Set(programs).size, programs.length, programs.join(" | "));
});

Deno.test("each entry knows its twins, and an entry without one has none", () => {
  const npx = (name: string, env = {}) => ({ command: "npx", args: ["-y", name], env });
  assert.deepEqual(twinsOf({ a: npx("x"), b: npx("y"), c: npx("x", { T: "1" }) }), { a: ["c"], c: ["a"] });
});
