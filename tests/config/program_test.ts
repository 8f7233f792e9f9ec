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

Deno.test("entries that only look alike start different programs", () => {
  const different: { command?: string; args?: string[]; url?: string; cwd?: string }[][] = [
    [{ command: "npx", args: ["mcp-remote", "https://a.example/mcp"] }, {
      command: "npx",
      args: ["mcp-remote", "https://b.example/mcp"],
    }],
    [{ command: "cmd", args: ["/c", "npx", "one"] }, { command: "cmd", args: ["/c", "npx", "two"] }],
    [{ command: "env", args: ["A=1", "npx", "one"] }, { command: "env", args: ["A=1", "npx", "two"] }],
    [{ command: "node", args: ["dist/index.js"], cwd: "/a" }, { command: "node", args: ["dist/index.js"], cwd: "/b" }],
    [{ command: "node", args: ["-r", "dotenv/config", "a.js"] }, {
      command: "node",
      args: ["-r", "dotenv/config", "b.js"],
    }],
    [{ command: "uv", args: ["run", "--with", "mcp[cli]", "mcp", "run", "a.py"] }, {
      command: "uv",
      args: ["run", "--with", "mcp[cli]", "mcp", "run", "b.py"],
    }],
    [{ command: "go", args: ["run", "./a"] }, { command: "go", args: ["run", "./b"] }],
    [{ command: "npm", args: ["run", "start"], cwd: "/a" }, { command: "npm", args: ["run", "start"], cwd: "/b" }],
    [{ command: "docker", args: ["run", "--platform", "linux/amd64", "one"] }, {
      command: "docker",
      args: ["run", "--platform", "linux/amd64", "two"],
    }],
    [{ url: "https://example.com/a" }, { url: "https://example.com/b" }],
  ];
  for (const entries of different) {
    const programs = entries.map(programOf);
    assert.equal(new Set(programs).size, programs.length, programs.join(" | "));
  }
  const same: { command?: string; args?: string[]; url?: string }[][] = [
    [{ command: "cmd", args: ["/c", "npx", "-y", "x"] }, { command: "npx", args: ["x@1"] }],
    [{ command: "uvx", args: ["--python", "3.12", "x"] }, { command: "uvx", args: ["x"] }],
    [{ command: "npx", args: ["--package=x", "bin"] }, { command: "npx", args: ["x"] }],
    [{ command: "docker", args: ["run", "--pull", "always", "img:1"] }, { command: "docker", args: ["run", "img"] }],
    [{ command: "python3.12", args: ["/a/./s.py"] }, { command: "python", args: ["/a/s.py"] }],
    [{ url: "https://EXAMPLE.com:443/mcp" }, { url: "https://example.com/mcp" }],
    [{ command: "npx", args: ["mcp-remote", "https://a.example/mcp"] }, { url: "https://a.example/mcp" }],
  ];
  for (const entries of same) assert.equal(new Set(entries.map(programOf)).size, 1, JSON.stringify(entries));
});

Deno.test("each entry knows its twins, and an entry without one has none", () => {
  const npx = (name: string, env = {}) => ({ command: "npx", args: ["-y", name], env });
  assert.deepEqual(twinsOf({ a: npx("x"), b: npx("y"), c: npx("x", { T: "1" }) }), { a: ["c"], c: ["a"] });
});
