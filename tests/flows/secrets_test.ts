// Canaries in every place where a configuration holds a secret, and servers that say them in every way they can.
import assert from "node:assert/strict";
import { connectClient, type Message, type RawClient } from "../fixtures/client.ts";
import { createTestHome, type TestHome, testServer } from "../fixtures/gateway.ts";
import { commandOf, descendantsOf } from "../fixtures/processes.ts";
import { allOf, asides, leakyResult, listings, spellings } from "../servers/leaks.ts";
import { type WebServer, webServer } from "../servers/web.ts";

const CANARIES = {
  stored: "stored-canary-Qx71bZ",
  literal: "literal-canary-Lm92cY",
  session: "session-canary-Rt83dX",
  dsn: "dsn-canary-Vb64eW",
  header: "header-canary-Gh55fV",
  userinfo: "userinfo-canary-Jk46gU",
  query: "query-canary-Np37hT",
};
const all = Object.values(CANARIES);
/** A piece from the middle of every spelling: none of them may be left over. */
const PIECES = all.flatMap(spellings).map((form) => form.slice(form.length / 2 - 7, form.length / 2 + 7));
const ENV = { DATABASE_URL: `postgres://u:${CANARIES.session}@h/db`, UNASKED_TOKEN: "unasked-canary-123456" };

function assertNone(text: string, where: string): void {
  assert.deepEqual(PIECES.filter((piece) => text.includes(piece)), [], where);
}

/** A remote server that says what it was told: its Authorization header and its query. */
function leakyWeb(): WebServer {
  const secrets = [CANARIES.header, CANARIES.query, CANARIES.userinfo];
  const lists = listings(secrets);
  const reply = ({ id, method, params = {} }: Message) =>
    Response.json({ jsonrpc: "2.0", id, result: lists[String(method)]!(params as Message) });
  return webServer((call) => {
    const { id, params } = call as { id: unknown; params: { name: string; _meta?: Message } };
    if (params.name === "fail") return new Response(allOf(secrets), { status: 500 });
    if (params.name === "error") {
      const error = { code: -32000, message: allOf(secrets), data: { said: allOf(secrets) } };
      return Response.json({ jsonrpc: "2.0", id, error });
    }
    const messages = [...asides(secrets, params._meta?.progressToken), { id, result: leakyResult(secrets) }];
    const events = messages.map((message) => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
    const stream = new ReadableStream({
      async start(controller) {
        for (const event of events) {
          controller.enqueue(new TextEncoder().encode(event));
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
        controller.close();
      },
    });
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  }, Object.fromEntries(Object.keys(lists).map((method) => [method, reply])));
}

async function leakyHome(web: WebServer, more: Message = {}): Promise<TestHome> {
  const { host } = new URL(web.url);
  const home = await createTestHome({
    servers: {
      local: {
        ...testServer("leak", "--dsn", `postgres://u:${CANARIES.dsn}@h/db`),
        env: { LEAK_TOKEN: "${STORED}", LEAK_KEY: CANARIES.literal, LEAK_DATABASE: "${DATABASE_URL}" },
      },
      remote: {
        url: `http://${host}/mcp?api_key=${CANARIES.query}`,
        headers: { Authorization: "Bearer ${HEADER}" },
      },
      third: { url: `http://u:${CANARIES.userinfo}@${host}/mcp` },
    },
    ...more,
  });
  const stored = `STORED=${CANARIES.stored}\nHEADER=${CANARIES.header}\nREGION=eu-central-1\nSTAGE=production\n`;
  await Deno.writeTextFile(`${home.dir}/secrets.env`, stored, { mode: 0o600 });
  return home;
}

/** Every file of a home that holds a canary, apart from the two that are made for it. */
async function filesWithCanary(dir: string): Promise<string[]> {
  const patterns = await Deno.makeTempFile();
  await Deno.writeTextFile(patterns, [...PIECES, "unasked-canary"].join("\n"));
  const found = await new Deno.Command("grep", { args: ["-rlaF", "-f", patterns, dir] }).output();
  await Deno.remove(patterns);
  const files = new TextDecoder().decode(found.stdout).trim().split("\n").filter(Boolean);
  return files.filter((file) => !/\/(?:config\.yaml|secrets\.env)$/.test(file));
}

/** Programs besides the leaking server whose arguments or environment hold a canary. */
function programsWithCanary(engine: number): string[] {
  const own = (pid: number) => commandOf(pid).some((word) => word.endsWith("/servers/leak.ts"));
  const read = (path: string) => {
    try {
      return Deno.readTextFileSync(path);
    } catch {
      return "";
    }
  };
  return [engine, ...descendantsOf(engine)].filter((pid) => !own(pid)).filter((pid) => {
    const text = read(`/proc/${pid}/cmdline`) + read(`/proc/${pid}/environ`);
    return [...all, "unasked-canary"].some((canary) => text.includes(canary));
  }).map((pid) => commandOf(pid).join(" "));
}

async function callEverything(client: RawClient): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  const workflow = (tool: string) => ({ tasks: [{ id: "a", tool, arguments: {} }], options: { return: ["a"] } });
  for (const server of ["local", "remote", "third"]) {
    for (const tool of ["leak", "fail", "error"]) {
      answers[`${server}:${tool}`] = await client.request("tools/call", {
        name: "call_tool",
        arguments: { tool: `${server}:${tool}` },
        _meta: { progressToken: `${server} ${tool}` },
      });
    }
  }
  answers.died = await client.use("local:die");
  answers.workflow = await client.call("run_workflow", workflow("local:leak"));
  answers["failing workflow"] = await client.call("run_workflow", workflow("remote:fail"));
  const code =
    "const x = await local.leak({}); console.log(x); try { await remote.fail({}) } catch (e) { return [x, e.message] }";
  answers.code = await client.call("execute_code", { code });
  answers.search = await client.call("search_tools", { query: "leak", detail: "schema" });
  for (const method of ["resources/list", "prompts/list"]) answers[method] = await client.request(method);
  const { resources } = (answers["resources/list"] as { result: { resources: { uri: string }[] } }).result;
  const { prompts } = (answers["prompts/list"] as { result: { prompts: { name: string }[] } }).result;
  assert.ok(resources.length >= 2 && prompts.length >= 2);
  for (const { uri } of resources) answers[uri] = await client.request("resources/read", { uri });
  for (const { name } of prompts) answers[name] = await client.request("prompts/get", { name });
  return answers;
}

Deno.test("sec-101: sec-102: sec-105: sec-106: sec-107: sec-110: sec-113: no canary leaves or is stored, by any path", async () => {
  await using web = leakyWeb();
  await using home = await leakyHome(web, { engine: { log_level: "debug" } });
  {
    const capabilities = { elicitation: { form: {} }, sampling: {} };
    await using client = await connectClient(home, { env: ENV, capabilities });
    const answers = await callEverything(client);
    for (const [what, answer] of Object.entries(answers)) {
      assertNone(JSON.stringify(answer), what);
      assert.match(JSON.stringify(answer), /\[redacted\]/, `${what} says something`);
    }
    const asides = JSON.stringify(client.others);
    assertNone(asides, "notifications and questions");
    for (const method of ["progress", "message", "elicitation/create", "sampling/createMessage"]) {
      const said = client.others.filter((message) => String(message.method).includes(method));
      const texts = JSON.stringify(said);
      assert.ok(said.length >= 2, `${method} of both transports`);
      assert.match(texts, /\[redacted\]/, method);
    }
    assert.doesNotMatch(client.stderr(), /canary/);
    assert.deepEqual(programsWithCanary((await home.enginePid())!), []);
    const status = await home.run(["status", "--json"], { env: ENV });
    assertNone(status.stdout + status.stderr, "status");
    assertNone(JSON.stringify(await home.run(["call", "remote:fail"], { env: ENV })), "the command line");
  }
  await home.run(["engine", "stop"]);
  assert.deepEqual(await filesWithCanary(home.dir), []);
});

Deno.test("an answer of a remote server that is nested too deeply fails that call only", async () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  let isDeep = true;
  await using web = webServer(({ id }) => {
    const body = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"a":${deep}}}`;
    return isDeep ? new Response(`data: ${body}\n\n`, { headers: { "content-type": "text/event-stream" } }) : undefined;
  });
  const server = { url: web.url, headers: { Authorization: "Bearer header-canary" } };
  await using home = await createTestHome({ servers: { web: server } });
  await using client = await connectClient(home);
  assert.match(JSON.stringify(await client.use("web:act")), /nested too deeply/);
  isDeep = false;
  assert.match(JSON.stringify(await client.use("web:act")), /from the web/);
});

Deno.test("no canary leaves in direct mode, and what is no secret stays as it is", async () => {
  await using web = leakyWeb();
  await using home = await leakyHome(web, { expose: { tools: "direct" } });
  await using client = await connectClient(home, { env: ENV });
  const listed = await client.request("tools/list");
  assertNone(JSON.stringify(listed), "the list of tools");
  const { tools } = listed.result as { tools: { name: string }[] };
  const named = (server: string) => tools.find(({ name }) => name.includes(server) && name.endsWith("leak"))!.name;
  for (const server of ["local", "remote"]) {
    const answer = JSON.stringify(await client.request("tools/call", { name: named(server), arguments: {} }));
    assertNone(answer, server);
    assert.match(answer, /\[redacted\]/);
  }
  const { secrets } = JSON.parse((await home.run(["status", "--json"], { env: ENV })).stdout);
  const names = secrets.names.map(({ name }: { name: string }) => name);
  assert.deepEqual(names.filter((name: string) => /REGION|STAGE/.test(name)), []);
  for (const name of ["LEAK_TOKEN", "LEAK_KEY", "DATABASE_URL", "dsn", "Authorization", "url"]) {
    assert.ok(names.includes(name), `${name} is among ${names}`);
  }
  assert.deepEqual(secrets.in_arguments, [{ name: "dsn", places: ["servers.local.args"] }]);
});
