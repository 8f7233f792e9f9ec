import assert from "node:assert/strict";
import { createServer } from "../../src/mcp/server.ts";
import type { ServerEvent, Upstream } from "../../src/mcp/upstream.ts";
import type { CallResult } from "../../src/model/call.ts";
import { sleep, until } from "../fixtures/gateway.ts";

Deno.test("dos-110: lists that keep changing are read ever more rarely", async () => {
  let tell: ((event: ServerEvent) => void) | undefined;
  let reads = 0;
  const closed = Promise.withResolvers<string>();
  const upstream: Upstream = {
    era: { kind: "legacy" },
    capabilities: {},
    request: () => Promise.reject(new Error("nothing is asked here")),
    notify() {},
    watch: () => Promise.resolve(),
    closed: closed.promise,
    close: () => Promise.resolve(closed.resolve("it was stopped")),
  };
  await using server = createServer({
    name: "changing",
    idleStopMs: 0,
    connect({ onEvent }) {
      tell = onEvent;
      return Promise.resolve(upstream);
    },
    onServerEvent() {},
    list() {
      reads++;
      return Promise.resolve({ tools: [], dropped: [], repaired: [] });
    },
    onEvent() {},
    dropped: () => ({ message: 0, progress: 0, notification: 0, request: 0, garbage: 0 }),
  });
  await server.catalogue();
  const until = performance.now() + 8_500;
  for (; performance.now() < until; await sleep(20)) tell!({ kind: "list_changed", list: "tools" });
  // Once at the start, then after 0, 1, 2, 3 and 5 s; once a second would be ten.
  assert.ok(reads >= 3 && reads <= 7, `the lists were read ${reads} times`);
});

Deno.test("ping() asks a process that runs and does nothing, and is no use of it", async () => {
  const asked: string[] = [];
  const closed = Promise.withResolvers<string>();
  let answer: () => Promise<CallResult> = () => Promise.resolve({ kind: "error", code: -32601, message: "no" });
  const upstream: Upstream = {
    era: { kind: "legacy" },
    capabilities: {},
    request: (method) => (asked.push(method), answer()),
    notify() {},
    watch: () => Promise.resolve(),
    closed: closed.promise,
    close: () => Promise.resolve(closed.resolve("it was stopped")),
  };
  let starts = 0;
  await using server = createServer({
    name: "quiet",
    idleStopMs: 150,
    connect: () => (starts++, Promise.resolve(upstream)),
    onServerEvent() {},
    list: () => Promise.resolve({ tools: [], dropped: [], repaired: [] }),
    onEvent() {},
    dropped: () => ({ message: 0, progress: 0, notification: 0, request: 0, garbage: 0 }),
  });
  assert.equal(await server.ping(50), undefined);
  assert.equal(starts, 0, "none is started for it");
  await server.catalogue();
  assert.equal(await server.ping(50), undefined, "an error is an answer, too");
  answer = () => Promise.reject(new Error("it is stuck"));
  assert.equal(await server.ping(50), "it is stuck");
  assert.deepEqual([server.status().state, server.status().silent], ["running", "it is stuck"]);
  const call = Promise.withResolvers<CallResult>();
  answer = () => call.promise;
  const calling = server.request("tools/call", {}, { timeoutMs: 1_000 });
  assert.equal(await server.ping(50), undefined, "a call is under way");
  call.resolve({ kind: "result", result: {} });
  await calling;
  assert.deepEqual(asked, ["ping", "ping", "tools/call"]);
  const pinging = setInterval(() => void server.ping(50), 20);
  await until("its stop", () => server.status().state === "stopped", 5_000);
  clearInterval(pinging);
});
