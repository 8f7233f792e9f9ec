import assert from "node:assert/strict";
import { createServer } from "../../src/mcp/server.ts";
import type { ServerEvent, Upstream } from "../../src/mcp/upstream.ts";
import { sleep } from "../fixtures/gateway.ts";

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
