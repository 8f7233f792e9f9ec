// `agentcards serve --http`: the same tools for clients that speak HTTP, and nothing for anybody else.
import assert from "node:assert/strict";
import http from "node:http";
import net from "node:net";
import type { Message, ToolResult } from "../fixtures/client.ts";
import { createTestHome, endProcess, testServer, until } from "../fixtures/gateway.ts";
import { type HttpServer, startHttp } from "../fixtures/http.ts";

const SERVERS = { kit: testServer("kit", "--offers"), modern: testServer("kit", "--modern", "--name=modern") };
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
};
const ping = { jsonrpc: "2.0", id: 1, method: "ping", params: {} };

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** A request with exactly these headers, which `fetch` would not let us choose. */
function send(
  { url }: HttpServer,
  { method = "POST", path, headers = {}, body }: Sent,
): Promise<{ status: number; text: string }> {
  const { hostname, port, pathname } = new URL(url);
  return new Promise((resolve, reject) => {
    const request = http.request({ hostname, port, method, path: path ?? pathname, headers }, (response) => {
      let text = "";
      response.on("data", (chunk) => text += chunk);
      response.on("end", () => resolve({ status: response.statusCode!, text }));
    });
    request.on("error", reject);
    request.end(body);
  });
}

const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const known = (server: HttpServer) => ({ ...json, authorization: `Bearer ${server.token}` });

/** The messages of an answer, whichever form it has. */
async function messagesOf(response: Response): Promise<Message[]> {
  const text = await response.text();
  if (!response.headers.get("content-type")?.includes("event-stream")) return [JSON.parse(text)];
  return [...text.matchAll(/^data: (.+)$/gm)].map((match) => JSON.parse(match[1]!));
}

function modern(server: HttpServer, message: Message, signal?: AbortSignal): Promise<Response> {
  const params = message.params as Message;
  return fetch(server.url, {
    method: "POST",
    headers: {
      ...known(server),
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": String(message.method),
      ...typeof params.name === "string" && { "mcp-name": params.name },
      ...typeof params.uri === "string" && { "mcp-name": params.uri },
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      ...message,
      params: { ...params, _meta: { ...META, ...params._meta as Message } },
    }),
    ...signal && { signal },
  });
}

const callTool = (tool: string, args: Message = {}, more: Message = {}) => ({
  id: crypto.randomUUID(),
  method: "tools/call",
  params: { name: "call_tool", arguments: { tool, arguments: args }, ...more },
});

async function legacySession(server: HttpServer) {
  const post = (body: Message, headers: Record<string, string> = {}) =>
    fetch(server.url, {
      method: "POST",
      headers: { ...known(server), ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", ...body }),
    });
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: { elicitation: {} },
    clientInfo: { name: "t", version: "1" },
  };
  const first = await post({ id: 0, method: "initialize", params });
  const id = first.headers.get("mcp-session-id")!;
  await first.body?.cancel();
  const headers = { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
  await (await post({ method: "notifications/initialized" }, headers)).body?.cancel();
  return { headers, post: (body: Message) => post(body, headers) };
}

Deno.test("http-002: http-003: http-004: who comes from elsewhere, knows no token or sends no JSON gets nothing", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  await using server = await startHttp(home);
  const { port } = new URL(server.url);
  const body = JSON.stringify(ping);
  const good = { ...known(server), host: `127.0.0.1:${port}` };
  const status = async (sent: Sent) => (await send(server, sent.method ? sent : { body, ...sent })).status;
  assert.equal((await Deno.stat(`${home.dir}/http.token`)).mode! & 0o777, 0o600);

  for (const origin of ["https://evil.example", "null"]) {
    assert.equal(await status({ headers: { ...good, origin } }), 403, origin);
    assert.equal(await status({ headers: { ...good, origin }, path: "/elsewhere" }), 403, "on every route");
  }
  assert.equal(await status({ headers: { ...good, host: "evil.example" } }), 403);
  assert.equal(await status({ headers: { ...good, host: `evil.example:${port}` }, method: "GET" }), 403);
  assert.equal(await status({ headers: { ...json } }), 401);
  assert.equal(await status({ headers: { ...good, authorization: "Bearer wrong" } }), 401);
  assert.equal(await status({ headers: { ...good, authorization: `Basic ${server.token}` } }), 401);
  assert.equal(await status({ headers: { ...json }, path: `/mcp?token=${server.token}` }), 401, "not in a query");
  assert.equal(await status({ headers: { ...good, "content-type": "text/plain" } }), 415);
  assert.equal(await status({ headers: { ...good, "content-type": "application/x-www-form-urlencoded" } }), 415);
  assert.equal(await status({ headers: { ...good, "content-encoding": "gzip" } }), 415);
  assert.equal(await status({ headers: good, method: "OPTIONS" }), 405, "no CORS");
  const preflight = await fetch(server.url, { method: "OPTIONS", headers: known(server) });
  await preflight.body?.cancel();
  assert.equal(preflight.headers.get("access-control-allow-origin"), null);
});

Deno.test("http-006: http-009: http-011: no other path, no flood, no upgrade", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  await using server = await startHttp(home);
  const headers = known(server);
  for (
    const path of ["/../../etc/passwd", "/%2e%2e%2fetc%2fpasswd", "/..%5cetc", "//etc/passwd", "/", "/mcp/", "/mcp/x"]
  ) {
    const { status, text } = await send(server, { method: "GET", path, headers });
    assert.ok(status === 404 || status === 400, `${path}: ${status}`);
    assert.doesNotMatch(text, /root:/);
  }
  const upgrade = { ...headers, connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" };
  const foreign = { ...upgrade, origin: "https://evil.example", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };
  assert.equal((await send(server, { method: "GET", headers: foreign })).status, 403);
  assert.equal((await send(server, { method: "GET", headers: upgrade })).status, 403);

  const large = "x".repeat(17 * 1024 * 1024);
  assert.equal(
    (await send(server, { headers: { ...headers, "content-length": String(large.length) }, body: large })).status,
    413,
  );
  const chunked = await fetch(server.url, {
    method: "POST",
    headers,
    body: new ReadableStream({
      async start(controller) {
        const chunk = new Uint8Array(1024 * 1024).fill(0x20);
        for (let i = 0; i < 20; i++) {
          controller.enqueue(chunk);
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
        controller.close();
      },
    }),
  }).catch(() => undefined);
  await chunked?.body?.cancel();
  assert.ok(chunked === undefined || chunked.status === 413, String(chunked?.status));
  assert.equal((await send(server, { headers, body: "{" })).status, 400);
  assert.equal((await send(server, { headers, body: "[".repeat(100_000) })).status, 400);
  // A length that lies: the request never ends, and nobody else notices.
  const { hostname, port } = new URL(server.url);
  const lying = net.connect(Number(port), hostname);
  lying.write(
    `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${server.token}\r\n` +
      "content-type: application/json\r\ncontent-length: 1000\r\n\r\n{}",
  );
  const [answer] = await messagesOf(await modern(server, callTool("kit:echo", { text: "still here" })));
  assert.match(JSON.stringify(answer), /kit: still here/);
  lying.destroy();
});

Deno.test("a stateless client calls, is asked, hears progress, cancels by leaving, and outlives the engine", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  await using server = await startHttp(home);
  const many = await Promise.all(Array.from({ length: 20 }, async (_, i) => {
    // The same id from everybody: nothing may cross over.
    const response = await modern(server, { ...callTool("kit:echo", { text: String(i) }), id: 7 });
    const [message] = await messagesOf(response);
    return (message!.result as ToolResult).content[0]!.text;
  }));
  assert.deepEqual(many, Array.from({ length: 20 }, (_, i) => `kit: ${i}`));

  const waiting = callTool("kit:wait", { ms: 60, steps: 3 }, { _meta: { progressToken: "mine" } });
  const told = await messagesOf(await modern(server, waiting));
  assert.deepEqual(told.map(({ method, params }) => [method, (params as Message)?.progressToken]), [
    ["notifications/progress", "mine"],
    ["notifications/progress", "mine"],
    ["notifications/progress", "mine"],
    [undefined, undefined],
  ]);

  for (const tool of ["kit:ask", "modern:ask"]) {
    const [{ result: asked }] = await messagesOf(await modern(server, callTool(tool))) as [{ result: ToolResult }];
    assert.equal(asked.resultType, "input_required");
    const [key] = Object.keys(asked.inputRequests!);
    const inputResponses = { [key!]: { action: "accept", content: { name: "Ada" } } };
    const again = callTool(tool, {}, { inputResponses, requestState: asked.requestState });
    assert.match(JSON.stringify(await messagesOf(await modern(server, again))), /Ada/);
    const forged = callTool("kit:echo", { text: "x" }, { inputResponses, requestState: asked.requestState });
    assert.match(JSON.stringify(await messagesOf(await modern(server, forged))), /-32602/, "good for that call only");
  }

  const leaving = new AbortController();
  const gone = modern(server, callTool("kit:wait", { ms: 20_000, steps: 1_000 }), leaving.signal).catch(() => "gone");
  await new Promise((resolve) => setTimeout(resolve, 300));
  leaving.abort();
  assert.equal(await gone, "gone");
  const cancelled = async () => JSON.stringify(await messagesOf(await modern(server, callTool("kit:cancelled"))));
  await until("the server hears that its client left", async () => /"wait"/.test(await cancelled()));

  await endProcess((await home.enginePid())!, "SIGKILL");
  // A call in the very moment of the engine's end is told so; the next one works.
  const again = async () =>
    JSON.stringify(await messagesOf(await modern(server, callTool("kit:echo", { text: "again" }))));
  await until("the next engine", async () => (await again()).includes("kit: again"));
});

Deno.test("a stateless client watches lists and resources over a stream of its own", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  await home.run(["index"]);
  await using server = await startHttp(home);
  const leaving = new AbortController();
  const uri = "agentcards://kit/note://one";
  const response = await modern(server, {
    id: "watch",
    method: "subscriptions/listen",
    params: { notifications: { resourceSubscriptions: [uri] } },
  }, leaving.signal);
  let heard = "";
  const reading = (async () => {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) heard += chunk;
  })().catch(() => {});
  await until("the stream", () => heard.includes("subscriptions/acknowledged"));
  await until("the news", async () => {
    await messagesOf(await modern(server, callTool("kit:touch")));
    return heard.includes("notifications/resources/updated");
  });
  assert.match(heard, new RegExp(`"uri":"${uri}"`));
  leaving.abort();
  await reading;
  const watched = async () => JSON.stringify(await messagesOf(await modern(server, callTool("kit:touch"))));
  await until("nobody watches any more", async () => !(await watched()).includes("note://one"));
});

Deno.test("an older client has a session: it is asked on its own stream, and its session ends when it says so", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  await using server = await startHttp(home);
  const session = await legacySession(server);
  const asking = await session.post({ id: 5, method: "tools/call", params: callTool("kit:ask").params });
  const reader = asking.body!.pipeThrough(new TextDecoderStream()).getReader();
  let heard = "";
  const next = async (what: RegExp) => {
    while (!what.test(heard)) heard += (await reader.read()).value ?? "";
  };
  await next(/elicitation\/create[^\n]*\n\n/);
  const question = JSON.parse(/^data: (.*elicitation\/create.*)$/m.exec(heard)![1]!);
  const answered = await session.post({ id: question.id, result: { action: "accept", content: { name: "Ada" } } });
  assert.equal(answered.status, 202);
  await answered.body?.cancel();
  await next(/Ada/);
  await reader.cancel();

  const nobody = await session.post({ id: 6, method: "tools/call", params: callTool("kit:process").params });
  const other = await legacySession(server);
  const theirs = await other.post({ id: 6, method: "tools/call", params: callTool("kit:process").params });
  const pids = [await messagesOf(nobody), await messagesOf(theirs)].map((messages) =>
    (messages.at(-1)!.result as ToolResult).content[0]!.text
  );
  assert.notEqual(pids[0], pids[1], "each session has servers of its own");

  const end = await fetch(server.url, { method: "DELETE", headers: { ...known(server), ...session.headers } });
  await end.body?.cancel();
  assert.equal(end.status, 200);
  const late = await session.post({ id: 7, method: "ping" });
  await late.body?.cancel();
  assert.equal(late.status, 404);
  const unknown = await fetch(server.url, {
    method: "POST",
    headers: known(server),
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  });
  await unknown.body?.cancel();
  assert.equal(unknown.status, 400, "a session must be begun first");
});

Deno.test("serve --http works in one process, too, and says when a port is taken", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  await using server = await startHttp(home, ["--standalone"]);
  const [answer] = await messagesOf(await modern(server, callTool("kit:echo", { text: "alone" })));
  assert.match(JSON.stringify(answer), /kit: alone/);
  await using other = await createTestHome();
  const { code, stderr } = await other.run(["serve", "--http", "--port", new URL(server.url).port]);
  assert.equal(code, 2);
  assert.match(stderr, /Cannot listen on 127\.0\.0\.1:\d+.*\nChoose another with --port/);
});

Deno.test("one client is not asked for another, and what is refused or too long leaves nobody waiting", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  const server = await startHttp(home);
  await messagesOf(await modern(server, callTool("kit:echo", { text: "up" })));
  const slow = modern(server, callTool("kit:wait", { ms: 1_500 }));
  await new Promise((resolve) => setTimeout(resolve, 200));
  const [asked] = await messagesOf(await modern(server, callTool("kit:ask")));
  assert.match(JSON.stringify(asked), /the question does not name one/);
  assert.match(JSON.stringify(await messagesOf(await slow)), /waited/);

  const handles = async () => (await Array.fromAsync(Deno.readDir(`/proc/${server.pid}/fd`))).length;
  const before = await handles();
  const initialize = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
  };
  for (let i = 0; i < 20; i++) {
    const headers = { ...known(server), accept: "application/json" };
    const refused = await fetch(server.url, { method: "POST", headers, body: JSON.stringify(initialize) });
    await refused.body?.cancel();
    assert.equal(refused.status, 406);
  }
  await until("nothing is left of them", async () => await handles() <= before + 5);

  const numbers = "1e20,".repeat(900_000);
  const long = await fetch(server.url, {
    method: "POST",
    headers: {
      ...known(server),
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "call_tool",
    },
    body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":${
      JSON.stringify(META)
    },"name":"call_tool","arguments":{"a":[${numbers}1]}}}`,
  });
  assert.match(JSON.stringify(await messagesOf(long)), /larger than 16777216 bytes/);

  // A body that never comes to its end does not keep it from ending.
  const { hostname, port } = new URL(server.url);
  const half = net.connect(Number(port), hostname);
  half.write(
    `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${server.token}\r\n` +
      "content-type: application/json\r\ncontent-length: 100\r\n\r\n{",
  );
  await new Promise((resolve) => setTimeout(resolve, 100));
  const began = performance.now();
  await server[Symbol.asyncDispose]();
  assert.ok(performance.now() - began < 5_000);
  half.destroy();
});
