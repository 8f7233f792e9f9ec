import assert from "node:assert/strict";
import { createDoor, doorLimits, type Entrant } from "../../src/sandbox/semaphore.ts";

function entrant(memoryMb: number, more: Partial<Entrant> = {}): Entrant {
  return { memoryMb, waitMs: 30_000, signal: new AbortController().signal, ...more };
}

async function enter(door: ReturnType<typeof createDoor>, memoryMb: number): Promise<() => void> {
  const leave = await door.enter(entrant(memoryMb));
  assert.ok(typeof leave === "function", String(leave));
  return leave;
}

Deno.test("runs wait while the memory of all of them together is taken", async () => {
  const door = createDoor({ runs: 8, memoryMb: 1_000 });
  const [first, second] = [await enter(door, 600), await enter(door, 400)];
  const order: string[] = [];
  const large = enter(door, 600).then((leave) => (order.push("large"), leave));
  const small = enter(door, 300).then((leave) => (order.push("small"), leave));
  second();
  const leaveSmall = await small;
  assert.deepEqual(order, ["small"], "a small run passes a large one that does not fit yet");
  second();
  assert.deepEqual(door.taken(), { runs: 2, memoryMb: 900 }, "room is given back once");
  first();
  const leaveLarge = await large;
  leaveSmall();
  leaveLarge();
  assert.deepEqual(door.taken(), { runs: 0, memoryMb: 0 });
});

Deno.test("runs wait while too many are under way", async () => {
  const door = createDoor({ runs: 1, memoryMb: 1_000 });
  const first = await enter(door, 10);
  const next = enter(door, 10);
  first();
  (await next)();
});

Deno.test("a run that cannot have room is told so: at once, after its time, or when it is cancelled", async () => {
  const door = createDoor({ runs: 8, memoryMb: 1_000 });
  assert.equal(await door.enter(entrant(1_001)), "full");
  const leave = await enter(door, 1_000);
  assert.equal(await door.enter(entrant(1, { waitMs: 20 })), "full");
  const controller = new AbortController();
  const waiting = door.enter(entrant(1, { signal: controller.signal }));
  controller.abort();
  assert.equal(await waiting, "cancelled");
  assert.equal(await door.enter(entrant(1, { signal: controller.signal })), "cancelled");
  // Those that gave up take no room when it comes free.
  leave();
  assert.deepEqual(door.taken(), { runs: 0, memoryMb: 0 });
});

Deno.test("all runs together get half of the memory, and one usual run always fits", () => {
  const { memoryMb } = doorLimits();
  const half = Deno.systemMemoryInfo().total / 2 / 1_048_576;
  assert.ok(memoryMb >= 512 && memoryMb <= Math.max(512, half), `${memoryMb} MB`);
});
