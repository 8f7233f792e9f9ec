import { AgentCardsError, type Allowance, type JsonObject, messageOf, type Output, splitToolId } from "../model/mod.ts";
import type { Approvable } from "./approval.ts";
import { callKey } from "./code_call.ts";
import type { CallAnswer, Happening } from "./event.ts";
import type { Gate } from "./gate.ts";
import { sentArguments } from "./inputs.ts";
import type { Node } from "./nodes.ts";
import type { Held } from "./pending.ts";
import { createReplay } from "./replay.ts";
import type { CallFromCode, CallFromCodeOptions, RunPorts, TaskResult } from "./run_port.ts";
import type { RunState } from "./run_state.ts";
import type { CodeTask, ToolTask } from "./task.ts";

/** A server that runs takes a call within less than this. */
export const LEAST_START_MS = 2;

export interface CodeCallsOptions {
  readonly node: Node;
  readonly task: CodeTask;
  readonly attempt: number;
  readonly state: RunState;
  readonly ports: Pick<RunPorts, "callTool" | "toolFor" | "effectOf">;
  readonly gate: Gate;
  readonly held: Map<string, Held>;
  /** Ends the code when aborted. */
  readonly controller: AbortController;
  readonly patienceMs: number | undefined;
  emit(happening: Happening): Promise<void>;
}

/** The calls that the code of one task makes: each is in the journal, and is heard from there when the code runs again. */
export interface CodeCalls {
  readonly call: CallFromCode;
  /** Ends the code, but not before what acts on the world has come to its end. */
  stop(): void;
  /** The end of the task, once its code has ended. */
  settled(result: TaskResult): Promise<TaskResult>;
  /** Milliseconds in which the code waited for servers to start. */
  starts(): Readonly<Record<string, number>>;
}

interface Made {
  readonly number: number;
  readonly key: string;
  readonly asked: string;
  readonly args: JsonObject;
  readonly how: CallFromCodeOptions;
}

export function createCodeCalls(options: CodeCallsOptions): CodeCalls {
  const { node, task, attempt, state, ports, gate, held, controller, patienceMs, emit } = options;
  const about = { task: node.id, attempt };
  const before = state.tasks.get(node.id)?.calls;
  const replay = createReplay(before?.values() ?? [], { onDiverged, ...patienceMs !== undefined && { patienceMs } });
  const open = new Set<Promise<unknown>>();
  const waits: Wait[] = [];
  let last = Math.max(0, ...before?.keys() ?? []);
  let acting = 0;
  let asking: Promise<unknown> = Promise.resolve();
  /** Nothing new goes out. */
  let isStopping = false;
  let reason: { kind: "held" | "in_doubt"; error: string } | undefined;

  function onDiverged(): void {
    if (replay.hasActed()) return giveUp("in_doubt", "its code ran again and went another way than before");
    replay.forget();
  }

  function giveUp(kind: "held" | "in_doubt", error: string): void {
    reason ??= { kind, error };
    stop();
  }

  function stop(): void {
    isStopping = true;
    if (acting === 0) controller.abort();
  }

  /** Code that is about to be stopped hears nothing more: an error could make it do something else. */
  async function silence({ signal }: CallFromCodeOptions): Promise<never> {
    await aborted(AbortSignal.any([signal, controller.signal]));
    throw new AgentCardsError("RUN_STATE", "The run stops here");
  }

  async function call(asked: string, args: JsonObject, how: CallFromCodeOptions): Promise<Output> {
    const key = callKey(asked, args);
    const known = await replay.take(key);
    if (known?.answer) return heard(known.answer);
    if (isStopping) return await silence(how);
    const made: Made = { number: known?.call ?? ++last, key, asked, args, how };
    let tool: ToolTask;
    const from = performance.now();
    try {
      tool = await ports.toolFor(task, asked, args);
    } catch (error) {
      return refuse(made, messageOf(error));
    }
    // A server whose tools are not known yet is started to learn them.
    waited(tool, from);
    const effect = ports.effectOf(tool);
    const inside: Node = { ...node, task: tool, effect };
    if (gate.holds(inside, args, key)) {
      giveUp("held", `${tool.tool} waits for a word`);
      return await silence(how);
    }
    return await perform(made, tool, inside);
  }

  /** One question at a time: a human who sees many reads none. The clock of the code stands still meanwhile. */
  async function allow(inside: Node, { args, how }: Made, needed: Approvable): Promise<Allowance> {
    const goOn = how.pause();
    const signal = AbortSignal.any([how.signal, controller.signal]);
    const turn = asking.then(() => gate.allow(inside, args, needed, signal));
    asking = turn.catch(() => {});
    return await turn.finally(goOn);
  }

  function waited({ tool }: ToolTask, from: number): void {
    const to = performance.now();
    if (to - from >= LEAST_START_MS) waits.push({ server: splitToolId(tool).server ?? "", from, to });
  }

  /** Refuses a call; code that runs again hears the refusal again. */
  function refuse({ number, key, asked }: Made, error: string): Output {
    void emit({ kind: "called", ...about, call: number, tool: asked, key, effect: "read" });
    return answer(number, 0, { kind: "error", error });
  }

  function answer(number: number, bytes: number, given: CallAnswer): Output {
    void emit({ kind: "answered", ...about, call: number, bytes, answer: given });
    return heard(given);
  }

  async function perform(made: Made, tool: ToolTask, inside: Node): Promise<Output> {
    const { number, key, args, how } = made;
    const { effect } = inside;
    const isActing = effect === "effectful";
    // A call that acts comes to its end, whatever becomes of the code that asked for it.
    const signal = isActing ? controller.signal : AbortSignal.any([how.signal, controller.signal]);
    let from = performance.now();
    let starting = 0;
    let [isBegun, isSent] = [false, false];
    const beforeSend = async (approval: string | undefined) => {
      if (isStopping || controller.signal.aborted) throw new AgentCardsError("RUN_STATE", "The run stops here");
      isBegun = true;
      if (isActing) acting++;
      const written = emit({
        kind: "called",
        ...about,
        call: number,
        tool: tool.tool,
        key,
        effect,
        ...effect !== "read" && sentArguments(args),
        ...approval !== undefined && { approval },
      });
      if (effect !== "read") await written;
      from = performance.now() - starting;
    };
    const onStarted = (ms: number) => void (starting += ms);
    const onSent = () => {
      if (!isSent) waited(tool, from);
      isSent = true;
    };
    try {
      const result = await ports.callTool(tool, args, {
        key: `${node.id}:${state.tasks.get(node.id)?.base ?? 0}:${number}`,
        signal,
        isFromCode: true,
        onStarted,
        onSent,
        beforeSend,
        allow: (needed) => allow(inside, made, needed),
      });
      if (!isBegun && !result.ok) {
        if (result.kind === "held") giveUp("held", `${tool.tool} waits for a word`);
        return isStopping || controller.signal.aborted ? await silence(how) : refuse(made, result.error);
      }
      if (result.ok) return answer(number, result.bytes, { kind: "output", output: result.output });
      if (result.kind === "question" || result.kind === "sign_in") {
        void emit({ kind: "answered", ...about, call: number, bytes: 0, answer: { kind: "none" } });
        held.set(node.id, { reason: result.kind, task: node.id, tool: tool.tool, arguments: args, why: result.error });
        giveUp("held", result.error);
        return await silence(how);
      }
      if (result.kind === "lost" && isActing && isSent && !result.isUnsent) {
        // It may have happened: the code does not go on before somebody says whether it has.
        giveUp("in_doubt", result.error);
        return await silence(how);
      }
      if (!signal.aborted) return answer(number, 0, { kind: "error", error: result.error });
      // Cut off by the run itself. One that acts and had gone out has no answer: nobody knows whether it happened.
      if (!isActing || !isSent) {
        void emit({ kind: "answered", ...about, call: number, bytes: 0, answer: { kind: "none" } });
      }
      return await silence(how);
    } finally {
      if (isActing && isBegun) acting--;
      if (isStopping && acting === 0) controller.abort();
    }
  }

  return {
    call(asked, args, how) {
      const made = call(asked, args, how);
      open.add(made);
      const close = () => open.delete(made);
      made.then(close, close);
      return made;
    },
    stop,
    starts: () => apart(waits),
    async settled(result) {
      const wasStopped = isStopping;
      isStopping = true;
      replay.end();
      while (open.size > 0) await Promise.allSettled(open);
      if (reason) return { ok: false, ...reason };
      if (result.ok || !wasStopped) return missed(result) ?? result;
      return { ok: false, kind: "held", error: "the run stopped" };
    },
  };

  /** Code that comes to its own end without calling again what acted before has gone another way. */
  function missed(result: TaskResult): TaskResult | undefined {
    const isCutOff = controller.signal.aborted || (!result.ok && result.isCutOff === true);
    const missing = isCutOff ? undefined : replay.missing();
    if (!missing) return undefined;
    const error = `its code ran again and did not call ${missing.tool}, as it had done before`;
    return { ok: false, kind: "in_doubt", error };
  }
}

interface Wait {
  readonly server: string;
  readonly from: number;
  readonly to: number;
}

/** Waiting times by server. Of servers that were waited for at the same time the first has it all: it passed once. */
function apart(waits: readonly Wait[]): Record<string, number> {
  const times: Record<string, number> = {};
  let until = 0;
  for (const { server, from, to } of waits.toSorted((a, b) => a.from - b.from)) {
    const ms = to - Math.max(from, until);
    if (ms > 0) times[server] = (times[server] ?? 0) + ms;
    until = Math.max(until, to);
  }
  return times;
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function heard(answer: CallAnswer): Output {
  if (answer.kind === "output") return answer.output;
  throw new AgentCardsError("TOOL_FAILED", answer.kind === "error" ? answer.error : "It was given up");
}
