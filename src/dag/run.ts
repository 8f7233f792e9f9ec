import { AgentCardsError, type JsonObject, messageOf } from "../model/mod.ts";
import { createRetries, type Ended, type Flight, isGentle, type StopKind, timesOf } from "./attempt.ts";
import { actedBefore, hasActed, openEffects } from "./code_call.ts";
import { fillIn, interruptedArguments, sentArguments } from "./inputs.ts";
import { kindOf } from "./kinds/all.ts";
import { runnerOf } from "./kinds/run.ts";
import { createGate } from "./gate.ts";
import { createReadyQueue } from "./ready_queue.ts";
import { createEventStream, type DecidedBy, type Decision, type Happening, type RunEvent } from "./event.ts";
import { createNodes, type Node } from "./nodes.ts";
import { outcomeOf } from "./outcome.ts";
import { type Held, pendingOf, summaryOf } from "./pending.ts";
import { record } from "./state.ts";
import { isLastPoll, polled, type Readiness, readinessOf } from "./condition/readiness.ts";
import type { AboutDecision, Run, RunInput, TaskResult } from "./run_port.ts";
import type { Plan, Task, ToolTask } from "./task.ts";

const ABORTED = "the run was aborted";
const RETRIES = 3;
const RETRY_AFTER_MS = 1_000;
/** The priority of a run that names none, of 1 to 5. */
const PRIORITY = 3;

function errorOf({ kind, error }: TaskResult & { ok: false }, task: Task): string {
  if (kind !== "not_yet" || task.type !== "tool") return error;
  const times = task.until!.times;
  return `${error}; it was called ${times === 1 ? "once" : `${times} times`}`;
}

/** Runs the tasks of a plan, each as soon as it can, from where its journal stands. */
export function startRun(
  { fold, plan, writer, ports, caps, now = Date.now, patienceMs, places: shared }: RunInput,
): Run {
  const { state } = fold;
  const { options } = state;
  const stream = createEventStream<RunEvent>();
  const nodes = createNodes(plan, state, ports);
  const places = shared?.join({ priority: options.priority ?? PRIORITY, wake: advance });
  const ready = createReadyQueue<Node>({ ...caps, all: Math.min(caps.all, options.concurrency ?? Infinity), places });
  const held = new Map<string, Held>();
  const retries = createRetries();
  const inFlight = new Map<Node, Flight>();
  const pauseAfter = new Set(options.pause_after?.filter((id) => !state.passed.has(id)));
  // While a human thinks, others may use the place.
  const makeRoom = (node: Node) => (ready.giveBack(node), queueMicrotask(advance), () => ready.takeBack(node));
  const gate = createGate({ state, ports, held, now, emit, makeRoom });
  // What code calls has no place of its own that others could use.
  const gateInside = createGate({ state, ports, held, now, emit, makeRoom: () => () => {} });
  const surroundings = { state, ports, gate, gateInside, held, patienceMs, emit };
  let { layers } = plan;
  let isToPause = false;
  let isDoubtful = false;
  /** Conditions that are being evaluated. */
  let judging = 0;
  let stopped: { kind: StopKind; why: string } | undefined;
  let isOver = false;
  let isClosed = false;
  // Whoever waits for a row that is not written any more must not go on.
  const over = Promise.reject<void>(new AgentCardsError("RUN_STATE", "The run is over"));
  over.catch(() => {});

  function emit(happening: Happening): Promise<void> {
    if (isClosed) return over;
    const event = record(fold, [happening], now())[0]!;
    const isTurning = event.kind === "paused" || event.kind === "finished";
    const written = writer.append(event, isTurning ? summaryOf(state) : undefined);
    written.catch(breakOff);
    stream.push(event);
    return written;
  }

  /** The journal cannot be written any more, so nothing may happen any more. */
  function breakOff(error: unknown): void {
    if (isOver) return;
    close();
    writer.release();
    for (const { controller } of inFlight.values()) controller.abort();
    stream.end(error);
  }

  function close(): void {
    isOver = isClosed = true;
    clearTimeout(runTimer);
    retries.clear();
    places?.leave();
    writer.close();
  }

  /** Tasks that have everything they need: skipped, kept back until their layer's turn, or put in line. */
  function becomeReady(first: readonly Node[]): void {
    const line = [...first];
    for (const node of line) {
      const found = readinessOf(node.task, state, ports.load);
      if (!(found instanceof Promise)) {
        line.push(...settleOrQueue(node, found));
        continue;
      }
      judging++;
      void found.then((judged) => {
        judging--;
        if (isOver) return;
        becomeReady(settleOrQueue(node, judged));
        advance();
      });
    }
  }

  /** The tasks that can begin because this one cannot. */
  function settleOrQueue(node: Node, found: Readiness): Node[] {
    if (found.kind === "go") {
      if (options.pause !== "layer" || node.layer < state.layers) queue(node);
      return [];
    }
    const { attempt = 0 } = state.tasks.get(node.id) ?? {};
    void emit(
      found.kind === "skip"
        ? { kind: "skipped", task: node.id, why: found.why, because: found.because }
        : { kind: "failed", task: node.id, attempt, ms: 0, error: found.error, status: "error" },
    );
    return settle(node);
  }

  /** Puts a task in line; a poll that a restart interrupted keeps its interval. */
  function queue(node: Node): void {
    const until = node.task.type === "tool" ? node.task.until : undefined;
    const { polledAt } = state.tasks.get(node.id) ?? {};
    const waitMs = until && polledAt !== undefined ? polledAt + until.every_ms - now() : 0;
    if (waitMs > 0) pollAfter(Math.min(waitMs, until!.every_ms), node);
    else ready.add(node);
  }

  function pollAfter(ms: number, node: Node): void {
    retries.after(ms, () => (ready.add(node), advance()), "poll");
  }

  function settle(node: Node): Node[] {
    if (pauseAfter.has(node.id)) isToPause = true;
    return nodes.settle(node);
  }

  /** Starts what can start; when nothing runs any more, pauses or ends. */
  function advance(): void {
    if (isOver) return;
    if (!stopped && !isToPause) {
      for (let node = ready.take(); node; node = ready.take()) void start(node);
      if (ready.isWaiting()) return;
    }
    // Who has to decide something does not wait for the end of a poll: it goes on afterwards.
    const isResting = isToPause || held.size > 0 || isDoubtful;
    if (inFlight.size === 0 && judging === 0 && !retries.waiting(isResting ? "retry" : undefined)) void conclude();
  }

  async function start(node: Node): Promise<void> {
    const { id, task } = node;
    const kind = kindOf(task);
    const flight: Flight = { controller: new AbortController(), isSent: false };
    inFlight.set(node, flight);
    const { signal } = flight.controller;
    const attempt = (state.tasks.get(id)?.attempt ?? 0) + 1;
    const onSent = () => {
      flight.isSent = true;
      sent ??= performance.now();
    };
    let starting = 0;
    const onStarted = (ms: number) => void (starting += ms);
    let began = performance.now();
    let sent: number | undefined;
    let input: JsonObject = {};
    let result: TaskResult | undefined;
    const begin = async (approval?: string) => {
      const effect = kind.effectAtStart(node.effect);
      const isActing = effect !== "read";
      const written = emit({
        kind: "started",
        task: id,
        attempt,
        effect,
        ...isActing && sentArguments(input),
        ...approval !== undefined && { approval },
      });
      // A call that acts goes out only once it is certain that a crash will not forget it.
      if (isActing || !writer.isSure()) await written;
      signal.throwIfAborted();
      // Its time counts from here on, and with the start of its server, which came before.
      began = performance.now() - starting;
    };
    try {
      const filling = interruptedArguments(state.tasks.get(id)) ?? fillIn(kind.input(task), state.tasks, ports.load);
      input = filling instanceof Promise ? await filling : filling;
      signal.throwIfAborted();
      result = await runnerOf(task)({ ...surroundings, task, node, attempt, input, flight, begin, onStarted, onSent });
      if (result) result = await polled(task, result, state, ports.load);
    } catch (error) {
      result = { ok: false, kind: "failed", error: messageOf(error) };
    }
    inFlight.delete(node);
    ready.giveBack(node);
    if (isOver) return;
    if (result) {
      const startMs = sent === undefined ? 0 : sent - began;
      end(node, { attempt, ms: performance.now() - began, startMs, result, flight, input });
    }
    advance();
  }

  function end(node: Node, ended: Ended): void {
    const { attempt, result, flight, input } = ended;
    const { id, task, effect } = node;
    const kind = kindOf(task);
    const about = { task: id, attempt };
    const took = timesOf(ended);
    if (result.ok) {
      const { output, bytes, state: left, note } = result;
      void emit({ kind: "done", ...about, ...took, bytes, output, ...left && { state: left }, ...note && { note } });
      return becomeReady(settle(node));
    }
    const failed = (status: "error" | "failed_safe" | "again") => {
      const error = status === "again" ? result.error : errorOf(result, task) + actedBefore(state.tasks.get(id)?.calls);
      void emit({ kind: "failed", ...about, ...took, error, status });
    };
    const inDoubt = (why: string) => {
      isDoubtful = true;
      void emit({ kind: "in_doubt", ...about, why, ...openCall(id) });
    };
    const tries = attempt - (state.tasks.get(id)?.base ?? 0);
    if (stopped && flight.controller.signal.aborted) {
      const { why } = stopped;
      const isOpen = "call" in openCall(id) || effect === "effectful" && flight.isSent;
      if (isOpen) inDoubt(`under way when ${why}`);
      else if (isGentle(stopped.kind)) failed("again");
      else if (hasActed(state.tasks.get(id)?.calls)) {
        void emit({ kind: "failed", ...about, ...took, error: `it had acted when ${why}`, status: "error" });
      } else void emit({ kind: "skipped", task: id, why });
    } else if (result.kind === "held") failed("again");
    else if (
      result.kind === "in_doubt" ||
      (result.kind === "lost" && effect === "effectful" && flight.isSent && !result.isUnsent)
    ) {
      // Nothing that waits for it is started; the other branches come to their end.
      inDoubt(result.error);
    } else if (result.kind === "question" || result.kind === "sign_in") {
      failed("again");
      held.set(id, { reason: result.kind, task: id, why: result.error, ...kind.waiting(task, input) });
    } else if (
      result.kind === "lost" && effect !== "effectful" && tries <= (task.retries ?? RETRIES)
    ) {
      failed("again");
      retries.after(RETRY_AFTER_MS * 2 ** (tries - 1), () => (ready.add(node), advance()));
    } else if (result.kind === "not_yet" && !isLastPoll(task, state)) {
      void emit({ kind: "failed", ...about, ...took, error: result.error, status: "again", isPoll: true });
      pollAfter((task as ToolTask).until!.every_ms, node);
    } else {
      // Code that has acted did not fail safely, whatever was said of it.
      const isSafe = kind.isSafeToFail(task) && !hasActed(state.tasks.get(id)?.calls);
      failed(isSafe ? "failed_safe" : "error");
      becomeReady(settle(node));
    }
  }

  /** The call of a task's code that may or may not have happened. */
  function openCall(id: string): { call?: number } {
    const [open] = openEffects(state.tasks.get(id)?.calls);
    return open ? { call: open.call } : {};
  }

  /** Nothing runs any more: the run is over, or it waits. */
  async function conclude(): Promise<void> {
    if (isOver) return;
    isOver = true;
    try {
      const unsettled = nodes.unsettled();
      if (stopped && !isGentle(stopped.kind)) {
        const { kind, why } = stopped;
        const isAborted = kind === "abort";
        for (const { id } of unsettled) {
          const isOpen = ["waiting", "running"].includes(state.tasks.get(id)!.status);
          if (isOpen) void emit({ kind: "skipped", task: id, why });
        }
        const status = isAborted ? "aborted" : outcomeOf(state).status;
        await emit({ kind: "finished", status, ...status !== "completed" && { error: why } });
      } else if (unsettled.length === 0) {
        await emit({ kind: "finished", ...outcomeOf(state) });
      } else if (stopped?.kind !== "leave") {
        // To one that is left its rows say all: whoever comes next goes on from them.
        await emit({ kind: "paused", pending: pendingOf(state, { held, stopped: stopped?.why, layers }) });
      }
      stream.end();
    } catch (error) {
      stream.end(error);
    } finally {
      close();
    }
  }

  function stop(kind: StopKind, why: string): void {
    if (isOver || (stopped && (isGentle(kind) || !isGentle(stopped.kind)))) return;
    stopped = { kind, why };
    retries.clear();
    const reason = new AgentCardsError("RUN_STATE", why, { data: { stop: kind } });
    for (const [{ effect }, { controller, isSent, calls }] of inFlight) {
      if (isGentle(kind) && calls) calls.stop();
      else if (!isGentle(kind) || effect !== "effectful" || !isSent) controller.abort(reason);
    }
    advance();
  }

  function decide(decision: Decision, by: DecidedBy, bigger?: Plan, about: AboutDecision = {}): void {
    if (isOver) throw new AgentCardsError("RUN_STATE", "The run has come to its end meanwhile");
    const { note, request } = about;
    const command = {
      kind: "command",
      by,
      decision,
      ...note !== undefined && { note },
      ...request !== undefined && { request },
    } as const;
    if (decision.action === "abort") {
      void emit(command);
      return stop("abort", ABORTED);
    }
    if (decision.action === "inject") return inject(command, bigger);
    throw new AgentCardsError("RUN_STATE", `A run that is running does not wait for "${decision.action}"`);
  }

  function inject(command: Happening, bigger?: Plan): void {
    const added = bigger?.tasks.map(({ task }) => task).filter(({ id }) => !state.tasks.has(id)) ?? [];
    if (!bigger || bigger.tasks.length !== state.plan.length + added.length) {
      throw new AgentCardsError("RUN_STATE", "Somebody else has added tasks meanwhile; send yours again");
    }
    void emit(command);
    void emit({ kind: "planned", tasks: added });
    layers = bigger.layers;
    becomeReady(nodes.grow(bigger));
    advance();
  }

  void writer.lost.then(breakOff);
  const runTimer = options.timeout_ms === undefined ? undefined : setTimeout(
    () => stop("timeout", `the run's time of ${options.timeout_ms} ms was over`),
    Math.max(0, options.timeout_ms - (state.activeMs - (state.clockFrom ?? 0))),
  );
  for (const { id } of nodes.interrupted()) {
    const { attempt } = state.tasks.get(id)!;
    void emit({ kind: "in_doubt", task: id, attempt, why: "under way when its runner stopped", ...openCall(id) });
  }
  isDoubtful = [...state.tasks.values()].some(({ status }) => status === "in_doubt");
  isToPause = [...pauseAfter].some(nodes.isSettled);
  // A run that stopped between the word and its end is aborted still.
  if (state.workflow.decisions.at(-1)?.decision.action === "abort") stopped = { kind: "abort", why: ABORTED };
  becomeReady(nodes.free());
  queueMicrotask(advance);

  return {
    events: stream.read(),
    decide,
    hold: (why) => stop("hold", why),
    leave: () => stop("leave", "its engine stopped"),
    abandon: () =>
      breakOff(new AgentCardsError("ENGINE_BUSY", "The engine stopped; the next one goes on with the run")),
  };
}
