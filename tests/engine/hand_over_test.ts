import assert from "node:assert/strict";
import { createHandOver } from "../../src/engine/hand_over.ts";
import { createActivity } from "../../src/serve/start.ts";

/** An engine with a clock that the test moves, a second at a time. */
function createTestEngine() {
  let time = 0;
  const engine = { isDue: false, isRunning: false, stops: 0 };
  const activity = createActivity();
  const handOver = createHandOver({
    activity,
    isDue: () => engine.isDue,
    isRunning: () => engine.isRunning,
    stop: () => engine.stops++,
    now: () => time,
  });
  const begin = () => {
    activity.open++;
    return () => Object.assign(activity, { open: activity.open - 1, endedAt: time });
  };
  const pass = (seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      time += 1_000;
      handOver.look();
    }
  };
  return { engine, begin, handOver, pass };
}

Deno.test("an engine stays while no other version is installed", () => {
  const { engine, pass } = createTestEngine();
  pass(3_600);
  assert.equal(engine.stops, 0);
});

Deno.test("an engine that was replaced leaves after ten seconds without a call", () => {
  const { engine, begin, pass } = createTestEngine();
  pass(60);
  engine.isDue = true;
  pass(5);
  const ended = begin();
  pass(60);
  assert.equal(engine.stops, 0, "a call is under way");
  ended();
  pass(9);
  assert.equal(engine.stops, 0);
  pass(1);
  assert.equal(engine.stops, 1);
});

Deno.test("an engine that was replaced stays as long as a workflow runs", () => {
  const { engine, pass } = createTestEngine();
  Object.assign(engine, { isDue: true, isRunning: true });
  pass(300);
  assert.equal(engine.stops, 0);
  engine.isRunning = false;
  pass(1);
  assert.equal(engine.stops, 1);
});

Deno.test("a program that comes back as it was is no reason to leave", () => {
  const { engine, pass } = createTestEngine();
  engine.isDue = true;
  pass(8);
  engine.isDue = false;
  pass(1);
  engine.isDue = true;
  pass(8);
  assert.equal(engine.stops, 0);
});

Deno.test("an engine that cannot go on leaves when only calls are open that need the next one", () => {
  const { engine, begin, handOver, pass } = createTestEngine();
  Object.assign(engine, { isDue: true, isRunning: true });
  begin();
  const other = begin();
  handOver.drain();
  pass(5);
  assert.equal(engine.stops, 0, "the other call may end");
  other();
  pass(1);
  assert.equal(engine.stops, 1);
});

Deno.test("an engine that cannot go on waits ten seconds for calls at most", () => {
  const { engine, begin, handOver, pass } = createTestEngine();
  begin();
  begin();
  handOver.drain();
  pass(9);
  assert.equal(engine.stops, 0);
  pass(2);
  assert.ok(engine.stops > 0);
});
