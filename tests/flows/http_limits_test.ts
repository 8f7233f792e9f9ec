// Strangers on the same machine can reach the port of `serve --http` without a token.
import assert from "node:assert/strict";
import net from "node:net";
import { listenHttp } from "../../src/serve/http/node_server.ts";
import { createTestHome, isAlive, sleep, testServer, until } from "../fixtures/gateway.ts";
import { type HttpServer, startHttp } from "../fixtures/http.ts";

interface Raw {
  readonly said: () => string;
  readonly isClosed: () => boolean;
  destroy(): void;
}

/** Opens a connection and writes bytes that no client library would. */
function connectRaw(port: number, bytes: string): Raw {
  let said = "";
  let isClosed = false;
  const socket = net.connect(port, "127.0.0.1");
  socket.on("data", (data) => said += String(data));
  socket.on("close", () => isClosed = true);
  socket.on("error", () => isClosed = true);
  socket.write(bytes);
  return { said: () => said, isClosed: () => isClosed, destroy: () => socket.destroy() };
}

const portOf = ({ url }: Pick<HttpServer, "url">) => Number(new URL(url).port);
const HALF_A_HEADER = "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n";

async function callEcho({ url, token }: HttpServer): Promise<string> {
  const response = await fetch(url, {
    method: "POST",
    signal: AbortSignal.timeout(5_000),
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
    }),
  });
  return await response.text();
}

Deno.test("htt-101: 400 connections with half a header and few descriptors: the endpoint lives and serves", async () => {
  await using home = await createTestHome({ servers: { kit: testServer("kit") } });
  await using server = await startHttp(home, [], "ulimit -n 256 &&");
  assert.match(await callEcho(server), /serverInfo/);
  const strangers = Array.from({ length: 400 }, () => connectRaw(portOf(server), HALF_A_HEADER));
  try {
    await until("many are refused", () => strangers.filter((one) => one.isClosed()).length >= 150);
    assert.ok(isAlive(server.pid));
    // Those who hold a place without a whole header lose it.
    const isServing = async () => /serverInfo/.test(await callEcho(server).catch(() => ""));
    await until("the endpoint serves again", isServing, 90_000);
  } finally {
    for (const one of strangers) one.destroy();
  }
});

Deno.test("htt-103: headers and bodies that do not come to their end are closed at their deadlines", async () => {
  const server = await listenHttp({
    port: 0,
    handle: async (request) => new Response((await request.text().catch(() => "broken")).slice(0, 10)),
    onError: () => {},
    limits: { headersMs: 600, requestMs: 1_200, lookEveryMs: 100 },
  });
  try {
    const { port } = server.address() as net.AddressInfo;
    const header = connectRaw(port, HALF_A_HEADER);
    const body = connectRaw(port, `${HALF_A_HEADER}content-length: 100\r\n\r\nabc`);
    const whole = connectRaw(port, `${HALF_A_HEADER}content-length: 3\r\n\r\nabc`);
    await until("an answer", () => /\r\n\r\nabc|3\r\nabc/.test(whole.said()));
    await until("the end of half a header", header.isClosed);
    await until("the end of half a body", body.isClosed);
    whole.destroy();
  } finally {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
});

Deno.test("htt-104: HTTP/2 without TLS is not spoken", async () => {
  await using home = await createTestHome({});
  await using server = await startHttp(home);
  const settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00";
  const http2 = connectRaw(portOf(server), `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${settings}`);
  await until("the end of the connection", http2.isClosed);
  // A server that speaks it answers with a frame of its settings, whose fourth byte is 4.
  assert.ok(http2.said() === "" || http2.said().startsWith("HTTP/1.1 4"), JSON.stringify(http2.said()));
  await sleep(0);
});
