import assert from "node:assert/strict";
import { connectClient, textOf } from "../fixtures/client.ts";
import { createTestHome, npmServer, testServer, until } from "../fixtures/gateway.ts";
import { webServer } from "../servers/web.ts";

Deno.test("a Streamable HTTP server works like any other, with the headers that were configured", async () => {
  await using web = webServer();
  const server = { url: web.url, headers: { Authorization: "Bearer ${WEB_TOKEN}" } };
  await using home = await createTestHome({ servers: { web: server } });
  await using client = await connectClient(home, { env: { WEB_TOKEN: "canary-token-123456" } });
  assert.equal(textOf(await client.use("web:act")), "from the web");
  assert.ok(web.requests.every(({ headers }) => headers.get("authorization") === "Bearer canary-token-123456"));
  assert.match(textOf(await client.call("search_tools", { query: "acts" })), /web:act/);
});

Deno.test("a credential that a remote server echoes comes back redacted", async () => {
  await using web = webServer((call) =>
    Response.json({
      jsonrpc: "2.0",
      id: call.id,
      result: { content: [{ type: "text", text: "you sent canary-token-123456" }] },
    })
  );
  const server = { url: web.url, headers: { Authorization: "Bearer ${WEB_TOKEN}" } };
  await using home = await createTestHome({ servers: { web: server } });
  await using client = await connectClient(home, { env: { WEB_TOKEN: "canary-token-123456" } });
  assert.equal(textOf(await client.use("web:act")), "you sent [redacted]");
});

Deno.test("sec-002: nothing of the client's own environment or token reaches a remote server", async () => {
  await using web = webServer();
  await using home = await createTestHome({ servers: { web: { url: web.url } } });
  await using client = await connectClient(home, {
    env: { AUTHORIZATION: "canary-one", CLAUDE_CODE_TOKEN: "canary-two" },
  });
  await client.use("web:act", {}, { authorization: "in the meta data", token: "x" });
  const headers = JSON.stringify(web.requests.map((request) => [...request.headers]));
  assert.doesNotMatch(headers, /canary|authorization|cookie/i);
});

Deno.test("srv-035: endless and oversized bodies, wrong types and redirects fail that call only", async () => {
  const flood = () =>
    new ReadableStream({
      pull: (controller) => controller.enqueue(new TextEncoder().encode(`data: ${"x".repeat(1024 * 1024)}`)),
    });
  const never = () =>
    new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("data: ")) });
  const stream = { headers: { "content-type": "text/event-stream" } };
  const answers: Record<string, () => Response> = {
    "an endless event": () => new Response(flood(), stream),
    "an endless body": () => new Response(flood(), { headers: { "content-type": "application/json" } }),
    "a body that never ends": () => new Response(never(), stream),
    "another type": () => new Response("<html>", { headers: { "content-type": "text/html" } }),
    "a redirect": () => Response.redirect("http://127.0.0.1:9/elsewhere", 307),
    "an error": () => new Response("no", { status: 500 }),
  };
  let current = "";
  await using web = webServer(() => answers[current]!());
  const bad = { url: web.url, timeout: 1_500 };
  await using home = await createTestHome({
    servers: { bad, good: testServer("kit") },
    limits: { frame_bytes: 4 * 1024 * 1024 },
  });
  await using client = await connectClient(home);
  await client.use("good:echo", { text: "warm" });
  for (current of Object.keys(answers)) {
    const began = performance.now();
    const result = await client.use("bad:act");
    assert.equal(result.isError, true, current);
    assert.ok(performance.now() - began < 8_000, `${current} took ${performance.now() - began} ms`);
    assert.equal(textOf(await client.use("good:echo", { text: current })), `kit: ${current}`);
  }
});

Deno.test("a remote server that says nothing is given up, and one that forgot the session is connected to anew", async () => {
  const silent = Deno.serve(
    { port: 0, onListen: () => {} },
    (request) =>
      request.method === "POST"
        ? new Response(null, { status: 405 })
        : new Response(new ReadableStream(), { headers: { "content-type": "text/event-stream" } }),
  );
  let forgotten = 0;
  await using web = webServer(() => forgotten++ === 0 ? new Response("Session not found", { status: 404 }) : undefined);
  const servers = {
    mute: { url: `http://127.0.0.1:${silent.addr.port}/mcp`, start_timeout: 800 },
    web: { url: web.url },
  };
  await using home = await createTestHome({ servers });
  await using client = await connectClient(home);
  const began = performance.now();
  assert.match(textOf(await client.use("mute:act")), /Cannot connect to server "mute"/);
  assert.ok(performance.now() - began < 15_000);
  assert.match(textOf(await client.use("web:act")), /failed: .*404|failed: .*Session not found/s);
  assert.equal(textOf(await client.use("web:act")), "from the web");
  await silent.shutdown().catch(() => {});
});

Deno.test("srv-037: a session id stays with the connection that was given it", async () => {
  await using web = webServer();
  await using home = await createTestHome({ servers: { web: { url: web.url } } });
  await using one = await connectClient(home);
  await using two = await connectClient(home);
  for (const client of [one, two, one]) await client.use("web:act");
  const calls = web.requests.filter(({ body }) => body.method === "tools/call");
  const [first, second, third] = calls.map(({ headers }) => headers.get("mcp-session-id"));
  assert.ok(first && second);
  assert.notEqual(first, second);
  assert.equal(third, first);
});

Deno.test("a server that wants a sign-in says so, and one that is not there is named", async () => {
  await using web = Deno.serve({ port: 0, onListen: () => {} }, () => new Response("no", { status: 401 }));
  const servers = {
    locked: { url: `http://127.0.0.1:${web.addr.port}/mcp` },
    gone: { url: "http://127.0.0.1:9/mcp" },
    odd: { url: "javascript:alert(1)" },
  };
  await using home = await createTestHome({ servers });
  await using client = await connectClient(home);
  assert.match(textOf(await client.use("locked:act")), /Server "locked" needs a sign-in: agentcards login locked/);
  assert.match(textOf(await client.use("gone:act")), /Cannot connect to server "gone"/);
  assert.match(textOf(await client.use("odd:act")), /not an http or https address/);
});

for (const [transport, path] of [["streamableHttp", "mcp"], ["sse", "sse"]] as const) {
  Deno.test(`server-everything works over ${transport}`, async () => {
    const port = 20_000 + Math.floor(Math.random() * 20_000);
    const { command, args } = npmServer("everything", transport);
    const remote = new Deno.Command(command, {
      args,
      env: { PORT: String(port) },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    try {
      await until("it listens", () => Deno.connect({ port }).then((conn) => (conn.close(), true), () => false), 15_000);
      await using home = await createTestHome({ servers: { remote: { url: `http://127.0.0.1:${port}/${path}` } } });
      await using client = await connectClient(home);
      assert.equal(textOf(await client.use("remote:echo", { message: "far" })), "Echo: far");
      const image = await client.use("remote:get-tiny-image");
      assert.ok(image.content.some(({ type }) => type === "image"));
    } finally {
      remote.kill("SIGKILL");
      await remote.status;
    }
  });
}
