// The library for Node: the gateway runs in a Deno of its own, and this module speaks to it over a pipe. docs/API.md says
// what each function takes and gives.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const { programFolder, programWords } = createRequire(import.meta.url)("./program.cjs");

/** An error of AgentCards: switch on `code`, show `message` and `hint`. */
export class AgentCardsError extends Error {
  name = "AgentCardsError";
  constructor({ code, message, hint }) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

/** Opens a gateway. `command` starts AgentCards; the package's own program unless told. */
export async function openGateway({ guardrails = [], command, ...options } = {}) {
  const [program, ...words] = command ?? programWords(programFolder());
  const env = { ...process.env, DENO_NO_UPDATE_CHECK: "1" };
  const child = spawn(program, [...words, "library"], { stdio: ["pipe", "pipe", "inherit"], env });
  const waiting = new Map();
  let last = 0;
  const send = (message) => child.stdin.write(`${JSON.stringify(message)}\n`);
  const ended = new Promise((resolve) => {
    const end = (reason) => {
      for (const { fail } of waiting.values()) {
        fail(new AgentCardsError({ code: "ENGINE_UNREACHABLE", message: reason }));
      }
      waiting.clear();
      resolve();
    };
    child.on("error", (error) => end(`Cannot start ${program}: ${error.message}`));
    child.on("exit", () => end("The gateway is closed"));
  });
  child.stdin.on("error", () => {});

  async function judge({ guard, index, call }) {
    try {
      send({ guard, verdict: await guardrails[index](call) ?? null });
    } catch (error) {
      send({ guard, error: { message: String(error) } });
    }
  }

  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    if (message.guard !== undefined) return void judge(message);
    const { event, done, fail } = waiting.get(message.id) ?? {};
    if (message.event !== undefined) return event?.(message.event);
    waiting.delete(message.id);
    if (message.error) fail?.(new AgentCardsError(message.error));
    else done?.(message.result);
  });

  function request(id, message, { event, signal } = {}) {
    const answer = new Promise((done, fail) => waiting.set(id, { event, done, fail }));
    if (child.exitCode !== null) {
      waiting.get(id).fail(new AgentCardsError({ code: "ENGINE_UNREACHABLE", message: "The gateway is closed" }));
    }
    const cancel = () => send({ cancel: id });
    signal?.addEventListener("abort", cancel, { once: true });
    send(message);
    if (signal?.aborted) cancel();
    return answer.finally(() => signal?.removeEventListener("abort", cancel));
  }
  const ask = (method, params, options) => {
    const id = ++last;
    return request(id, { id, method, params }, options);
  };

  async function* runWorkflow(workflow, { signal } = {}) {
    const stop = new AbortController();
    const events = [];
    let wake = () => {};
    const run = ask("runWorkflow", [workflow], {
      signal: signal ? AbortSignal.any([signal, stop.signal]) : stop.signal,
      event: (one) => (events.push(one), wake()),
    });
    let isOver = false;
    run.then(() => {}, () => {}).then(() => (isOver = true, wake()));
    try {
      for (;;) {
        while (events.length > 0) yield events.shift();
        if (isOver) return await run;
        await new Promise((resolve) => wake = resolve);
      }
    } finally {
      if (!isOver) stop.abort();
      run.catch(() => {});
    }
  }

  const close = async () => {
    child.stdin.end();
    await ended;
  };
  try {
    await request(0, { cwd: process.cwd(), ...options, guardrails: guardrails.length });
  } catch (error) {
    await close();
    throw error;
  }
  return {
    search: (query, options = {}) => ask("search", [query, options]),
    call: (tool, args = {}, options) => ask("call", [tool, args], options),
    runWorkflow,
    resumeWorkflow: (decision, options) => ask("resumeWorkflow", [decision], options),
    stats: () => ask("stats", []),
    close,
    [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]: close,
  };
}
