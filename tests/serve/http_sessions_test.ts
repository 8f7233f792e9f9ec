import assert from "node:assert/strict";
import { channelPair } from "../../src/serve/link/channel_pair.ts";
import { createLegacyHandler, type LegacyOptions } from "../../src/serve/http/legacy.ts";
import { sleep, until } from "../fixtures/gateway.ts";

type Message = Record<string, unknown>;

/** Sessions in front of an engine that answers everything but `slow` at once. */
function sessions(options: LegacyOptions) {
  const slow: (() => void)[] = [];
  const handler = createLegacyHandler(() => {
    const [near, far] = channelPair(1_000_000);
    void far.read((line) => {
      const { id, method } = JSON.parse(new TextDecoder().decode(line as Uint8Array)) as Message;
      if (id === undefined) return;
      const result = method === "initialize" ? { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: {} } : {};
      const answer = () => far.write(JSON.stringify({ jsonrpc: "2.0", id, result }));
      if (method === "slow") slow.push(answer);
      else answer();
    });
    return Promise.resolve({ channel: near, pid: 1 });
  }, options);
  const post = (message: Message, session?: string) =>
    handler.fetch(
      new Request("http://127.0.0.1/mcp", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...session && { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" },
        },
      }),
      { jsonrpc: "2.0", ...message },
    );
  return {
    ...handler,
    slow,
    post,
    async begin(): Promise<string> {
      const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
      const response = await post({ id: 0, method: "initialize", params });
      await response.text();
      return response.headers.get("mcp-session-id")!;
    },
    /** The answer's status; 404 once the session is forgotten. */
    async ping(session: string): Promise<number> {
      const response = await post({ id: 1, method: "ping" }, session);
      await response.text();
      return response.status;
    },
  };
}

Deno.test("a session is forgotten when nobody uses it, and not while a call of it takes its time", async () => {
  const http = sessions({ keptMs: 100, lookEveryMs: 10 });
  const [idle, busy] = [await http.begin(), await http.begin()];
  const call = await http.post({ id: 7, method: "slow" }, busy);
  await until("the call is under way", () => http.slow.length === 1);
  await sleep(300);
  assert.equal(await http.ping(idle), 404);
  http.slow[0]!();
  assert.match(await call.text(), /"id":7/);
  assert.equal(await http.ping(busy), 200);
  await sleep(300);
  assert.equal(await http.ping(busy), 404);
  await http.close();
});

Deno.test("a call that was cancelled keeps no session", async () => {
  const http = sessions({ keptMs: 100, lookEveryMs: 10 });
  const session = await http.begin();
  const call = await http.post({ id: 7, method: "slow" }, session);
  await http.post({ method: "notifications/cancelled", params: { requestId: 7 } }, session);
  await sleep(300);
  assert.equal(await http.ping(session), 404);
  await call.body?.cancel();
  await http.close();
});

Deno.test("where there are too many sessions, one that nobody waits for makes room", async () => {
  const http = sessions({ maxSessions: 2 });
  const busy = await http.begin();
  const call = await http.post({ id: 7, method: "slow" }, busy);
  const [second, third] = [await http.begin(), await http.begin()];
  assert.deepEqual([await http.ping(busy), await http.ping(second), await http.ping(third)], [200, 404, 200]);
  await call.body?.cancel();
  await http.close();
});
