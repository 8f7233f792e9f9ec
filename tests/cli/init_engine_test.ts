// `agentcards init` as a user types it: with an engine, servers that are started, and an agent afterwards.
import assert from "node:assert/strict";
import { connectClient, textOf } from "../fixtures/client.ts";
import { createTestHome, PROGRAM, testServer, until } from "../fixtures/gateway.ts";
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

for (const stays of ["after it answered 401", "because it signs in with OAuth"]) {
  Deno.test(`a deny rule of a server that stays in Claude ${stays} holds for its twin behind AgentCards`, async () => {
    await using remote = remoteServer();
    const { url } = remote;
    const github = { type: "http", url, ...stays.includes("OAuth") && { oauth: { clientId: "a" } } };
    await using world = await createUser({
      ".claude.json": { mcpServers: { github, kit: testServer("kit") } },
      ".claude/settings.json": { permissions: { allow: ["mcp__github"], deny: ["mcp__github__delete_repo"] } },
      ".cursor/mcp.json": { mcpServers: { github: { url, headers: { Authorization: `Bearer ${TOKEN}` } } } },
    });
    const { home, user, env } = world;
    const done = await home.run(["init", "--yes"], { env });
    assert.equal(done.code, 0, done.stdout + done.stderr);
    const claude = JSON.parse(await Deno.readTextFile(`${user}/.claude.json`));
    assert.deepEqual(Object.keys(claude.mcpServers).sort(), ["agentcards", "github"]);
    await using client = await connectClient(home);
    const server = stays.includes("401") ? "github-cursor" : "github";
    assert.equal(textOf(await client.use(`${server}:read_repo`)), "did read_repo");
    assert.match(textOf(await client.use(`${server}:delete_repo`)), /may not be called: policy\.deny has/);
    assert.deepEqual(remote.called, ["read_repo"]);
    assert.match(done.stdout, new RegExp(`policy\\.deny: ${server}:delete_repo\n`));
    assert.ok(
      !/allow rule/.test(done.stdout) || stays.includes("401"),
      "an allow rule of a server that stays has its effect",
    );
  });
}

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
