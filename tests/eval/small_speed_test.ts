// Small versions of the measuring commands about time: they run and print what they promise.
import assert from "node:assert/strict";
import { evaluate } from "./evaluate.ts";

Deno.test("eval startup starts no server for tools/list and leaves no process", async () => {
  const figures = await evaluate("startup", "--servers", "2", "--rounds", "2");
  assert.equal(figures.children, 0);
  assert.equal(figures.orphans, 0);
  for (const key of ["direct_ms", "cold_ms", "warm_ms", "cold_ratio", "warm_ratio", "serve_rss_mb", "engine_rss_mb"]) {
    assert.ok(Number(figures[key]) > 0, `${key} is ${figures[key]}`);
  }
});

Deno.test("eval overhead prints all its figures", async () => {
  const figures = await evaluate("overhead", "--calls", "100");
  assert.equal(figures.calls, 100);
  for (const way of ["direct", "gateway"]) {
    assert.deepEqual(Object.keys(figures[way] as Record<string, number>), ["p10", "p50", "p95"]);
  }
  assert.ok(Number(figures.ratio_p50) > 0);
  assert.ok(Number(figures.parallel_ratio) > 0);
});

Deno.test("eval makespan holds the time at the client against the critical path", async () => {
  const figures = await evaluate("makespan", "--runs", "4", "--seed", "5", "--warm-ms", "1000");
  assert.equal(figures.n, 4);
  // By definition not below 1; how much above is for a quiet machine to say.
  for (const key of ["p50", "p95", "max"]) {
    assert.ok(Number(figures[key]) >= 1 && Number(figures[key]) < 2, `${key} is ${figures[key]}`);
  }
});

Deno.test("eval budgets has every figure beside its bound", async () => {
  const small = ["--rounds", "3", "--tools", "20", "--edges", "3", "--rest-ms", "0"];
  const { figures, missed } = await evaluate("budgets", ...small) as {
    figures: { name: string; measured: number; bound: number; least?: boolean }[];
    missed: string[];
  };
  assert.ok(figures.every(({ measured }) => measured > 0), JSON.stringify(figures));
  const bounds = figures.map(({ name, bound }) => `${name} ${bound}`);
  assert.deepEqual(bounds, [
    "graph, from the database 50",
    "PageRank and communities 100",
    "shortest path 1",
    "state, one event folded in 1",
    "checkpoint, a row on the disk 50",
    "sandbox start, with the run 100",
    "sandbox overhead 50",
    "20 tools indexed 60",
    "context 5",
    "vector search 100",
    "tool discovery 200",
    "workflow of five tools 3000",
    "four tools and code 3000",
    "five calls, in parallel 4",
    "event, until a watcher has it 5",
    "command, until it is taken 10",
    "loop, from decision to next pause 300",
    "suggestion 200",
    "speculative answer 300",
    "replan 200",
    "simple code 500",
    "engine, profile full 200",
    "engine, profile minimal 50",
  ]);
  const wrong = figures.filter(({ measured, bound, least }) => least ? measured < bound : measured > bound);
  assert.deepEqual(missed, wrong.map(({ name }) => name));
  assert.ok(!missed.includes("context"));
});
