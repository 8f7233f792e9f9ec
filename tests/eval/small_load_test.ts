// Small versions of the measuring commands about load and growth.
import assert from "node:assert/strict";
import { evaluate } from "./evaluate.ts";

Deno.test("eval soak: a few seconds of every kind of call, without an error", async () => {
  const figures = await evaluate("soak", "--minutes", "0.15", "--rate", "20");
  assert.equal(figures.errors, 0, JSON.stringify(figures));
  assert.ok(Number(figures.calls) > 100);
  assert.ok(Number.isFinite(figures.slope_mb_per_minute));
  const { first, last } = figures.handles as { first: number; last: number };
  assert.ok(last <= first + 10, `${first} handles became ${last}`);
});

Deno.test("eval growth measures the files of the database, and the first call after a start", async () => {
  const { settled, first_call_ms } = await evaluate("growth", "--runs", "60", "--retention", "20", "--samples", "1");
  const { data_mb, wal_mb } = settled as { data_mb: number; wal_mb: number };
  const { clean, killed } = first_call_ms as { clean: number[]; killed: number[] };
  assert.ok(data_mb > wal_mb && data_mb < 60 && wal_mb >= 16, JSON.stringify(settled));
  assert.ok([...clean, ...killed].length === 6 && Math.max(...clean, ...killed) < 30_000);
});

Deno.test("eval journal prints what a task costs, and how soon a killed run goes on", async () => {
  const small = ["--tasks", "20", "--rounds", "3", "--resume-tasks", "50", "--resume-rounds", "1"];
  const figures = await evaluate("journal", ...small);
  for (const key of ["chain_cpu_ms", "fan_cpu_ms", "resume_ms", "resume_from_connect_ms", "resume_warm_ms"]) {
    assert.ok(Number(figures[key]) > 0, `${key} is ${figures[key]}`);
  }
  assert.ok(Number(figures.fan_commits) <= 5, `${figures.fan_commits} commits`);
});
