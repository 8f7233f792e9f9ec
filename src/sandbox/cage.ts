import { inOneLine } from "../model/errors.ts";
import { createLineSplitter, TOO_LONG } from "../model/lines.ts";
import { cageCommand, type Level } from "./command.ts";
import { type CodeFailure, createFrameReader, type Frame } from "./frame.ts";
import { type CageLimits, MAX_FRAME } from "./limits.ts";
import { peakMemory } from "./memory.ts";

/** Code and what it may see. */
export interface CageRequest {
  readonly code: string;
  readonly context: unknown;
  readonly deps: unknown;
  /** Names of variables and the servers they stand for. */
  readonly servers: Readonly<Record<string, string>>;
}

/** What the code can reach, as functions: each call goes through everything a call of an agent goes through. */
export interface CageTools {
  call(tool: string, args: unknown, signal: AbortSignal): Promise<unknown>;
  result(handle: string, path: unknown): Promise<unknown>;
}

export interface CodeLog {
  readonly level: string;
  readonly text: string;
}

export interface CageOutcome {
  readonly result: { readonly ok: true; readonly value: unknown; readonly bytes: number } | {
    readonly ok: false;
    readonly error: CodeFailure;
  };
  readonly logs: readonly CodeLog[];
  readonly metrics: { readonly ms: number; readonly calls: number; readonly peakMb: number };
}

/** One process that runs code once. */
export interface Cage {
  readonly pid: number;
  readonly exited: Promise<unknown>;
  run(request: CageRequest, tools: CageTools, limits: CageLimits, signal: AbortSignal): Promise<CageOutcome>;
  kill(): Promise<void>;
}

export interface CageOptions {
  readonly level: Level;
  readonly memoryMb: number;
  /** Tells who kills what is left when we die. */
  watch(pid: number): void;
  forget(pid: number): void;
}

const PART = 256 * 1024;
const KEPT_STDERR = 4_096;
const encoder = new TextEncoder();

/** Starts a process that waits for code. */
export async function startCage({ level, memoryMb, watch, forget }: CageOptions): Promise<Cage> {
  const scratch = await Deno.makeTempDir({ prefix: "agentcards-cage-" });
  const { command, args, env } = cageCommand(level, { memoryMb, scratch });
  const child = new Deno.Command(command, {
    args: [...args],
    env: { ...env },
    clearEnv: true,
    cwd: scratch,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    detached: true,
  }).spawn();
  watch(child.pid);
  const exited = child.status.then(async (status) => {
    forget(child.pid);
    await Deno.remove(scratch, { recursive: true }).catch(() => {});
    return status;
  });
  const kill = () => {
    try {
      Deno.kill(Deno.build.os === "windows" ? child.pid : -child.pid, "SIGKILL");
    } catch {
      // It is gone already.
    }
  };
  const stdin = child.stdin.getWriter();
  stdin.closed.catch(() => {});
  return {
    pid: child.pid,
    exited,
    run: (request, tools, limits, signal) => runIn({ child, stdin, exited, kill }, { request, tools, limits, signal }),
    async kill() {
      kill();
      await child.stdout.cancel().catch(() => {});
      await child.stderr.cancel().catch(() => {});
      await exited;
    },
  };
}

interface Process {
  readonly child: Deno.ChildProcess;
  readonly stdin: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly exited: Promise<Deno.CommandStatus>;
  kill(): void;
}

interface Job {
  readonly request: CageRequest;
  readonly tools: CageTools;
  readonly limits: CageLimits;
  readonly signal: AbortSignal;
}

type Result = CageOutcome["result"];

async function runIn({ child, stdin, exited, kill }: Process, job: Job): Promise<CageOutcome> {
  const { request, tools, limits, signal } = job;
  const began = performance.now();
  const nonce = crypto.randomUUID();
  const over = Promise.withResolvers<Result>();
  const ended = new AbortController();
  const fail = (type: CodeFailure["type"], message: string) => over.resolve({ ok: false, error: { type, message } });
  const logs: CodeLog[] = [];
  let printed = 0;
  let calls = 0;
  let stderr = "";

  function print(bytes: number): void {
    printed += bytes;
    if (printed > limits.outputBytes) {
      fail("LimitError", `The code printed more than ${limits.outputBytes} bytes`);
    }
  }

  /** One after another, so that parts of values never mix. */
  let writing: Promise<void> = Promise.resolve();
  function send(frame: Record<string, unknown>): void {
    const bytes = encoder.encode(`${JSON.stringify(frame)}\n`);
    writing = writing.then(() => stdin.write(bytes as Uint8Array<ArrayBuffer>)).catch(() => {});
  }
  function sendValue(id: number, value: unknown): void {
    const json = JSON.stringify(value) ?? "null";
    for (let at = 0; json.length - at > PART; at += PART) send({ id, part: json.slice(at, at + PART) });
    send({ id, last: json.slice(Math.floor((json.length - 1) / PART) * PART) });
  }

  const line: (Frame & { kind: "ask" })[] = [];
  let underWay = 0;
  function next(): void {
    while (underWay < limits.callsAtOnce && line.length > 0 && !ended.signal.aborted) void answer(line.shift()!);
  }
  async function answer({ id, method, what, value }: Frame & { kind: "ask" }): Promise<void> {
    underWay++;
    try {
      sendValue(id, method === "call" ? await tools.call(what, value, ended.signal) : await tools.result(what, value));
    } catch (error) {
      send({ id, error: inOneLine(error).slice(0, 8_000), tool: what });
    }
    underWay--;
    next();
  }

  function take(frame: Frame | undefined): void {
    if (!frame || ended.signal.aborted) return;
    switch (frame.kind) {
      case "noise":
        // Only the runner writes there; whoever else does wants to be taken for it.
        return fail("LimitError", "The code wrote past its runner; use console.log");
      case "log":
        print(frame.text.length);
        logs.push({ level: frame.level, text: frame.text });
        return;
      case "ask":
        calls++;
        line.push(frame);
        return next();
      case "value":
        return over.resolve({ ok: true, value: frame.value, bytes: frame.bytes });
      case "error":
        return over.resolve({ ok: false, error: frame.error });
      case "broken":
        return fail("LimitError", `The code broke a rule of its cage: ${frame.why}`);
    }
  }

  const readFrame = createFrameReader(nonce, limits);
  const reading = (async () => {
    const split = createLineSplitter(MAX_FRAME);
    let unfinished = 0;
    for await (const chunk of child.stdout) {
      const lines = split(chunk);
      unfinished = lines.length > 0 ? 0 : unfinished + chunk.length;
      if (unfinished > MAX_FRAME || lines.includes(TOO_LONG)) {
        fail("LimitError", `The code wrote a line of more than ${MAX_FRAME} bytes`);
      }
      for (const text of lines) if (text !== TOO_LONG) take(readFrame(text));
      if (ended.signal.aborted) return;
    }
  })().catch(() => {});
  const readingErrors = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) {
      print(chunk.length);
      stderr = (stderr + decoder.decode(chunk, { stream: true })).slice(-KEPT_STDERR);
      if (ended.signal.aborted) return;
    }
  })().catch(() => {});
  const memory = peakMemory(
    child.pid,
    limits.memoryMb,
    () => fail("MemoryError", `The code used more than ${limits.memoryMb} MB; sandbox_config.memoryLimit raises it`),
  );
  const timer = setTimeout(
    () => fail("TimeoutError", `The code ran for more than ${limits.wallMs} ms; sandbox_config.timeout raises it`),
    limits.wallMs,
  );
  const cancel = () => fail("TimeoutError", "The run was cancelled");
  signal.addEventListener("abort", cancel);
  if (signal.aborted) cancel();
  exited.then(async (status) => {
    await Promise.all([reading, readingErrors]);
    over.resolve({ ok: false, error: deathOf(status, stderr) });
  });

  send({ nonce, ...request });
  const result = await over.promise;
  // One result, then the end: whatever the code still does, it does to nobody.
  ended.abort();
  clearTimeout(timer);
  signal.removeEventListener("abort", cancel);
  const peakMb = memory.stop();
  // Nobody has to wait for its end.
  kill();
  return { result, logs, metrics: { ms: performance.now() - began, calls, peakMb } };
}

/** Why a process ended that gave no result. */
function deathOf({ signal, code }: Deno.CommandStatus, stderr: string): CodeFailure {
  if (/out of memory|allocation failed|memory limit|std::bad_alloc|Cannot allocate/i.test(stderr)) {
    return {
      type: "MemoryError",
      message: "The code used more memory than it may; sandbox_config.memoryLimit raises it",
    };
  }
  const how = signal ? `by ${signal}` : `with code ${code}`;
  return { type: "RuntimeError", message: `The code's process ended ${how} before it gave a result` };
}
