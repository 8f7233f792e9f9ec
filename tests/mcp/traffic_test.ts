import assert from "node:assert/strict";
import { createTraffic, unasked, unaskedBytes } from "../../src/mcp/traffic.ts";

Deno.test("a burst of notifications passes, a flood is dropped and counted, and each kind has its own budget", () => {
  const told: unknown[] = [];
  const traffic = createTraffic((dropped) => told.push(dropped));
  for (let i = 0; i < 200; i++) assert.ok(traffic.admit("progress", 100), `progress ${i}`);
  for (let i = 0; i < 1_000; i++) traffic.admit("progress", 100);
  assert.ok(traffic.floodsUntil > performance.now());
  assert.ok(traffic.dropped().progress > 900);
  assert.equal(told.length, 1, "a flood is told once a minute");
  assert.ok(traffic.admit("message", 100));
  assert.ok(!traffic.isSpent("message"));
});

Deno.test("long notifications use up their budget sooner, and one that is longer than all of it passes once", () => {
  const traffic = createTraffic(() => {});
  assert.ok(traffic.admit("message", 1_000_000));
  assert.ok(!traffic.admit("message", 1_000_000));
  assert.ok(traffic.admit("notification", 50_000_000));
  assert.ok(!traffic.admit("notification", 10));
});

Deno.test("garbage is forgiven up to ten thousand lines", () => {
  const traffic = createTraffic(() => {});
  for (let i = 0; i < 10_000; i++) assert.ok(traffic.garbage(), `line ${i}`);
  let forgiven = 0;
  while (traffic.garbage()) forgiven++;
  assert.ok(forgiven < 1_000);
});

Deno.test("the kind of a frame is told by its first bytes only where nothing else can be meant", () => {
  const kind = (text: string) => unaskedBytes(new TextEncoder().encode(text));
  assert.equal(kind('{"jsonrpc":"2.0","method":"notifications/message","params":{}}'), "message");
  assert.equal(kind('{"method": "notifications/progress", "params": {}}'), "progress");
  assert.equal(kind(' { "jsonrpc" : "2.0" , "method" : "notifications/tools/list_changed" }'), "notification");
  for (
    const other of [
      '{"jsonrpc":"2.0","id":"ac-1","result":{"method":"notifications/message"}}',
      '{"result":{"method":"notifications/message"},"id":"ac-1"}',
      '{"jsonrpc":"2.0","id":1,"method":"ping"}',
      "notifications/message",
      "",
    ]
  ) assert.equal(kind(other), undefined, other);
  assert.equal(unasked("elicitation/create"), "request");
  assert.equal(unasked(undefined), undefined);
});
