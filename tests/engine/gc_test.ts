import assert from "node:assert/strict";
import { createSweeper } from "../../src/engine/gc.ts";

const MB = 1024 * 1024;

/** A sweeper over made-up memory: looks every five seconds at what it is told. */
function sweeper(floorMb: number) {
  let [used, now, sweeps, isBusy] = [0, 0, 0, false];
  const { look } = createSweeper({
    isBusy: () => isBusy,
    used: () => used,
    now: () => now,
    collect: () => {
      sweeps++;
      used = floorMb * MB;
    },
  });
  return {
    work(is: boolean) {
      isBusy = is;
    },
    sees(...sizesMb: number[]) {
      for (const mb of sizesMb) [used, now] = [mb * MB, now + 5_000], look();
      return sweeps;
    },
  };
}

Deno.test("what a start left behind is swept as soon as it is quiet, and then nothing without garbage", () => {
  const memory = sweeper(30);
  assert.equal(memory.sees(40, 55), 0, "it is still growing");
  assert.equal(memory.sees(55), 1);
  assert.equal(memory.sees(...Array(1_000).fill(30.1)), 1);
});

Deno.test("garbage is swept when nobody works, and not before it is worth it", () => {
  const memory = sweeper(30);
  memory.sees(50, 50);
  assert.equal(memory.sees(34, 37, 37, 37), 1, "too little");
  assert.equal(memory.sees(45, 50, 55), 1, "somebody works");
  assert.equal(memory.sees(55.1), 2);
});

Deno.test("who works on and on is interrupted once a minute at the most, and a run never", () => {
  const memory = sweeper(30);
  const busy = Array.from({ length: 12 * 10 }, (_, i) => 31 + (i % 12) * 4);
  memory.work(true);
  assert.equal(memory.sees(...busy, 50, 50), 0);
  memory.work(false);
  assert.equal(memory.sees(...busy), 10, "ten minutes");
});

Deno.test("where V8 collected by itself, what is left is what counts", () => {
  const memory = sweeper(30);
  memory.sees(50, 50, 39, 20);
  assert.equal(memory.sees(25, 27, 27), 1);
  assert.equal(memory.sees(29, 29), 2);
});
