import { AgentCardsError, createLineSplitter, inOneLine, TOO_LONG } from "../model/mod.ts";
import { createClock } from "./clock.ts";
import { type CageProcess, type CageProcessOptions, startProcess } from "./cage_process.ts";
import { type CodeFailure, type CodeValue, createFrameReader, type Frame } from "./frame.ts";
import { type CageLimits, MAX_FRAME } from "./limits.ts";
import { watchUsage } from "./usage.ts";

/** Code and what it may see. */
export interface CageRequest {
  readonly code: string;
  readonly context: unknown;
  readonly deps: unknown;
  /** Names of variables and the servers they stand for. */
  readonly servers: Readonly<Record<string, string>>;
}

/** The functions that the code can call: each call goes through the same stages as an agent's. */
export interface CageTools {
  call(tool: string, args: unknown, how: CageCall): Promise<unknown>;
  result(handle: string, path: unknown): Promise<unknown>;
}

/** A value that is JSON already, and need not be read on its way in. */
export class JsonText {
  constructor(readonly json: string) {}
}

export interface CageCall {
  /** Aborted when the run is over. */
  readonly signal: AbortSignal;
  /** Stops the clock of the run while somebody outside thinks; what it gives starts it again. */
  pause(): () => void;
}

export interface CodeLog {
  readonly level: string;
  readonly text: string;
}

export interface CageOutcome {
  readonly result: CodeValue & { readonly ok: true } | { readonly ok: false; readonly error: CodeFailure };
  readonly logs: readonly CodeLog[];
  readonly metrics: {
    readonly ms: number;
    readonly calls: number;
    readonly peakMb: number;
    /** Of what tools and stored results gave it. */
    readonly bytesIn: number;
  };
}

/** One process that runs code once. */
export interface Cage {
  readonly pid: number;
  readonly exited: Promise<unknown>;
  isGone(): boolean;
  run(request: CageRequest, tools: CageTools, limits: CageLimits, signal: AbortSignal): Promise<CageOutcome>;
  kill(): Promise<void>;
}

/** Which word of the caller allows more. */
const RAISED_BY = {
  time: "options.timeout_ms allows more (in a task: sandbox_config.timeout)",
  memory: "options.memory_mb allows more (in a task: sandbox_config.memoryLimit)",
};
const PART = 256 * 1024;
const KEPT_STDERR = 4_096;
/** The size of an entry besides its text. */
const LOG_COST = 64;

/** Starts a process that waits for code. */
export async function startCage(options: CageProcessOptions): Promise<Cage> {
  const process = await startProcess(options);
  const { pid, exited, isGone, kill } = process;
  return {
    pid,
    exited,
    isGone,
    run: (request, tools, limits, signal) => runInProcess(process, { request, tools, limits, signal }),
    async kill() {
      kill();
      await exited;
    },
  };
}

interface Job {
  readonly request: CageRequest;
  readonly tools: CageTools;
  readonly limits: CageLimits;
  readonly signal: AbortSignal;
}

type Result = CageOutcome["result"];

/** Lets a process run code, and believes nothing it says. */
export async function runInProcess(process: CageProcess, job: Job): Promise<CageOutcome> {
  const { request, tools, limits, signal } = job;
  const { send, exited, silent, kill } = process;
  const began = performance.now();
  const nonce = crypto.randomUUID();
  const over = Promise.withResolvers<Result>();
  const ended = new AbortController();
  let hasFailed = false;
  const fail = (type: CodeFailure["type"], message: string) => {
    hasFailed = true;
    over.resolve({ ok: false, error: { type, message } });
  };
  const logs: CodeLog[] = [];
  let printed = 0;
  let calls = 0;
  let bytesIn = 0;
  let waitingBytes = 0;
  let reading: Promise<void> = Promise.resolve();
  let stderr = "";

  function print(bytes: number): void {
    printed += bytes;
    if (printed > limits.outputBytes) {
      fail("LimitError", `The code printed more than ${limits.outputBytes} bytes; print less, or return it`);
    }
  }

  async function sendValue(id: number, value: unknown): Promise<void> {
    const json = value instanceof JsonText ? value.json : JSON.stringify(value) ?? "null";
    if (json.length > limits.valueBytes) {
      throw new AgentCardsError("TOOL_FAILED", `It gave more than ${limits.valueBytes} bytes; ask it for less`);
    }
    bytesIn += json.length;
    for (let at = 0; json.length - at > PART; at += PART) await send({ id, part: json.slice(at, at + PART) });
    await send({ id, last: json.slice(Math.floor((json.length - 1) / PART) * PART) });
  }

  const clock = createClock(
    limits.wallMs,
    () => fail("TimeoutError", `The code ran for more than ${limits.wallMs} ms; ${RAISED_BY.time}`),
  );
  const how: CageCall = { signal: ended.signal, pause: clock.pause };
  const line: (Frame & { kind: "ask" })[] = [];
  let underWay = 0;
  function next(): void {
    while (underWay < limits.callsAtOnce && line.length > 0 && !hasFailed && !ended.signal.aborted) {
      void answer(line.shift()!);
    }
  }
  async function answer({ id, method, what, value, bytes }: Frame & { kind: "ask" }): Promise<void> {
    underWay++;
    // What is stored is read one after another: it is large, and a cage that does not read it shall not fill us up.
    const turn = method === "call" ? tools.call(what, value, how) : reading.then(() => tools.result(what, value));
    const told = turn.then(
      (found) => sendValue(id, found),
    ).catch((error) => send({ id, error: inOneLine(error).slice(0, 8_000), tool: what }));
    if (method === "result") reading = told;
    // One that does not read what it asked for is not told more.
    await told;
    underWay--;
    waitingBytes -= bytes;
    next();
  }

  function take(frame: Frame | undefined): void {
    if (!frame || hasFailed || ended.signal.aborted) return;
    switch (frame.kind) {
      case "noise":
        // Only the runner writes there; whoever else does wants to be taken for it.
        return fail("LimitError", "The code wrote past its runner; use console.log");
      case "log":
        print(frame.text.length + LOG_COST);
        logs.push({ level: frame.level, text: frame.text });
        return;
      case "ask":
        calls++;
        waitingBytes += frame.bytes;
        if (waitingBytes > limits.waitingBytes) {
          return fail(
            "LimitError",
            `Calls with more than ${limits.waitingBytes} bytes in all wait; await some of them`,
          );
        }
        line.push(frame);
        return next();
      case "value": {
        const { kind: _, ...value } = frame;
        return over.resolve({ ok: true, ...value });
      }
      case "error":
        return over.resolve({ ok: false, error: frame.error });
      case "broken":
        return fail("LimitError", `The code broke a rule of its cage: ${frame.why}`);
    }
  }

  void send({ nonce, ...request });
  const readFrame = createFrameReader(nonce, limits);
  const split = createLineSplitter(MAX_FRAME);
  const decoder = new TextDecoder();
  let unfinished = 0;
  process.listen({
    out(chunk) {
      const lines = split(chunk);
      unfinished = lines.length > 0 ? 0 : unfinished + chunk.length;
      if (unfinished > MAX_FRAME || lines.includes(TOO_LONG)) {
        fail("LimitError", `The code wrote a line of more than ${MAX_FRAME} bytes`);
      }
      for (const text of lines) if (text !== TOO_LONG) take(readFrame(text));
      return !ended.signal.aborted;
    },
    err(chunk) {
      print(chunk.length);
      stderr = (stderr + decoder.decode(chunk, { stream: true })).slice(-KEPT_STDERR);
      return !ended.signal.aborted;
    },
  });
  const usage = watchUsage(
    process.pid,
    limits,
    (what) =>
      what === "memory"
        ? fail("MemoryError", `The code used more than ${limits.memoryMb} MB; ${RAISED_BY.memory}`)
        : fail("TimeoutError", `The code used the processor for more than ${limits.cpuMs} ms; ${RAISED_BY.time}`),
  );
  const cancel = () => fail("TimeoutError", "The run was cancelled");
  signal.addEventListener("abort", cancel);
  if (signal.aborted) cancel();
  exited.then(async (status) => {
    await silent;
    over.resolve({ ok: false, error: deathOf(status, stderr) });
  });

  const result = await over.promise;
  // One result, then the end: whatever the code still does, it does to nobody.
  ended.abort();
  clock.stop();
  signal.removeEventListener("abort", cancel);
  const peakMb = usage.stop();
  // Nobody has to wait for its end.
  kill();
  return { result, logs, metrics: { ms: performance.now() - began, calls, peakMb, bytesIn } };
}

/** Why a process ended that gave no result. */
function deathOf({ signal, code }: Deno.CommandStatus, stderr: string): CodeFailure {
  if (/out of memory|allocation failed|memory limit|std::bad_alloc|Cannot allocate/i.test(stderr)) {
    return {
      type: "MemoryError",
      message: `The code used more memory than it may; ${RAISED_BY.memory}`,
    };
  }
  // The system's own bound, when we were too busy to look.
  if (signal === "SIGXCPU" || code === 152) {
    return { type: "TimeoutError", message: `The code used the processor for too long; ${RAISED_BY.time}` };
  }
  // Not by us, so by the system or by V8: what they end a process for is memory. A shell tells the signal as a code.
  if (signal === "SIGKILL" || signal === "SIGTRAP" || code === 137 || code === 133) {
    return {
      type: "MemoryError",
      message: `The system ended the code, most likely for its memory; ${RAISED_BY.memory}`,
    };
  }
  const how = signal ? `by ${signal}` : `with code ${code}`;
  return { type: "RuntimeError", message: `The code's process ended ${how} before it gave a result` };
}
