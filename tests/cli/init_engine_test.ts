// `agentcards init` as a user types it: with an engine, servers that are started, and an agent afterwards.
import assert from "node:assert/strict";
import { npxEntry } from "../../src/cli/init/npx_entry.ts";
import { connectClient, textOf } from "../fixtures/client.ts";
import { createTestHome, PROGRAM, testServer, until, withPreset } from "../fixtures/gateway.ts";
import { writeFiles } from "../config/clients/client_files.ts";

const TOKEN = "abcdefghijklmnop123456";

/** A user without a configuration of ours, and with these files. */
async function createUser(files: Record<string, unknown>) {
  const home = await createTestHome();
  await Deno.remove(`${home.dir}/config.yaml`);
  const user = await Deno.makeTempDir({ prefix: "ac-user-" });
  await writeFiles(
    user,
    Object.fromEntries(Object.entries(files).map(([path, value]) => [path, JSON.stringify(value)])),
  );
  // A path without `claude`: one that runs on this machine is not asked to change its file.
  return {
    home,
    user,
    env: { HOME: user, PATH: "/usr/bin:/bin" },
    async [Symbol.asyncDispose]() {
      await home[Symbol.asyncDispose]();
      await Deno.remove(user, { recursive: true }).catch(() => {});
    },
  };
}

/** A remote server that answers 401 to whoever has no credential. */
function remoteServer() {
  const called: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    if (!request.headers.has("authorization")) return new Response("Unauthorized", { status: 401 });
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const { id, method, params } = await request.json();
    if (id === undefined) return new Response(null, { status: 202 });
    const answer = (result: unknown) => Response.json({ jsonrpc: "2.0", id, result });
    if (method === "initialize") {
      const serverInfo = { name: "remote", version: "1" };
      return answer({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo });
    }
    const tool = (name: string) => ({ name, description: `Will ${name}`, inputSchema: { type: "object" } });
    if (method === "tools/list") return answer({ tools: ["delete_repo", "read_repo"].map(tool) });
    if (method !== "tools/call") return Response.json({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } });
    called.push(params.name);
    return answer({ content: [{ type: "text", text: `did ${params.name}` }] });
  });
  const url = `http://127.0.0.1:${server.addr.port}/mcp`;
  return { url, called, [Symbol.asyncDispose]: () => server.shutdown() };
}

Deno.test("a deny rule of a server that stays in Claude holds for its twin; one that wants a sign-in moves", async () => {
  await using remote = remoteServer();
  const { url } = remote;
  const oauth = { clientId: "a", authServerMetadataUrl: url };
  await using world = await createUser({
    ".claude.json": { mcpServers: { github: { type: "http", url, oauth }, kit: testServer("kit") } },
    ".claude/settings.json": {
      permissions: { allow: ["mcp__github"], deny: ["mcp__github__delete_repo"] },
    },
    ".cursor/mcp.json": {
      mcpServers: { github: { url, headers: { Authorization: `Bearer ${TOKEN}` } }, account: { url } },
    },
  });
  const { home, user, env } = world;
  const done = await home.run(["init", "--yes"], { env });
  assert.equal(done.code, 0, done.stdout + done.stderr);
  const claude = JSON.parse(await Deno.readTextFile(`${user}/.claude.json`));
  assert.deepEqual(Object.keys(claude.mcpServers).sort(), ["agentcards", "github"]);
  const cursor = JSON.parse(await Deno.readTextFile(`${user}/.cursor/mcp.json`));
  assert.deepEqual(Object.keys(cursor.mcpServers), ["agentcards"]);
  assert.match(done.stdout, /account .*needs a sign-in: agentcards login account/);
  await using client = await connectClient(home, { args: claude.mcpServers.agentcards.args.slice(-3) });
  assert.match(textOf(await client.call("search_tools", { server: "kit" })), /kit:add\(/);
  assert.match(textOf(await client.use("github:read_repo")), /There is no server "github"/);
  await using other = await connectClient(home, { args: ["serve", "--client", "cursor"] });
  assert.match(textOf(await other.use("kit:add", { a: 1, b: 2 })), /There is no server "kit"/);
  assert.match(textOf(await other.call("search_tools", {})), /github/);
  assert.ok(!/kit/.test(textOf(await other.call("search_tools", { query: "add two numbers" }))));
  await using nameless = await connectClient(home);
  for (const tool of ["kit:add", "github:read_repo"]) {
    assert.match(textOf(await nameless.use(tool, { a: 1, b: 2 })), /There is no server/);
  }
  const listed = await home.run(["tools"]);
  assert.match(listed.stdout, /^kit is for claude-code only$/m);
  assert.match(listed.stdout, /^github is for cursor only$/m);
  assert.match((await home.run(["status"])).stdout, / for\n[^]*kit .* claude-code\n/);
  assert.equal(textOf(await other.use("github:read_repo")), "did read_repo");
  assert.match(textOf(await other.use("github:delete_repo")), /may not be called: policy\.deny has/);
  assert.deepEqual(remote.called, ["read_repo"]);
  assert.match(done.stdout, /policy\.deny: .*github:delete_repo/);
  assert.ok(!/allow rule/.test(done.stdout), "an allow rule of a server that stays has its effect");
});

Deno.test("a server is for the clients that its configuration names, as soon as that is saved", async () => {
  await using home = await createTestHome({ servers: { kit: { ...testServer("kit"), clients: ["cursor"] } } });
  await using cursor = await connectClient(home, { args: ["serve", "--client", "cursor"] });
  assert.equal(textOf(await cursor.use("kit:add", { a: 1, b: 2 })), "3");
  await Deno.writeTextFile(
    `${home.dir}/config.yaml`,
    JSON.stringify(withPreset({ servers: { kit: testServer("kit") } })),
  );
  await using zed = await connectClient(home, { args: ["serve", "--client", "zed"] });
  assert.equal(textOf(await zed.use("kit:add", { a: 1, b: 2 })), "3");
  const only = JSON.stringify(withPreset({ servers: { kit: { ...testServer("kit"), clients: ["zed"] } } }));
  await Deno.writeTextFile(`${home.dir}/config.yaml`, only);
  const isHidden = async () => /There is no server/.test(textOf(await cursor.use("kit:add", { a: 1, b: 2 })));
  await until("the server is hidden from the client that it is not for any more", isHidden, 10_000);
  assert.equal(textOf(await zed.use("kit:add", { a: 1, b: 2 })), "3");
  const wrong = await home.run(["serve", "--client", "Claude Code"]);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /this is no name of a client[^]*small letters/);
});

Deno.test("init that npx started writes an entry that goes through npx, not one into its cache", async () => {
  const cache = `${await Deno.makeTempDir()}/_npx/a1b2`;
  const main = `${cache}/node_modules/agentcards/app/main.js`;
  const entry = async (data: unknown) => {
    await writeFiles(cache, { "package.json": JSON.stringify(data) });
    return (await npxEntry(main))?.entry;
  };
  const serve = ["agentcards", "serve"];
  const named = { dependencies: { agentcards: "^1.0.0" }, _npx: { packages: ["agentcards"] } };
  assert.deepEqual(await entry(named), { command: "npx", args: ["-y", ...serve] });
  const version = { ...named, _npx: { packages: ["agentcards@1.2.3"] } };
  assert.deepEqual((await entry(version))?.args, ["-y", "--package=agentcards@1.2.3", ...serve]);
  const file = { dependencies: { agentcards: "file:../../x.tgz" }, _npx: { packages: ["./x.tgz"] } };
  const path = `--package=${cache.split("/_npx")[0]}/x.tgz`;
  assert.deepEqual((await entry(file))?.args, ["-y", path, ...serve]);
  assert.match((await npxEntry(main))!.note, /npm install -g/);
  assert.equal(await npxEntry("/usr/lib/node_modules/agentcards/app/main.js"), undefined);
  await Deno.remove(cache.split("/_npx")[0]!, { recursive: true });
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.test(`init that gets ${signal} while a server starts takes everything back`, async () => {
    const marker = await Deno.makeTempFile();
    await Deno.remove(marker);
    await using world = await createUser({
      ".claude.json": { mcpServers: { kit: testServer("kit") } },
      ".cursor/mcp.json": {
        mcpServers: { slow: { command: "sh", args: ["-c", `touch ${marker}; sleep 60`], env: { TOKEN } } },
      },
    });
    const { home, user, env } = world;
    const clients = () =>
      Promise.all([".claude.json", ".cursor/mcp.json"].map((f) => Deno.readTextFile(`${user}/${f}`)));
    const before = await clients();
    const child = new Deno.Command(PROGRAM[0]!, {
      args: [...PROGRAM.slice(1), "init", "--yes"],
      env: { ...home.env, ...env },
      cwd: home.dir,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const ended = child.output();
    const isThere = (path: string) => Deno.stat(path).then(() => true, () => false);
    await until("the slow server is started", () => isThere(marker));
    assert.ok(await isThere(`${home.dir}/config.yaml`));
    child.kill(signal);
    const { code, stderr } = await ended;
    await Deno.remove(marker);
    assert.deepEqual([code, new TextDecoder().decode(stderr).trim()], [130, "Interrupted. Nothing was changed."]);
    assert.deepEqual(await clients(), before);
    for (const file of ["config.yaml", "secrets.env"]) assert.ok(!await isThere(`${home.dir}/${file}`), file);
    assert.deepEqual((await Array.fromAsync(Deno.readDir(`${home.dir}/backups`))).map(({ name }) => name), []);
  });
}
