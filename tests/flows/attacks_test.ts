// Small versions of `deno task eval attacks`, with bounds for a busy machine: a stall of seconds is found, one of 100 ms is not.
import assert from "node:assert/strict";
import { attack } from "../eval/attacks.ts";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { createTestHome, sleep, type TestHome, testServer, until } from "../fixtures/gateway.ts";

const SMALL = { seconds: 1, later: 0 };
const LONGEST_MS = 3_000;
const LARGEST_MB = 1_000;

/** Makes an attack; a busy machine gets a second try. */
async function assertHarmless(name: string): Promise<void> {
  const first = await attack(name, SMALL);
  const figures = first.max_ms > LONGEST_MS ? await attack(name, SMALL) : first;
  assert.ok(figures.alive, "the engine ended");
  assert.ok(figures.max_ms <= LONGEST_MS, `${name}: another session waited ${figures.max_ms} ms`);
  assert.ok(figures.peak_mb <= LARGEST_MB, `${name}: the engine took ${figures.peak_mb} MB`);
}

async function withAttacker(mode: string, work: (client: RawClient, home: TestHome) => Promise<void>): Promise<void> {
  await using home = await createTestHome({ servers: { bad: testServer("attacker", mode, "1") } });
  await using client = await connectClient(home);
  await work(client, home);
}

Deno.test("dos-101: a thousand unknown tool names stall no other session, and are refused soon", async () => {
  await assertHarmless("names");
  await withAttacker("names", async (client) => {
    await client.call("search_tools", { server: "bad" });
    const near = `${"abcdefghij".repeat(12)}000000`;
    const tasks = Array.from({ length: 1_000 }, (_, i) => ({ id: `t${i}`, tool: `bad:${near}x${i}` }));
    const said = textOf(await client.call("run_workflow", { tasks }));
    assert.match(said, /There is no tool/);
    assert.equal(said.match(/Nearest:/g)?.length, 3, "hints are for the first three unknown names only");
    const more = textOf(await client.call("run_workflow", { tasks: [...tasks, ...tasks] }));
    assert.match(more, /There are 2000 tasks; the most is 1000/);
  });
});

Deno.test("dos-104: a schema that takes seconds to compile or to check against stalls no other session", async () => {
  await assertHarmless("compile");
  await assertHarmless("validate");
});

Deno.test("large schemas are still checked, in a Worker; what is too large is left to the server", async () => {
  await withAttacker("schemas", async (client) => {
    await client.call("search_tools", { server: "bad" });
    const run = async (tool: string, args: Record<string, unknown>) =>
      textOf(await client.call("run_workflow", { tasks: [{ id: "a", tool, arguments: args }] }));
    assert.match(await run("bad:t6", { p1: "abc" }), /must NOT have fewer than 6 characters/);
    assert.match(await run("bad:t7", { p1: "abc" }), /must NOT have fewer than 7 characters/);
    assert.doesNotMatch(await run("bad:t6", { p1: "abcdefgh" }), /must NOT/);
  });
});

Deno.test("dos-107: a flood of log messages reaches the client in bounded number, and status tells the rest", async () => {
  await assertHarmless("messages");
  await withAttacker("messages", async (client, home) => {
    assert.equal(textOf(await client.use("bad:act")), "acted");
    const came = client.others.filter(({ method }) => method === "notifications/message").length;
    assert.ok(came > 0 && came < 10_000, `${came} messages came`);
    const { servers } = JSON.parse((await home.run(["status", "--json"])).stdout);
    assert.ok(servers[0].flood.message > 1_000, JSON.stringify(servers[0].flood));
    assert.match((await home.run(["status"])).stdout, /bad sent more than it may; left out: \d+ message/);
    assert.match(await home.log(), /server_floods/);
  });
});

Deno.test("progress beyond the budget is thinned out, and the newest comes before the answer", async () => {
  await withAttacker("progress", async (client) => {
    assert.equal(textOf(await client.use("bad:act", {}, { progressToken: "p" })), "acted");
    const came = client.others.filter(({ method }) => method === "notifications/progress").length;
    assert.ok(came >= 200 && came < 5_000, `${came} notifications came`);
  });
});

Deno.test("ten thousand lines of garbage end their server", async () => {
  await withAttacker("garbage", async (client) => {
    assert.match(textOf(await client.use("bad:act")), /it sent 100\d\d lines that are no messages/);
  });
});

Deno.test("an answer that is nested too deeply is an error for its caller at once", async () => {
  await withAttacker("deep", async (client) => {
    const began = performance.now();
    const said = textOf(await client.use("bad:act"));
    assert.match(said, /the server sent a message nested deeper than 256/);
    assert.ok(performance.now() - began < 10_000);
  });
});

Deno.test("dos-110: lists above 8 MB are refused, and lists that keep changing are read ever more rarely", async () => {
  await withAttacker("changing list", async (client) => {
    const listed = textOf(await client.call("search_tools", { server: "bad" }));
    assert.match(listed, /the list is too long: the most is 8388608 bytes/);
  });
});

Deno.test("dos-111: a page of a million tools is an error that names the limit", async () => {
  await withAttacker("million tools", async (client) => {
    const list = async () => textOf(await client.call("search_tools", { server: "bad" }));
    // A busy machine takes longer to make the list than an agent waits for a server.
    await until("the list is there", async () => !/it is still starting/.test(await list()));
    const listed = await list();
    assert.match(listed, /the list is too long: a page has 1000000 entries; the most is 20000/);
    assert.doesNotMatch(listed, /call stack/);
  });
});

Deno.test("types of many tools are rendered until the answer is full, while others are served", async () => {
  await assertHarmless("types");
});

Deno.test("dos-115: finished runs are forgotten, the oldest first, when they take more than limits.runs_bytes", async () => {
  const limits = { runs_bytes: 2_000_000 };
  await using home = await createTestHome({ servers: { kit: testServer("kit") }, limits });
  await using client = await connectClient(home);
  const text = () => crypto.getRandomValues(new Uint8Array(8_000)).toHex();
  for (let run = 0; run < 25; run++) {
    const tasks = Array.from(
      { length: 20 },
      (_, i) => ({ id: `t${i}`, tool: "kit:echo", arguments: { text: text() } }),
    );
    await client.call("run_workflow", { tasks });
  }
  const runs = async () => JSON.parse((await home.run(["runs", "--json", "--limit", "100"])).stdout).length as number;
  await until("runs are forgotten", async () => await runs() < 20);
  assert.ok(await runs() > 0);
});

Deno.test("dos-118: a type check that takes long keeps no other session waiting", async () => {
  await using home = await createTestHome({});
  await using one = await connectClient(home);
  await using other = await connectClient(home);
  const check = (client: RawClient, code: string) =>
    client.call("execute_code", { code, options: { typecheck: true } });
  assert.match(textOf(await check(other, "return 1 + 1")), /2/);
  const bomb = Array.from({ length: 26 }, (_, i) => `const v${i} = pair(v${i - 1 < 0 ? "" : i - 1});`).join("\n");
  const bombed = check(one, `const v = 1; function pair<T>(x: T) { return [x, x] as const; }\n${bomb}\nreturn v25;`);
  bombed.catch(() => {});
  await sleep(1_000);
  const began = performance.now();
  assert.match(textOf(await check(other, "return 2 + 1")), /3/);
  const waited = performance.now() - began;
  assert.ok(waited < 7_000, `it took ${Math.round(waited)} ms`);
  await bombed;
});
