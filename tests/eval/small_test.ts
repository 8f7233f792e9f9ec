// Small versions of the measuring commands: they run, print what they promise, and start and leave no process.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { sharedModels } from "../fixtures/gateway.ts";

const MAIN = fileURLToPath(new URL("./main.ts", import.meta.url));

async function evaluate(...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--quiet", "--cached-only", MAIN, ...args, "--json"],
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  assert.equal(code, 0, decoder.decode(stderr));
  return JSON.parse(decoder.decode(stdout).trim().split("\n").at(-1)!);
}

Deno.test("eval startup starts no server for tools/list and leaves no process", async () => {
  const figures = await evaluate("startup", "--servers", "2", "--rounds", "2");
  assert.equal(figures.children, 0);
  assert.equal(figures.orphans, 0);
  for (const key of ["direct_ms", "cold_ms", "warm_ms", "cold_ratio", "warm_ratio", "serve_rss_mb", "engine_rss_mb"]) {
    assert.ok(Number(figures[key]) > 0, `${key} is ${figures[key]}`);
  }
});

Deno.test("eval index keeps what can be used and names what cannot", async () => {
  const dir = await Deno.makeTempDir({ prefix: "ac-lists-" });
  const object = { type: "object" };
  const lists = {
    good: [{ name: "read", inputSchema: object }, { name: "write", inputSchema: object }],
    odd: [{ name: "read" }, { name: "list", inputSchema: { type: "array" } }, { inputSchema: object }, null],
  };
  try {
    for (const [name, tools] of Object.entries(lists)) {
      await Deno.writeTextFile(`${dir}/${name}.json`, JSON.stringify({ tools }));
    }
    const { ms, dropped_tools, repaired_tools, ...counts } = await evaluate("index", "--data", dir);
    assert.deepEqual(counts, { servers: 2, tools: 3, listed: 6, dropped: 3, repaired: 1, colliding: 1 });
    assert.match(String(dropped_tools), /odd:list: inputSchema has type "array"/);
    assert.match(String(repaired_tools), /odd:read: inputSchema was missing/);
    assert.ok(Number(ms) >= 0);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

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

Deno.test("eval answers: engines die under requests, every effect happens once and every answer is the run's own", async () => {
  const { trials, effects_twice, effects_lost, real_answers, requests_hit, errors } = await evaluate(
    "answers",
    "--trials",
    "4",
  );
  assert.deepEqual([trials, effects_twice, effects_lost, real_answers, errors], [4, 0, 0, 1, []]);
  assert.ok(Number(requests_hit) > 0);
});

Deno.test("eval stale: a read sees what was changed since the read before it, whoever changed it", async () => {
  const { trials, stale, sources } = await evaluate("stale", "--trials", "24");
  assert.deepEqual([trials, stale], [24, 0], JSON.stringify(sources));
  assert.equal(Object.keys(sources as object).length, 12, "three stores, four ways to change them");
});

Deno.test("eval truth: status, exit code, lists, results and repair agree with a model of them", async () => {
  const { runs, violations, first } = await evaluate("truth", "--runs", "12", "--seed", "7");
  assert.deepEqual([runs, violations], [12, 0], JSON.stringify(first));
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

Deno.test("eval context compares every server's tools with ours", async () => {
  const dir = await Deno.makeTempDir({ prefix: "ac-context-" });
  try {
    await Deno.mkdir(`${dir}/tools`);
    await Deno.writeTextFile(`${dir}/servers.json`, JSON.stringify([{ id: "one", command: "one", args: [] }]));
    const tool = { name: "t", description: "d".repeat(4_000), inputSchema: {}, outputSchema: { not: "counted" } };
    await Deno.writeTextFile(`${dir}/tools/one.json`, JSON.stringify({ tools: [tool] }));
    const figures = await evaluate("context", "--servers", `${dir}/servers.json`);
    assert.deepEqual([figures.servers, figures.tools], [1, 1]);
    assert.deepEqual([figures.direct_tokens, figures.direct_share], [1_012, 0.0051]);
    assert.ok(Number(figures.ours_tokens) > 0 && Number(figures.ours_share) < 0.01);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("eval retrieval ranks through the product's own index, counts groups and any, and keeps distractors apart", async () => {
  const dir = await Deno.makeTempDir({ prefix: "ac-retrieval-" });
  const lines = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).join("\n") + "\n";
  const tool = (id: string, description: string) => ({ id, server: "s", name: id, description });
  try {
    for (const folder of ["main", "other"]) await Deno.mkdir(`${dir}/${folder}`);
    const tools = [
      tool("send_mail", "Sends an email to somebody"),
      tool("post_letter", "Sends an email to somebody"),
      tool("list_files", "Lists the files of a directory"),
      tool("get_weather", "Tells the weather of a city"),
    ];
    await Deno.writeTextFile(`${dir}/main/tools.jsonl`, lines(tools));
    await Deno.writeTextFile(`${dir}/other/tools.jsonl`, lines([tool("get_weather", "Tells the weather of a city")]));
    const mail = { query: "write an email to Bob", gold: ["send_mail", "post_letter"] };
    await Deno.writeTextFile(
      `${dir}/main/queries.jsonl`,
      lines([
        { ...mail, gold_groups: [["send_mail", "post_letter"]] },
        { ...mail, any: true },
        mail,
        { query: "show the files in this directory", gold: ["list_files"] },
        { query: "show the files in this directory", gold: ["nowhere"] },
      ]),
    );
    const models = await sharedModels();
    const figures = await evaluate(
      "retrieval",
      "--data",
      `${dir}/main`,
      "--distractors",
      `${dir}/other`,
      "--models",
      models,
    );
    assert.equal(figures.n, 5);
    assert.equal(figures.tools, 5);
    // 1 + 1 + 1/2 + 1 + 0 of five.
    assert.equal(figures.recall_at_1, 70);
    assert.equal(figures.recall_at_5, 80);
    assert.equal(figures.hit_at_5, 80);
    assert.equal(figures.mrr, 80);
    for (const key of ["p50_ms", "p95_ms", "index_ms"]) assert.ok(Number(figures[key]) > 0, key);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("eval search counts names, answers and abstentions", async () => {
  const dir = await Deno.makeTempDir({ prefix: "ac-search-" });
  const tool = (name: string, description: string) => ({ name, description, inputSchema: { type: "object" } });
  try {
    await Deno.mkdir(`${dir}/lists`);
    const office = [tool("send_mail", "Sends an email to somebody"), tool("find", "Finds a document")];
    await Deno.writeTextFile(`${dir}/lists/office.json`, JSON.stringify({ tools: office }));
    const requests = [
      { query: "send an email to my boss", servable: true, gold: ["office:send_mail"] },
      { query: "order a pizza with extra cheese", servable: false },
    ];
    await Deno.writeTextFile(`${dir}/requests.jsonl`, requests.map((row) => JSON.stringify(row)).join("\n"));
    const options = ["--data", `${dir}/lists`, "--requests", `${dir}/requests.jsonl`, "--models", await sharedModels()];
    const figures = await evaluate("search", ...options);
    assert.equal(figures.name_queries, 6);
    assert.deepEqual(figures.name_missed, []);
    assert.deepEqual([figures.unservable_abstained, figures.servable_abstained, figures.servable_hit_at_5], [1, 0, 1]);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("eval makespan holds the time at the client against the critical path", async () => {
  const figures = await evaluate("makespan", "--runs", "4", "--seed", "5", "--warm-ms", "1000");
  assert.equal(figures.n, 4);
  // By definition not below 1; how much above is for a quiet machine to say.
  for (const key of ["p50", "p95", "max"]) {
    assert.ok(Number(figures[key]) >= 1 && Number(figures[key]) < 2, `${key} is ${figures[key]}`);
  }
});

Deno.test("eval journal prints what a task costs, and how soon a killed run goes on", async () => {
  const small = ["--tasks", "20", "--rounds", "3", "--resume-tasks", "50", "--resume-rounds", "1"];
  const figures = await evaluate("journal", ...small);
  for (const key of ["chain_cpu_ms", "fan_cpu_ms", "resume_ms", "resume_from_connect_ms", "resume_warm_ms"]) {
    assert.ok(Number(figures[key]) > 0, `${key} is ${figures[key]}`);
  }
  assert.ok(Number(figures.fan_commits) <= 5, `${figures.fan_commits} commits`);
});

for (const [mode, trials] of [["kill", "3"], ["rival", "12"]] as const) {
  Deno.test(`eval crash --mode ${mode} finds nothing repeated, nothing lost and every doubt told`, async () => {
    const figures = await evaluate("crash", "--mode", mode, "--trials", trials, "--seed", "11");
    const wrong = ["silent_reruns", "finished_reruns", "lost", "double_executions"].filter((key) => figures[key] !== 0);
    assert.deepEqual(wrong, [], JSON.stringify(figures));
    assert.deepEqual([figures.trials, figures.errors], [Number(trials), []]);
    assert.equal(figures.in_doubt_surfaced, figures.doubts);
    if (mode === "rival") {
      assert.deepEqual([figures.unfenced_calls, figures.stale_rows, figures.double_takes], [0, 0, 0]);
    }
  });
}

Deno.test("eval pins: every planted change is found, none of its text shown, and nothing honest is withheld", async () => {
  const { found, texts_shown, loosened_calls, quarantined } = await evaluate("pins", "--mutations", "23");
  assert.deepEqual({ found, texts_shown, loosened_calls, quarantined }, {
    found: 23,
    texts_shown: 0,
    loosened_calls: 0,
    quarantined: 0,
  });
});

Deno.test("eval audit finds every change, and a killed engine loses no row of an acknowledged call", async () => {
  const figures = await evaluate("audit", "--rows", "2000", "--mutations", "22", "--kills", "2");
  assert.deepEqual([figures.found, figures.lost, figures.findings], [22, 0, 0], JSON.stringify(figures));
  assert.ok(Number(figures.acknowledged) > 0);
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
