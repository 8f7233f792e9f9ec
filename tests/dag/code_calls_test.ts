// Tools that the code of a task calls: journalled, heard again when the code runs again, never silently repeated.
import assert from "node:assert/strict";
import type { RunEvent } from "../../src/dag/event.ts";
import type { CodeOptions, RunPorts } from "../../src/dag/run_port.ts";
import { createFold } from "../../src/dag/state.ts";
import type { Json, JsonObject } from "../../src/model/json.ts";
import { seeded } from "../model/random.ts";
import { failure, statuses, tell, value } from "./harness.ts";

type Call = (tool: string, args?: JsonObject) => Promise<Json>;
type Code = (call: Call, signal: AbortSignal) => Promise<Json>;

const TASK = [{ id: "code", type: "code_execution", code: "…" }];
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Code as a function; it ends when it is told to, as a cage does. */
function running(code: Code): Pick<RunPorts, "runCode"> {
  return {
    async runCode(_task, _given, { call, signal }: CodeOptions) {
      const own = new AbortController();
      const ask: Call = async (tool, args = {}) => {
        const output = await call(tool, args, { signal: own.signal, pause: () => () => {} });
        return output.kind === "value" ? output.value : null;
      };
      const over = new Promise<never>((_, reject) => {
        const end = () => reject(new Error("cut off"));
        if (signal.aborted) end();
        signal.addEventListener("abort", end);
      });
      try {
        return value(await Promise.race([code(ask, signal), over]));
      } catch (error) {
        return { ...failure((error as Error).message), isCutOff: signal.aborted };
      } finally {
        own.abort();
      }
    },
  };
}

/** What is left of a run of which only these rows were written. */
function after(rows: readonly RunEvent[]) {
  const fold = createFold();
  for (const row of rows) fold.add(row);
  return { fold };
}

function counted() {
  const calls: Record<string, number> = {};
  const count = (name: string, answer: (args: JsonObject) => Json) => (args: JsonObject) => {
    calls[name] = (calls[name] ?? 0) + 1;
    return value(answer(args));
  };
  const tools = { "s:get": count("get", ({ n = 0 }) => Number(n) + 1), "s:do_it": count("do", ({ n = 0 }) => n) };
  return { calls, tools };
}

Deno.test("code that runs again hears what it heard, from any row on, and no effect is repeated unasked", async () => {
  const code: Code = async (call) => {
    const one = await call("s:get", { n: 1 });
    const [two, three] = await Promise.all([call("s:do_it", { n: one }), call("s:get", { n: 5 })]);
    const failed = await call("s:bad").catch((error: Error) => error.message);
    return [one, two, three, await call("s:do_it", { n: 9 }), failed];
  };
  const bad = { "s:bad": () => failure("no luck") };
  const whole = tell(TASK, { tools: { ...counted().tools, ...bad }, ports: running(code) });
  const result = (await whole.settled()).tasks.get("code");
  assert.deepEqual(result?.output, { kind: "value", value: [2, 2, 6, 9, "no luck"] });
  assert.equal(result?.calls, undefined, "what is over needs no calls any more");
  for (let rows = 1; rows <= whole.written.length; rows++) {
    const left = whole.written.slice(0, rows);
    const open = new Set(left.flatMap((row) => row.kind === "called" && row.effect === "effectful" ? [row.call] : []));
    const answered = left.flatMap((row) => row.kind === "answered" ? [row.call] : []);
    const acted = open.size;
    answered.forEach((call) => open.delete(call));
    const { calls, tools } = counted();
    const again = tell([], { tools: { ...tools, ...bad }, ports: running(code), from: after(left) });
    const state = await again.settled();
    if (open.size > 0) {
      assert.deepEqual([state.status, state.pending?.reason, calls], ["paused", "in_doubt", {}]);
      assert.equal(state.pending?.calls[0]?.tool, "s:do_it");
      assert.ok(state.pending?.calls[0]?.arguments);
      continue;
    }
    assert.equal(state.status, "completed", `after ${rows} rows`);
    assert.deepEqual(state.tasks.get("code")?.output, result?.output);
    assert.equal((calls.do ?? 0) + acted, 2, `after ${rows} rows`);
    assert.ok((calls.get ?? 0) + answered.length <= 5, "what was heard is not asked again");
  }
});

Deno.test("a call in doubt is decided for itself, and the code goes on from there", async () => {
  const code: Code = async (call) => [await call("s:get"), await call("s:do_it", { n: 7 }), await call("s:get")];
  const first = tell(TASK, { tools: counted().tools, ports: running(code) });
  await first.settled();
  const left = first.written.slice(0, first.written.findIndex((row) => row.kind === "called" && row.call === 2) + 1);
  const doubting = async () => {
    const story = tell([], { tools: counted().tools, ports: running(code), from: after(left) });
    await story.settled();
    return [...left, ...story.written];
  };
  const resolve = { action: "resolve", task: "code" } as const;

  const retried = counted();
  const retry = tell([], {
    tools: retried.tools,
    ports: running(code),
    from: { ...after(await doubting()), decision: { ...resolve, outcome: "retry" } },
  });
  assert.deepEqual((await retry.settled()).tasks.get("code")?.output, { kind: "value", value: [1, 7, 1] });
  assert.deepEqual(retried.calls, { do: 1, get: 1 }, "what was heard before the doubt stands");

  const done = counted();
  const from = { ...after(await doubting()), decision: { ...resolve, outcome: "done" as const } };
  const { attempt, doubt } = from.fold.state.tasks.get("code")!;
  const answer = { kind: "output", output: { kind: "value", value: "said" } } as const;
  from.fold.add({
    kind: "answered",
    task: "code",
    attempt,
    call: doubt!,
    bytes: 6,
    answer,
    seq: from.fold.state.seq + 1,
    at: 0,
  });
  const told = await tell([], { tools: done.tools, ports: running(code), from }).settled();
  assert.deepEqual(told.tasks.get("code")?.output, { kind: "value", value: [1, "said", 1] });
  assert.deepEqual(done.calls, { get: 1 });
});

Deno.test("code that goes another way after it has acted is in doubt; one that has only read may", async () => {
  let round = 0;
  const code = (tool: string): Code => async (call) => {
    const here = ++round;
    await call(tool, { n: here });
    return await call("s:get", { n: 10 });
  };
  for (const [tool, expected] of [["s:do_it", "in_doubt"], ["s:get", "success"]] as const) {
    const first = tell(TASK, { tools: counted().tools, ports: running(code(tool)) });
    await first.settled();
    const left = first.written.slice(0, first.written.findIndex((row) => row.kind === "answered") + 1);
    const { calls, tools } = counted();
    const second = tell([], { tools, ports: running(code(tool)), from: after(left) });
    const state = await second.settled();
    assert.deepEqual(statuses(state), { code: expected });
    assert.deepEqual(calls, expected === "in_doubt" ? {} : { get: 2 });
    if (expected !== "in_doubt") continue;
    assert.match(state.tasks.get("code")!.error!, /went another way/);
    const anew = counted();
    const decision = { action: "resolve", task: "code", outcome: "retry" } as const;
    const retried = tell([], {
      tools: anew.tools,
      ports: running(code(tool)),
      from: { fold: second.fold, decision },
    });
    assert.deepEqual(statuses(await retried.settled()), { code: "success" });
    assert.deepEqual(anew.calls, { do: 1, get: 1 }, "it begins anew");
  }
});

Deno.test("code that does not call again what acted before is in doubt, whatever it returns", async () => {
  let isSecond = false;
  const code: Code = async (call) => {
    if (!isSecond) await call("s:do_it");
    return await call("s:get");
  };
  const first = tell(TASK, { tools: counted().tools, ports: running(code) });
  await first.settled();
  const left = first.written.slice(0, first.written.findIndex((row) => row.kind === "answered" && row.call === 2) + 1);
  isSecond = true;
  const state = await tell([], { tools: counted().tools, ports: running(code), from: after(left) }).settled();
  assert.deepEqual([statuses(state), state.pending?.reason], [{ code: "in_doubt" }, "in_doubt"]);
  assert.match(state.tasks.get("code")!.error!, /did not call s:do_it/);
});

Deno.test("a call of code waits for a human or the agent, and only that one is let through", async () => {
  const code: Code = async (call) => [await call("s:do_it", { n: 1 }), await call("s:do_it", { n: 2 })];
  const asked: Json[] = [];
  const ports = {
    ...running(code),
    isGuarded: () => true,
    approvalFor: (_task: unknown, { n }: JsonObject) => {
      asked.push(n!);
      return Promise.resolve({ why: "rule", hash: `h${n}`, definition: "" });
    },
  };
  const { calls, tools } = counted();
  const first = tell(TASK, { tools, ports });
  const paused = await first.settled();
  assert.deepEqual(paused.pending?.calls, [{ task: "code", tool: "s:do_it", arguments: { n: 1 } }]);
  assert.deepEqual([paused.pending?.reason, paused.pending?.hash, calls], ["approval", "h1", {}]);
  const approve = (hash: string) => ({ action: "approve", task: "code", hash, expires: Date.now() + 10_000 }) as const;
  const second = tell([], { tools, ports, from: { fold: first.fold, decision: approve("h1"), by: "human" } });
  assert.deepEqual([(await second.settled()).pending?.hash, calls], ["h2", { do: 1 }]);
  const third = tell([], { tools, ports, from: { fold: first.fold, decision: approve("h2"), by: "human" } });
  assert.deepEqual([(await third.settled()).status, calls], ["completed", { do: 2 }]);

  const effects = counted();
  const careful = tell(TASK, { tools: effects.tools, ports: running(code), pause: "effects" });
  const before = await careful.settled();
  assert.deepEqual([before.pending?.reason, before.pending?.calls[0]?.arguments, effects.calls], [
    "effects",
    { n: 1 },
    {},
  ]);
  const go = () =>
    tell([], {
      tools: effects.tools,
      ports: running(code),
      from: { fold: careful.fold, decision: { action: "continue" } },
    }).settled();
  const between = await go();
  assert.deepEqual([between.pending?.reason, between.pending?.calls[0]?.arguments, effects.calls], [
    "effects",
    { n: 2 },
    { do: 1 },
  ], "one word lets one call go");
  assert.deepEqual([(await go()).status, effects.calls], ["completed", { do: 2 }]);

  const twice: Code = async (call) => [await call("s:do_it", { n: 1 }), await call("s:do_it", { n: 1 })];
  const same = counted();
  const story = tell(TASK, { tools: same.tools, ports: running(twice), pause: "effects" });
  await story.settled();
  const again = () =>
    tell([], { tools: same.tools, ports: running(twice), from: { fold: story.fold, decision: { action: "continue" } } })
      .settled();
  assert.deepEqual(
    [(await again()).status, same.calls],
    ["paused", { do: 1 }],
    "the same call once more is another call",
  );
  assert.deepEqual([(await again()).status, same.calls], ["completed", { do: 2 }]);
});

Deno.test("a run that is held lets a call of code that acts come to its end, one that is aborted leaves a doubt", async () => {
  const began = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const calls: string[] = [];
  const tools = {
    "s:do_it": async (_args: JsonObject, { signal }: { signal: AbortSignal }) => {
      calls.push("do");
      began.resolve();
      const stopped = new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(new Error("cancelled")))
      );
      return await Promise.race([go.promise.then(() => value("did")), stopped]).catch(() =>
        failure("cancelled", "lost")
      ) as ReturnType<typeof value>;
    },
    "s:get": () => (calls.push("get"), value(1)),
  };
  const code: Code = async (call) => [await call("s:do_it"), await call("s:get")];
  const story = tell(TASK, { tools, ports: running(code) });
  const settled = story.settled();
  await began.promise;
  story.run.hold("told to");
  await sleep(20);
  assert.equal(story.fold.state.status, "running", "it waits for what acts");
  go.resolve();
  const held = await settled;
  assert.deepEqual([held.status, held.pending?.reason, calls], ["paused", "waiting", ["do"]]);
  const more = tell([], { tools, ports: running(code), from: { fold: story.fold, decision: { action: "continue" } } });
  assert.deepEqual((await more.settled()).tasks.get("code")?.output, { kind: "value", value: ["did", 1] });
  assert.deepEqual(calls, ["do", "get"]);

  const never = Promise.withResolvers<void>();
  const aborted = tell(TASK, {
    tools: {
      "s:do_it": (_args, { signal }) =>
        new Promise((resolve) => {
          never.resolve();
          signal.addEventListener("abort", () => resolve(failure("cancelled", "lost")));
        }),
    },
    ports: running(code),
  });
  const ended = aborted.settled();
  await never.promise;
  aborted.run.decide({ action: "abort" }, "agent");
  const state = await ended;
  assert.deepEqual([state.status, statuses(state)], ["aborted", { code: "in_doubt" }]);
});

Deno.test("code that does several things at once goes the same way again, wherever it was cut off", async () => {
  for (let seed = 1; seed <= 25; seed++) {
    const random = seeded(seed);
    const lanes = Array.from({ length: 3 }, (_, lane) =>
      Array.from({ length: 3 }, (_, step) => ({
        tool: random.below(2) === 0 ? "s:get" : "s:do_it",
        args: { n: 10 * lane + step },
      })));
    const code: Code = async (call) => {
      const order: Json[] = [];
      await Promise.all(lanes.map(async (lane) => {
        for (const { tool, args } of lane) order.push([await call(tool, { ...args, after: order.length })]);
      }));
      return order;
    };
    const slow = (seen: Json[]) => async (args: JsonObject) => {
      seen.push(args.n!);
      await sleep(random.below(4));
      return value(args.n!);
    };
    const acted: Json[] = [];
    const first = tell(TASK, { tools: { "s:get": slow([]), "s:do_it": slow(acted) }, ports: running(code) });
    await first.settled();
    const cut = 2 + random.below(first.written.length - 2);
    const left = first.written.slice(0, cut);
    const sent = left.flatMap((row) =>
      row.kind === "called" && row.effect === "effectful" ? [row.arguments!.n as Json] : []
    );
    const again: Json[] = [];
    const state = await tell([], {
      tools: { "s:get": slow([]), "s:do_it": slow(again) },
      ports: running(code),
      from: after(left),
    }).settled();
    assert.ok(["completed", "paused"].includes(state.status));
    assert.deepEqual(again.filter((n) => sent.includes(n)), [], `seed ${seed}: nothing that went out goes out again`);
    const open = left.some((row) =>
      row.kind === "called" && row.effect === "effectful" &&
      !left.some((other) => other.kind === "answered" && other.call === row.call)
    );
    assert.equal(state.status, open ? "paused" : "completed", `seed ${seed}: no doubt without a reason`);
  }
});

Deno.test("one approval lets one call of code through, however many come at once; each of several gets its own", async () => {
  const approve = (hash: string) => ({ action: "approve", task: "code", hash, expires: Date.now() + 10_000 }) as const;
  const guarded = (code: Code) => ({
    ...running(code),
    isGuarded: ({ tool }: { tool: string }) => tool === "s:do_it",
    approvalFor: async (_task: unknown, { n }: JsonObject) => {
      await sleep(1);
      return { why: "rule", hash: `h${n}`, definition: "" };
    },
  });
  const alike = counted();
  const ports = guarded((call) => Promise.all(Array.from({ length: 8 }, () => call("s:do_it", { n: 1 }))));
  const first = tell(TASK, { tools: alike.tools, ports });
  await first.settled();
  for (let given = 1; given <= 8; given++) {
    const from = { fold: first.fold, decision: approve("h1"), by: "human" as const };
    const state = await tell([], { tools: alike.tools, ports, from }).settled();
    assert.equal(alike.calls.do, given, "one for each approval");
    assert.equal(state.status, given < 8 ? "paused" : "completed");
  }

  const { calls, tools } = counted();
  const lanes = guarded(async (call) => {
    const reads = (async () => {
      for (let i = 0; i < 5; i++) await call("s:get", { n: i });
    })();
    const both = await Promise.all([call("s:do_it", { n: 1 }), call("s:do_it", { n: 2 })]);
    await reads;
    return both;
  });
  const story = tell(TASK, { tools, ports: lanes });
  let state = await story.settled();
  for (let i = 0; i < 4 && state.status === "paused"; i++) {
    const from = { fold: story.fold, decision: approve(state.pending!.hash!), by: "human" as const };
    state = await tell([], { tools, ports: lanes, from }).settled();
  }
  assert.deepEqual([state.status, state.tasks.get("code")?.output], ["completed", { kind: "value", value: [1, 2] }]);
  assert.deepEqual(calls, { get: 5, do: 2 }, "each once, and what was read is not read again");
});

Deno.test("what a human does not allow, and what there is not, is heard again after a crash", async () => {
  const code: Code = async (call) => {
    const no = await call("s:do_no").catch((error: Error) => error.message);
    const none = await call("s:none").catch((error: Error) => error.message);
    return [no, none, await call("s:do_it", { n: 3 }), await call("s:get")];
  };
  const ports = {
    ...running(code),
    isGuarded: ({ tool }: { tool: string }) => tool === "s:do_no",
    approvalFor: () => Promise.resolve({ why: "rule", hash: "h", definition: "" }),
    toolFor:
      (({ id }, tool, args) =>
        tool === "s:none"
          ? Promise.reject(new Error("there is none"))
          : Promise.resolve({ type: "tool", id, tool, arguments: args, depends_on: [] })) as RunPorts["toolFor"],
  };
  const paused = tell(TASK, { tools: counted().tools, ports });
  await paused.settled();
  const decision = { action: "reject", task: "code", hash: "h" } as const;
  const rejected = tell([], { tools: counted().tools, ports, from: { fold: paused.fold, decision, by: "human" } });
  const state = await rejected.settled();
  const expected = { kind: "value", value: ["A human did not allow this call", "there is none", 3, 1] };
  assert.deepEqual(state.tasks.get("code")?.output, expected);
  const all = [...paused.written, ...rejected.written];
  const left = all.slice(0, all.findIndex((row) => row.kind === "answered" && row.call === 3) + 1);
  const { calls, tools } = counted();
  const again = await tell([], { tools, ports: { ...ports, toolFor: ports.toolFor }, from: after(left) }).settled();
  assert.deepEqual([again.tasks.get("code")?.output, calls], [expected, { get: 1 }]);
});

Deno.test("a run that stops tells its code nothing, cuts off no effect, and asks again what was only read", async () => {
  const slow = (calls: string[], began: () => void) => ({
    "s:do_it": async (_: JsonObject, { signal }: { signal: AbortSignal }) => {
      calls.push("do");
      began();
      await sleep(60);
      return signal.aborted ? failure("cancelled", "lost") : (calls.push("did"), value("did"));
    },
    "s:get": async (_: JsonObject, { signal }: { signal: AbortSignal }) => {
      calls.push("get");
      const cut = new Promise((resolve) => signal.addEventListener("abort", resolve));
      await Promise.race([sleep(500), cut]);
      return signal.aborted ? failure("cancelled", "lost") : value("read");
    },
    "s:quick": () => value("quick"),
  });
  const code: Code = async (call) => {
    const reads = (async () => {
      for (let i = 0; i < 20; i++) {
        await call("s:quick", { i });
        await sleep(5);
      }
    })();
    const all = await Promise.all([call("s:do_it"), call("s:get"), reads]).catch((error: Error) => [error.message]);
    return all.slice(0, 2) as Json;
  };
  const calls: string[] = [];
  const began = Promise.withResolvers<void>();
  const story = tell(TASK, { tools: slow(calls, began.resolve), ports: running(code) });
  const settled = story.settled();
  await began.promise;
  await sleep(15);
  story.run.hold("told to");
  const held = await settled;
  assert.deepEqual([held.status, held.pending?.reason], ["paused", "waiting"]);
  assert.deepEqual(calls.toSorted(), ["did", "do", "get"]);
  const later: string[] = [];
  const from = { fold: story.fold, decision: { action: "continue" } as const };
  const done = await tell([], { tools: slow(later, () => {}), ports: running(code), from }).settled();
  assert.deepEqual(done.tasks.get("code")?.output, { kind: "value", value: ["did", "read"] });
  assert.deepEqual(later, ["get"], "the effect is heard, the read is made again");

  const loose: string[] = [];
  const careless: Code = (call) => (void call("s:do_it"), Promise.resolve(1));
  const ended = await tell(TASK, { tools: slow(loose, () => {}), ports: running(careless) }).settled();
  assert.deepEqual([ended.status, loose], ["completed", ["do", "did"]], "it comes to its end, awaited or not");
  const failing: Code = async (call) => {
    await call("s:do_it");
    throw new Error("after all");
  };
  const failed = await tell(TASK, { tools: slow([], () => {}), ports: running(failing) }).settled();
  assert.deepEqual([failed.status, statuses(failed)], ["failed", { code: "error" }], "what has acted fails in earnest");
});

Deno.test("one word lets one of two equal calls go that code makes at once", async () => {
  const code: Code = (call) => Promise.all([call("s:do_it", { n: 1 }), call("s:do_it", { n: 1 })]);
  const { calls, tools } = counted();
  const story = tell(TASK, { tools, ports: running(code), pause: "effects" });
  await story.settled();
  const go = () =>
    tell([], { tools, ports: running(code), from: { fold: story.fold, decision: { action: "continue" } } }).settled();
  assert.deepEqual([(await go()).status, calls], ["paused", { do: 1 }]);
  assert.deepEqual([(await go()).status, calls], ["completed", { do: 2 }]);
});

Deno.test("code that gathers failures makes a call that failed again when it is retried, and nothing that acted", async () => {
  const calls: string[] = [];
  let isMended = false;
  const tools = {
    "s:do_a": () => (calls.push("a"), isMended ? value("a") : failure("not now")),
    "s:do_b": () => (calls.push("b"), value("b")),
  };
  const code: Code = async (call) => {
    const all = await Promise.allSettled([call("s:do_a"), call("s:do_b")]);
    const failed = all.find(({ status }) => status === "rejected");
    if (failed) throw new Error("one of them failed");
    return "both";
  };
  const story = tell([{ ...TASK[0]!, side_effects: true }], { tools, ports: running(code) });
  assert.equal((await story.settled()).tasks.get("code")?.status, "error");
  const retry = () =>
    tell([], {
      tools,
      ports: running(code),
      from: { fold: story.fold, decision: { action: "retry", reset: ["code"] } },
    }).settled();
  assert.equal((await retry()).status, "failed");
  isMended = true;
  const done = await retry();
  assert.deepEqual([done.status, calls], ["completed", ["a", "b", "a", "a"]]);
});

Deno.test("what an older version wrote down as a failure, and may have happened, is in doubt", () => {
  const fold = (events: object[]) => {
    const made = createFold();
    events.forEach((event, i) => made.add({ ...event, seq: i + 1, at: i } as RunEvent));
    return made.state;
  };
  const tool = { id: "a", type: "tool", tool: "s:do_it", arguments: {}, depends_on: [] };
  const lost = "s:do_it did not answer. It may have had its effect.";
  const started = { kind: "started", task: "a", attempt: 1, effect: "effectful" };
  const failed = { kind: "failed", task: "a", attempt: 1, ms: 1, error: lost, status: "error" };
  const old = fold([{ kind: "planned", tasks: [tool], options: {} }, started, failed]);
  assert.equal(old.tasks.get("a")?.status, "in_doubt");
  const read = fold([{ kind: "planned", tasks: [tool], options: {} }, { ...started, effect: "read" }, failed]);
  assert.equal(read.tasks.get("a")?.status, "error");
  const command = { kind: "command", by: "human", decision: { action: "resolve", task: "a", outcome: "skip" } };
  const skipped = { kind: "skipped", task: "a", why: "a human decided to skip it" };
  const passed = fold([{ kind: "planned", tasks: [tool], options: {} }, started, command, skipped]);
  assert.equal(passed.tasks.get("a")?.skippedBy, "human");
  const code = { id: "c", type: "code_execution", code: "…", depends_on: [] };
  const inside = fold([
    { kind: "planned", tasks: [code], options: {} },
    { kind: "started", task: "c", attempt: 1, effect: "read" },
    { kind: "called", task: "c", attempt: 1, call: 1, tool: "s:do_it", key: "k", effect: "effectful" },
    { kind: "answered", task: "c", attempt: 1, call: 1, bytes: 0, answer: { kind: "error", error: lost } },
    { kind: "failed", task: "c", attempt: 1, ms: 1, error: "it threw", status: "error" },
  ]);
  assert.deepEqual([inside.tasks.get("c")?.status, inside.tasks.get("c")?.doubt], ["in_doubt", 1]);
});

Deno.test("time in which code waited for several servers at once counts once, and none for one that runs", async () => {
  const startMs: Record<string, number> = { slow: 120, late: 60, up: 0 };
  const ports = {
    ...running(async (call) => {
      await Promise.all(["slow:a", "late:a", "slow:b"].map((tool) => call(tool)));
      for (let i = 0; i < 50; i++) await call("up:a");
      return null;
    }),
    callTool: async ({ tool }, _args, { onSent }) => {
      const ms = startMs[tool.split(":")[0]!]!;
      if (ms > 0) await sleep(ms);
      onSent();
      return value(null);
    },
  } satisfies Partial<RunPorts>;
  const { ms, starts } = (await tell(TASK, { ports }).settled()).tasks.get("code")!;
  const { slow = 0, late = 0, up = 0 } = starts!;
  // A machine that is busy may hold up a call to a server that runs.
  assert.ok(slow > 100 && slow + late + up <= ms && late < 30 && up < 100, JSON.stringify({ ms, starts }));
});
