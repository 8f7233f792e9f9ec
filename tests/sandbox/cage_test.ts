// A cage's parent against a process driven by hand, so that each of its ends and each broken rule comes when the test says.
import assert from "node:assert/strict";
import { type CageOutcome, type CageTools, JsonText, runInProcess } from "../../src/sandbox/cage.ts";
import { type CageListener, type CageProcess, startProcess } from "../../src/sandbox/cage_process.ts";
import { CAGE_LIMITS, type CageLimits, MAX_FRAME } from "../../src/sandbox/limits.ts";
import { createPool } from "../../src/sandbox/pool.ts";
import type { Cage } from "../../src/sandbox/cage.ts";
import { sleep } from "../fixtures/gateway.ts";

const encoder = new TextEncoder();

interface Driven {
  readonly sent: Record<string, unknown>[];
  /** Says something as the runner does. */
  say(frame: Record<string, unknown>): void;
  out(text: string): boolean;
  err(text: string): boolean;
  dies(status: Partial<Deno.CommandStatus>): void;
  isKilled(): boolean;
}

interface Options {
  readonly limits?: Partial<CageLimits>;
  readonly tools?: Partial<CageTools>;
  readonly signal?: AbortSignal;
}

/** Runs a job on a process that does what the test tells it to. */
async function driven(work: (process: Driven) => unknown, options: Options = {}) {
  const sent: Record<string, unknown>[] = [];
  const exited = Promise.withResolvers<Deno.CommandStatus>();
  let [listener, killed]: [CageListener | undefined, boolean] = [undefined, false];
  const process: CageProcess = {
    pid: Deno.pid,
    exited: exited.promise,
    silent: Promise.resolve(),
    isGone: () => false,
    listen: (heard) => void (listener = heard),
    kill: () => void (killed = true),
    send: (frame) => (sent.push(frame as Record<string, unknown>), Promise.resolve()),
  };
  const outcome = runInProcess(process, {
    request: { code: "", context: {}, deps: {}, servers: {} },
    tools: { call: () => Promise.resolve("answer"), result: () => Promise.resolve("stored"), ...options.tools },
    limits: { ...CAGE_LIMITS, memoryMb: 64_000, cpuMs: Infinity, ...options.limits },
    signal: options.signal ?? new AbortController().signal,
  });
  const out = (text: string) => listener!.out(encoder.encode(text));
  await work({
    sent,
    out,
    say: (frame) => void out(`${JSON.stringify({ n: sent[0]!.nonce, ...frame })}\n`),
    err: (text) => listener!.err(encoder.encode(text)),
    dies: (status) => exited.resolve({ success: false, code: 1, signal: null, ...status }),
    isKilled: () => killed,
  });
  return await outcome;
}

const failureOf = ({ result }: CageOutcome) => result.ok ? "ok" : `${result.error.type}: ${result.error.message}`;
const call = (id: number, last = "{}") => ({ t: "call", id, what: "a:b", last });

Deno.test("the end of a process without a result is told by what ended it", async () => {
  const ends: [Partial<Deno.CommandStatus>, string, RegExp][] = [
    [{}, "FATAL: JavaScript heap out of memory", /^MemoryError: .*memory_mb/],
    [{}, "terminate called: std::bad_alloc", /^MemoryError/],
    [{ signal: "SIGXCPU" }, "", /^TimeoutError: .*processor/],
    [{ code: 152 }, "", /^TimeoutError/],
    [{ signal: "SIGKILL" }, "", /^MemoryError: The system ended the code/],
    [{ code: 133 }, "", /^MemoryError/],
    [{ signal: "SIGSEGV" }, "", /^RuntimeError: .*ended by SIGSEGV/],
    [{ code: 7 }, "odd", /^RuntimeError: .*ended with code 7/],
  ];
  for (const [status, words, expected] of ends) {
    const outcome = await driven(({ err, dies }) => (words !== "" && err(words), dies(status)));
    assert.match(failureOf(outcome), expected);
  }
});

Deno.test("a rule that is broken ends the run, and nothing that comes later counts", async () => {
  const value = { t: "value", last: "1" };
  const noise = await driven(({ out, say, isKilled }) => {
    out("I am the result\n");
    say(value);
    assert.ok(!isKilled(), "it is ended after the turn");
  });
  assert.match(failureOf(noise), /^LimitError: The code wrote past its runner/);
  const long = await driven(({ out }) => {
    for (let at = 0; at <= MAX_FRAME; at += 1_048_576) out("x".repeat(1_048_576));
  });
  assert.match(failureOf(long), /^LimitError: The code wrote a line of more than/);
  assert.match(failureOf(await driven(({ say }) => say(call(2)))), /^LimitError: .*a call out of order/);
  const printed = await driven(({ say, err }) => {
    say({ t: "log", level: "info", text: "short" });
    err("x".repeat(200));
  }, { limits: { outputBytes: 200 } });
  assert.match(failureOf(printed), /^LimitError: The code printed more than 200 bytes/);
  assert.deepEqual(printed.logs, [{ level: "info", text: "short" }]);
  const never = { call: () => new Promise(() => {}) };
  const waiting = await driven(({ say }) => {
    for (const id of [1, 2, 3]) say(call(id, JSON.stringify("x".repeat(60))));
  }, { limits: { waitingBytes: 150 }, tools: never });
  assert.match(failureOf(waiting), /^LimitError: Calls with more than 150 bytes in all wait/);
  const thrown = await driven(({ say }) =>
    say({ t: "error", error: { type: "RuntimeError", message: "oops", line: 3 } })
  );
  assert.match(failureOf(thrown), /^RuntimeError: oops/);
});

Deno.test("calls are answered within their bounds, and the run ends with its one result", async () => {
  let [most, open] = [0, 0];
  const slow: CageTools["call"] = async (_tool, given) => {
    most = Math.max(most, ++open);
    await sleep(5);
    open--;
    if (given === null) throw new Error("it did not work");
    return given === 9 ? new JsonText(`"${"y".repeat(300)}"`) : given;
  };
  const outcome = await driven(async ({ say, sent, out }) => {
    ["1", "null", "9", "4"].forEach((last, i) => say(call(i + 1, last)));
    say({ t: "result", id: 5, what: "r_1", last: "null" });
    await sleep(60);
    const answers = sent.slice(1).map(({ id, last, error }) => [id, last ?? error]).sort();
    assert.deepEqual(answers, [
      [1, "1"],
      [2, "it did not work"],
      [3, "It gave more than 200 bytes; ask it for less"],
      [4, "4"],
      [5, '"stored"'],
    ]);
    say({ t: "value", last: "42" });
    await sleep(0);
    assert.equal(out("more"), false, "nobody listens any more");
  }, { limits: { callsAtOnce: 2, valueBytes: 200 }, tools: { call: slow } });
  assert.ok(outcome.result.ok && outcome.result.value === 42);
  assert.deepEqual([most, outcome.metrics.calls], [2, 5]);
  const early = await driven(() => {}, { signal: AbortSignal.abort() });
  assert.equal(failureOf(early), "TimeoutError: The run was cancelled");
  const late = await driven(() => {}, { limits: { wallMs: 20 } });
  assert.match(failureOf(late), /^TimeoutError: The code ran for more than 20 ms/);
});

Deno.test("a process that does not come up is an error, and leaves no folder", async () => {
  const folder = await Deno.makeTempDir({ prefix: "ac-cages-" });
  const pids: number[] = [];
  const options = {
    memoryMb: 128,
    cpuMs: 1_000,
    folder,
    watch: (pid: number) => void pids.push(pid),
    forget: (pid: number) => void pids.splice(pids.indexOf(pid), 1),
  };
  try {
    await assert.rejects(startProcess({ ...options, level: 0, startMs: 0 }), /did not come up in time/);
    await assert.rejects(startProcess({ ...options, level: 3 }), /A cage of level 3 did not start: .*has a group/);
    assert.deepEqual([pids, await Array.fromAsync(Deno.readDir(folder))], [[], []]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a pool keeps cages ready, without those that failed or died, and gives none once it is closed", async () => {
  const made: { cage: Cage; die(): void; isKilled: boolean }[] = [];
  let refuses = false;
  let slow: Promise<void> = Promise.resolve();
  const pool = createPool(2, async () => {
    await slow;
    if (refuses) throw new Error("no room");
    const exited = Promise.withResolvers<void>();
    const one = { isKilled: false, isGone: false, die: () => (one.isGone = true, exited.resolve()) } as {
      isKilled: boolean;
      isGone: boolean;
      cage: Cage;
      die(): void;
    };
    one.cage = {
      pid: made.length,
      exited: exited.promise,
      isGone: () => one.isGone,
      run: () => Promise.reject(new Error("not here")),
      kill: () => (one.isKilled = true, Promise.resolve()),
    };
    made.push(one);
    return one.cage;
  });
  const never = new AbortController().signal;
  pool.refill();
  await sleep(0);
  made[0]!.die();
  assert.equal(await pool.take(never), made[1]!.cage, "a dead one is not given");
  refuses = true;
  pool.refill();
  await sleep(0);
  refuses = false;
  assert.equal(await pool.take(never), made[2]!.cage, "after two that did not start another is started");
  const gate = Promise.withResolvers<void>();
  slow = gate.promise;
  assert.equal(await pool.take(AbortSignal.abort()), undefined);
  gate.resolve();
  await sleep(0);
  assert.ok(made.at(-1)!.isKilled, "one that nobody waits for any more is ended");
  pool.refill();
  await pool.close();
  assert.ok(made.slice(3).every(({ isKilled }) => isKilled));
  await assert.rejects(pool.take(never), { code: "ENGINE_BUSY" });
});
