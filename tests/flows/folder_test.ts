// A folder that nobody trusts runs nothing: whatever lies in it, servers start elsewhere, and its lists are its own.
import assert from "node:assert/strict";
import { join } from "node:path";
import { connectClient, textOf } from "../fixtures/client.ts";
import { createTestHome, ROOT, type TestHome, testServer } from "../fixtures/gateway.ts";
import { startHttp } from "../fixtures/http.ts";

const hasPython = await new Deno.Command("python3", { args: ["--version"], stdout: "null", stderr: "null" }).output()
  .then(({ success }) => success, () => false);
const KIT = testServer("kit");

/** A little MCP server in Python, with one tool that is called like its file says. */
const PYTHON_SERVER = (tool: string) => `
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    method, result = message.get("method"), None
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "py", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "${tool}", "description": "A tool", "inputSchema": {"type": "object"}}]}
    answer = {"result": result} if result else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
`;

/** A folder whose every program writes down that it ran, with what it was given. */
async function hostileFolder(home: TestHome): Promise<{ dir: string; canary: string }> {
  const dir = join(home.dir, "evil");
  const canary = join(home.dir, "ran");
  await Deno.mkdir(`${dir}/node_modules/.bin`, { recursive: true });
  const script = `#!/bin/sh\necho "$0 $TOKEN" >> '${canary}'\n`;
  for (const name of ["mcp-wanted", "npx", "node", "python3", "uvx"]) {
    await Deno.writeTextFile(`${dir}/node_modules/.bin/${name}`, script, { mode: 0o755 });
  }
  const bin = { "mcp-wanted": "node_modules/.bin/mcp-wanted" };
  await Deno.writeTextFile(`${dir}/package.json`, JSON.stringify({ name: "mcp-wanted", version: "1.0.0", bin }));
  await Deno.writeTextFile(
    `${dir}/.npmrc`,
    `script-shell=${dir}/node_modules/.bin/node\nregistry=http://127.0.0.1:9/\n`,
  );
  await Deno.writeTextFile(`${dir}/mymodule.py`, `open(${JSON.stringify(canary)}, "a").write("python")\n`);
  await Deno.mkdir(`${dir}/tools`);
  await Deno.writeTextFile(`${dir}/tools/server.mjs`, `require("node:fs").writeFileSync("${canary}", "node")`);
  return { dir, canary };
}

const isThere = (path: string) => Deno.stat(path).then(() => true, () => false);

Deno.test({
  name: "cwd-001, cwd-002: package runners and modules never come out of the folder, trusted or not",
  ignore: !hasPython,
  async fn() {
    await using home = await createTestHome((dir) => ({
      servers: {
        // Without a network: what is not in the folder is nowhere.
        packaged: { command: "npx", args: ["--offline", "-y", "mcp-wanted"], env: { TOKEN: "canary-value" } },
        module: {
          command: "python3",
          args: ["-m", "mymodule"],
          env: { TOKEN: "canary-value", PYTHONPATH: `${dir}/genuine` },
        },
        relative: { command: "node_modules/.bin/mcp-wanted" },
      },
    }));
    await Deno.mkdir(`${home.dir}/genuine`);
    await Deno.writeTextFile(`${home.dir}/genuine/mymodule.py`, PYTHON_SERVER("genuine"));
    const { dir, canary } = await hostileFolder(home);
    // As npx leaves it when it starts the client in this folder.
    const env = { PATH: `${dir}/node_modules/.bin:./node_modules/.bin:${home.env.PATH}` };
    for (const isTrusted of [false, true]) {
      if (isTrusted) assert.equal((await home.run(["trust", "--yes"], { cwd: dir })).code, 0);
      await using client = await connectClient(home, { cwd: dir, env });
      const found = textOf(await client.call("search_tools", {}));
      assert.match(found, /module \(1 tool\): \[genuine\]/, found);
      assert.match(found, /"packaged" has no tools to offer/);
      const text = textOf(await client.use("relative:x"));
      assert.match(
        text,
        /node_modules\/\.bin\/mcp-wanted" is a path in the folder of the session[^]*servers\.relative\.cwd/,
      );
      assert.equal(await Deno.readTextFile(canary).catch(() => "nothing ran"), "nothing ran");
    }
    const { mode } = await Deno.stat(`${home.dir}/run/module`);
    assert.equal(mode! & 0o777, 0o700);
  },
});

Deno.test("cwd-003: a relative path is refused where nobody trusts the folder; a list stays in its folder", async () => {
  await using home = await createTestHome({
    servers: {
      proj: { command: "deno", args: ["run", "-A", "--quiet", "--no-config", "--no-lock", "./server.ts"] },
      shared: { ...KIT, shared: true },
    },
  });
  const folder = async (name: string) => {
    const dir = join(home.dir, name);
    await Deno.mkdir(dir);
    const tools = [{ name: `of_${name}`, description: `what ${name} says`, inputSchema: { type: "object" } }];
    await Deno.writeTextFile(`${dir}/tools.json`, JSON.stringify(tools));
    await Deno.writeTextFile(
      `${dir}/server.ts`,
      `Deno.args.splice(0, 0, "${dir}/tools.json"); await import("${ROOT}tests/servers/listed.ts");`,
    );
    return dir;
  };
  const [a, b] = [await folder("a"), await folder("b")];
  {
    await using client = await connectClient(home, { cwd: a });
    const text = textOf(await client.use("proj:of_a"));
    assert.match(text, /"\.\/server\.ts" is a path in .*\/a, which is not trusted/);
    assert.match(text, /Run `agentcards trust` in that folder, or set servers\.proj\.cwd/);
  }
  assert.match((await home.run(["status"], { cwd: a })).stdout, /a is not trusted: no server is started in it/);
  for (const cwd of [a, b]) await home.run(["trust", "--yes"], { cwd });
  await using inA = await connectClient(home, { cwd: a });
  assert.match(textOf(await inA.call("search_tools", { server: "proj" })), /of_a/);
  await using inB = await connectClient(home, { cwd: b });
  const seen = textOf(await inB.call("search_tools", { server: "proj" }));
  assert.ok(seen.includes("of_b") && !seen.includes("of_a"), seen);
  assert.match(textOf(await inB.use("proj:of_a")), /There is no tool/);
  assert.equal(textOf(await inB.use("shared:place")), await Deno.realPath(`${home.dir}/run/shared`));
  assert.equal(textOf(await inA.use("shared:place")), await Deno.realPath(`${home.dir}/run/shared`));
});

Deno.test("a folder is trusted by agentcards trust, or by Claude Code's record of exactly it or its repository", async () => {
  await using home = await createTestHome({ servers: { kit: KIT } });
  const user = join(home.dir, "user");
  const folders = ["plain", "accepted", "accepted/below", "refused", "repo/.git", "repo/sub", "repo/sub/own/.git"];
  for (const name of folders) await Deno.mkdir(join(user, name), { recursive: true });
  const record = (folder: string, hasTrustDialogAccepted: unknown) => [join(user, folder), { hasTrustDialogAccepted }];
  const projects = Object.fromEntries([
    record(".", true),
    record("accepted", true),
    record("refused", false),
    record("plain", "true"),
    record("repo", true),
  ]);
  await Deno.writeTextFile(join(user, ".claude.json"), JSON.stringify({ projects }));
  const env = { HOME: user };
  const place = async (name: string, more: Record<string, string> = {}) => {
    const { stdout, stderr } = await home.run(["call", "kit:place"], {
      cwd: join(user, name),
      env: { ...env, ...more },
    });
    const where = stdout.trim() || stderr;
    return where === await Deno.realPath(join(user, name)) ? "here" : where.endsWith("/run/kit") ? "neutral" : where;
  };
  assert.equal(await place("plain"), "neutral");
  assert.equal(await place("accepted"), "here");
  assert.equal(await place("accepted/below"), "neutral", "trust in a folder above says nothing");
  assert.equal(await place("refused"), "neutral");
  assert.equal(await place("repo/sub"), "here", "the repository is the project");
  assert.equal(await place("repo/sub/own"), "neutral", "another repository is another project");

  await Deno.mkdir(join(user, "plain/.claude"));
  const own = { projects: { [join(user, "plain")]: { hasTrustDialogAccepted: true } } };
  await Deno.writeTextFile(join(user, "plain/.claude/.claude.json"), JSON.stringify(own));
  const lying = { CLAUDE_CONFIG_DIR: join(user, "plain/.claude") };
  assert.equal(await place("plain", lying), "neutral", "a folder does not vouch for itself");

  const cwd = join(user, "plain");
  const run = (...args: string[]) => home.run(args, { cwd, env });
  assert.equal((await run("trust")).code, 2, "nobody is there to say yes");
  const trusted = await run("trust", "--yes");
  assert.match(trusted.stdout, /plain": once it is trusted, your servers are started in it: kit\.[^]*Trusted\./);
  assert.equal(await place("plain"), "here");
  assert.match((await run("status")).stdout, /folder +.*plain, trusted by `agentcards trust`/);
  assert.match((await run("trust", "--forget")).stdout, /plain is not trusted any more/);
  assert.equal(await place("plain"), "neutral");
});

Deno.test("cwd says where a server runs, and over HTTP there is no folder", async () => {
  await using home = await createTestHome((dir) => ({
    servers: {
      auto: KIT,
      session: { ...KIT, cwd: "session" },
      neutral: { ...KIT, cwd: "neutral" },
      path: { ...KIT, cwd: `${dir}/own` },
    },
  }));
  const cwd = join(home.dir, "project");
  for (const name of ["project", "own"]) await Deno.mkdir(join(home.dir, name));
  await home.run(["trust", "--yes"], { cwd: home.dir });
  const place = async (server: string) => {
    const { stdout, stderr } = await home.run(["call", `${server}:place`], { cwd });
    return stdout.trim().replace(await Deno.realPath(home.dir), "") || stderr;
  };
  assert.match(await place("session"), /project is not trusted[^]*agentcards trust/);
  await home.run(["trust", "--yes"], { cwd });
  assert.deepEqual([await place("auto"), await place("session")], ["/project", "/project"]);
  assert.deepEqual([await place("neutral"), await place("path")], ["/run/neutral", "/own"]);

  await using http = await startHttp(home);
  const call = async (tool: string) => {
    const response = await fetch(http.url, {
      method: "POST",
      headers: {
        authorization: `Bearer ${http.token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "call_tool",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: {
          name: "call_tool",
          arguments: { tool, arguments: {} },
          _meta: {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
          },
        },
      }),
    });
    return await response.text();
  };
  assert.match(await call("auto:place"), /run\/auto/);
  assert.match(await call("session:place"), /this session has no folder/);
});

Deno.test("a server that fails outside of an untrusted folder says so", async () => {
  await using home = await createTestHome({ servers: { bad: { command: "deno", args: ["eval", "Deno.exit(3)"] } } });
  const cwd = join(home.dir, "project");
  await Deno.mkdir(cwd);
  await using client = await connectClient(home, { cwd });
  const text = textOf(await client.use("bad:x"));
  assert.match(text, /started outside of .*project, which is not trusted[^]*agentcards trust/);
  assert.ok(await isThere(`${home.dir}/run/bad`));
});
