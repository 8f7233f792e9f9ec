import { AgentCardsError, createLineSplitter, isObject, jsonDepth, oneLine, TOO_LONG } from "../model/mod.ts";
import { installation } from "../platform/start.ts";
import { fileURLToPath } from "node:url";
import { dyingWithUs } from "./command.ts";
import { MAX_DECLARATIONS } from "./limits.ts";

/** Something in the code that does not fit, at the place where its author wrote it. */
export interface TypeProblem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
  /** TypeScript's own number for it. */
  readonly code: number;
}

export interface TypeCheckRequest {
  /** The body of an async function; static imports may stand at the beginning of any line. */
  readonly code: string;
  /** `declare const` for every server whose tools are known, and for `tools`. */
  readonly declarations: string;
  /** Servers whose tools are not known: whatever the code does with them is right. */
  readonly names: readonly string[];
}

/** Looks at code without running it. */
export interface TypeChecker {
  /** The type errors, in the order of the code. An owner has one check at a time. */
  check(request: TypeCheckRequest, signal: AbortSignal, owner?: unknown): Promise<readonly TypeProblem[]>;
  close(): Promise<void>;
}

export interface TypeCheckerOptions {
  /** Tells who kills what is left when we die. */
  watch(pid: number): void;
  forget(pid: number): void;
  /** The program that makes a process die with us, where there is one. */
  readonly setpriv?: string | undefined;
  /** The folder for compiled code; without it, starting takes twice as long. */
  readonly cache?: string;
  readonly timeoutMs?: number;
  /** The time that the process waits for another check before it ends. */
  readonly idleMs?: number;
}

const TIMEOUT_MS = 10_000;
/** Loading the compiler is no part of a check, and slow on a machine that has much to do. */
const START_MS = 30_000;
const IDLE_MS = 60_000;
const MEMORY_MB = 512;
const MAX_CODE = 256 * 1024;
const MAX_REPLY = 256 * 1024;
const MAX_PROBLEMS = 20;
const MAX_MESSAGE = 500;
const KEPT_STDERR = 4_096;
const HINT = "Run it without typecheck.";
const RUNNER = fileURLToPath(new URL("./typecheck_runner.ts", import.meta.url));
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** So many checks of different owners run at once. */
const LANES = 2;
/** A second process takes a second to start: it is worth it only where the first one is not done soon. */
const SECOND_AFTER_MS = 500;
/** A check that takes longer ends when others wait for its place. */
const PATIENCE_MS = 2_000;
const LOOK_EVERY_MS = 100;

/** A place for one check at a time, with the process that is kept for the next one. */
interface Lane {
  process?: CheckProcess | undefined;
  idle?: ReturnType<typeof setTimeout>;
  /** `since`: when its process began with it; undefined while that starts. */
  work?: { readonly owner: unknown; since?: number; hurry(): void } | undefined;
}

interface Waiting {
  readonly owner: unknown;
  begin(lane: Lane): Promise<unknown>;
}

/** A process for each place, started for its first check and kept for the next ones. */
export function createTypeChecker(options: TypeCheckerOptions): TypeChecker {
  const { timeoutMs = TIMEOUT_MS, idleMs = IDLE_MS } = options;
  const running = new Set<CheckProcess>();
  const lanes: readonly Lane[] = Array.from({ length: LANES }, () => ({}));
  const waiting: Waiting[] = [];
  const open = new Set<Promise<unknown>>();
  let looking: ReturnType<typeof setTimeout> | undefined;
  let lastId = 0;
  const closing = new AbortController();

  function start(): CheckProcess {
    const started = startProcess(options);
    running.add(started);
    started.exited.then(() => running.delete(started));
    return started;
  }

  async function checkNow(lane: Lane, request: TypeCheckRequest, signal: AbortSignal): Promise<readonly TypeProblem[]> {
    if (signal.aborted) throw cancelled();
    clearTimeout(lane.idle);
    if (!lane.process || lane.process.isOver()) await installation.unchanged();
    const used = lane.process && !lane.process.isOver() ? lane.process : lane.process = start();
    try {
      await within(START_MS, used.ready, signal);
      if (lane.work) lane.work.since = performance.now();
      return await within(timeoutMs, used.ask({ id: ++lastId, ...request }), signal);
    } catch (error) {
      // Nothing stops a compiler but the end of its process, and nobody trusts one that has failed.
      used.kill();
      if (lane.process === used) lane.process = undefined;
      throw error;
    } finally {
      if (lane.process) lane.idle = setTimeout(() => end(lane), idleMs);
    }
  }

  function end(lane: Lane): void {
    clearTimeout(lane.idle);
    lane.process?.kill();
    lane.process = undefined;
  }

  /** The duration of the longest check. */
  function longest(): { ms: number; hurry(): void } {
    const all = lanes.flatMap(({ work }) =>
      work ? [{ ms: work.since === undefined ? 0 : performance.now() - work.since, hurry: work.hurry }] : []
    );
    return all.toSorted((a, b) => b.ms - a.ms)[0]!;
  }

  /** Gives free places to those who wait, the first first, one for each owner; with none free, the slowest has to end. */
  function dispatch(): void {
    clearTimeout(looking);
    for (const one of [...waiting]) {
      if (lanes.some(({ work }) => work && work.owner === one.owner)) continue;
      const free = lanes.filter(({ work }) => !work);
      const isAlone = free.length === lanes.length;
      const lane = free.find((one) => one.process) ??
        (isAlone || longest().ms >= SECOND_AFTER_MS ? free[0] : undefined);
      if (!lane) {
        if (free.length === 0 && longest().ms >= PATIENCE_MS) longest().hurry();
        looking = setTimeout(dispatch, LOOK_EVERY_MS);
        return;
      }
      waiting.splice(waiting.indexOf(one), 1);
      void one.begin(lane).finally(() => {
        lane.work = undefined;
        dispatch();
      });
    }
  }

  return {
    async check(request, signal, owner) {
      if (request.code.length > MAX_CODE || request.declarations.length > MAX_DECLARATIONS) {
        throw new AgentCardsError("INPUT_INVALID", "This is too much code, or too many tools, to check types", {
          hint: HINT,
        });
      }
      const hurried = new AbortController();
      const either = AbortSignal.any([signal, closing.signal, hurried.signal]);
      const turn = Promise.withResolvers<readonly TypeProblem[]>();
      const begin = (lane: Lane) => {
        lane.work = { owner, hurry: () => hurried.abort() };
        const checked = checkNow(lane, request, either);
        checked.then(turn.resolve, turn.reject);
        return checked.catch(() => {});
      };
      turn.promise.catch(() => {});
      open.add(turn.promise);
      const done = () => void open.delete(turn.promise);
      turn.promise.then(done, done);
      waiting.push({ owner, begin });
      dispatch();
      // Whoever gives up does not wait for those before him.
      try {
        return await within(undefined, turn.promise, either);
      } catch (error) {
        if (!hurried.signal.aborted) throw error;
        throw new AgentCardsError(
          "TIMEOUT",
          `Checking the types took more than ${PATIENCE_MS / 1_000} s; others wait`,
          {
            hint: HINT,
          },
        );
      }
    },
    async close() {
      closing.abort();
      await Promise.allSettled([...open]);
      clearTimeout(looking);
      lanes.forEach(end);
      await Promise.all([...running].map(({ exited }) => exited));
    },
  };
}

interface CheckProcess {
  readonly ready: Promise<unknown>;
  readonly exited: Promise<unknown>;
  /** True if it can answer no more, also while its folder is still being removed. */
  isOver(): boolean;
  ask(request: TypeCheckRequest & { readonly id: number }): Promise<readonly TypeProblem[]>;
  kill(): void;
}

function startProcess({ watch, forget, setpriv, cache }: TypeCheckerOptions): CheckProcess {
  const compiler = fileURLToPath(new URL(".", import.meta.resolve("typescript")));
  if (cache) Deno.mkdirSync(cache, { recursive: true, mode: 0o700 });
  const scratch = cache ?? Deno.makeTempDirSync({ prefix: "agentcards-types-" });
  const [command, ...words] = dyingWithUs(setpriv, [Deno.execPath()]);
  const child = new Deno.Command(command!, {
    args: [
      ...words,
      "run",
      "--no-prompt",
      "--no-remote",
      "--no-npm",
      "--no-config",
      "--no-lock",
      "--quiet",
      ...cache ? [] : ["--no-code-cache"],
      `--v8-flags=--max-old-space-size=${MEMORY_MB}`,
      `--allow-read=${compiler}`,
      RUNNER,
      compiler,
    ],
    env: { DENO_DIR: scratch, NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" },
    clearEnv: true,
    cwd: scratch,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    detached: true,
  }).spawn();
  watch(child.pid);
  const kill = () => {
    try {
      Deno.kill(Deno.build.os === "windows" ? child.pid : -child.pid, "SIGKILL");
    } catch {
      // It is gone already.
    }
  };

  const ready = Promise.withResolvers<void>();
  let asked: { id: number; reply: PromiseWithResolvers<readonly TypeProblem[]> } | undefined;
  let isOver = false;
  function fail(error: AgentCardsError): void {
    isOver = true;
    kill();
    ready.reject(error);
    asked?.reply.reject(error);
  }
  // Whether anybody waits for it or not.
  ready.promise.catch(() => {});

  function take(bytes: Uint8Array): void {
    const reply = readReply(bytes);
    if (reply === "ready") ready.resolve();
    else if (!asked || !isObject(reply) || reply.id !== asked.id) fail(broken("said what nobody asked for"));
    else if (reply.tooDeep === true) {
      fail(new AgentCardsError("INPUT_INVALID", "The code is nested too deeply to check its types", { hint: HINT }));
    } else if (Array.isArray(reply.problems)) asked.reply.resolve(reply.problems.slice(0, MAX_PROBLEMS).map(problemIn));
    else fail(broken(`failed: ${oneLine(String(reply.failed), MAX_MESSAGE)}`));
  }

  let stderr = "";
  const reading = (async () => {
    const split = createLineSplitter(MAX_REPLY);
    for await (const chunk of child.stdout) {
      for (const line of split(chunk)) {
        if (line === TOO_LONG) fail(broken(`wrote a line of more than ${MAX_REPLY} bytes`));
        else take(line);
      }
    }
  })().catch(() => fail(broken("could not be read")));
  const readingErrors = (async () => {
    for await (const chunk of child.stderr) stderr = (stderr + decoder.decode(chunk)).slice(-KEPT_STDERR);
  })().catch(() => {});
  const exited = child.status.then(async ({ code, signal }) => {
    forget(child.pid);
    isOver = true;
    await Promise.all([reading, readingErrors]);
    fail(
      /out of memory|allocation failed|memory limit/i.test(stderr)
        ? new AgentCardsError("INPUT_INVALID", `Checking the types took more than ${MEMORY_MB} MB`, { hint: HINT })
        : broken(`ended ${signal ? `by ${signal}` : `with code ${code}`}`),
    );
    if (!cache) await Deno.remove(scratch, { recursive: true }).catch(() => {});
  });

  const stdin = child.stdin.getWriter();
  stdin.closed.catch(() => {});
  return {
    ready: ready.promise,
    exited,
    isOver: () => isOver,
    kill,
    async ask(request) {
      const reply = Promise.withResolvers<readonly TypeProblem[]>();
      asked = { id: request.id, reply };
      // A write that fails means that it has ended, and that is heard of.
      stdin.write(encoder.encode(`${JSON.stringify(request)}\n`)).catch(() => {});
      return await reply.promise;
    },
  };
}

function broken(how: string): AgentCardsError {
  return new AgentCardsError("INTERNAL", `The type checker ${how}`, { hint: HINT });
}

function cancelled(): AgentCardsError {
  return new AgentCardsError("CANCELLED", "The type check was cancelled");
}

function readReply(bytes: Uint8Array): unknown {
  if (jsonDepth(bytes, 4) > 4) return undefined;
  try {
    const reply: unknown = JSON.parse(decoder.decode(bytes));
    return isObject(reply) && reply.ready === true ? "ready" : reply;
  } catch {
    return undefined;
  }
}

function problemIn(value: unknown): TypeProblem {
  const { line, column, message, code } = isObject(value) ? value : {};
  const count = (given: unknown) => Number.isSafeInteger(given) && (given as number) > 0 ? given as number : 1;
  return {
    line: count(line),
    column: count(column),
    message: oneLine(typeof message === "string" ? message : "something is wrong here", MAX_MESSAGE),
    code: count(code),
  };
}

/** The result, or an error once the time is up or the check was cancelled. */
async function within<T>(ms: number | undefined, work: Promise<T>, signal: AbortSignal): Promise<T> {
  const over = Promise.withResolvers<never>();
  const timer = ms === undefined ? undefined : setTimeout(
    () =>
      over.reject(new AgentCardsError("TIMEOUT", `Checking the types took more than ${ms / 1_000} s`, { hint: HINT })),
    ms,
  );
  const cancel = () => over.reject(cancelled());
  signal.addEventListener("abort", cancel);
  if (signal.aborted) cancel();
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", cancel);
    over.promise.catch(() => {});
  }
}
