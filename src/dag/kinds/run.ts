import type { JsonObject } from "../../model/mod.ts";
import { type Flight, timeOf } from "../attempt.ts";
import { createAgentCalls } from "../agent_calls.ts";
import { createCodeCalls } from "../code_calls.ts";
import type { Happening } from "../event.ts";
import type { Gate } from "../gate.ts";
import { dependenciesOf } from "../inputs.ts";
import type { Node } from "../nodes.ts";
import type { Held } from "../pending.ts";
import type { RunPorts, TaskResult } from "../run_port.ts";
import type { RunState } from "../run_state.ts";
import type { AgentTask, CodeTask, Task, ToolTask } from "../task.ts";

/** One attempt to run a task. */
export interface Attempt<T extends Task> {
  readonly task: T;
  readonly node: Node;
  readonly attempt: number;
  /** The input of the task, its references filled in. */
  readonly input: JsonObject;
  readonly flight: Flight;
  readonly state: RunState;
  readonly ports: RunPorts;
  readonly gate: Gate;
  /** The gate for calls that code makes: they have no place of their own that others could use. */
  readonly gateInside: Gate;
  readonly held: Map<string, Held>;
  readonly patienceMs: number | undefined;
  emit(happening: Happening): Promise<void>;
  /** Writes the row that says that the attempt has begun. */
  begin(approval?: string): Promise<void>;
  /** To be told how long a server took to start. */
  onStarted(ms: number): void;
  /** To be told once a call has gone out. */
  onSent(): void;
}

/** Runs one attempt of a task. Undefined: the attempt waits for somebody and has not begun. */
export type Runner<T extends Task = Task> = (attempt: Attempt<T>) => Promise<TaskResult | undefined>;

const runTool: Runner<ToolTask> = async (
  { task, node, input, flight: { controller: { signal } }, state, ports, gate, begin, onStarted, onSent },
) => {
  if (gate.holds(node, input)) return undefined;
  const result = await ports.callTool(task, input, {
    ...timeOf(task),
    key: `${node.id}:${state.tasks.get(node.id)?.base ?? 0}`,
    signal,
    onStarted,
    onSent,
    allow: (needed) => gate.allow(node, input, needed, signal),
    beforeSend: begin,
  });
  // A call that waits for somebody has not begun.
  return result.ok || result.kind !== "held" ? result : undefined;
};

const runCode: Runner<CodeTask> = async (
  {
    begin,
    task,
    node,
    attempt,
    input,
    flight,
    state,
    ports,
    gate: outerGate,
    gateInside: gate,
    held,
    emit,
    patienceMs,
  },
) => {
  const { controller } = flight;
  let approval: string | undefined;
  if (task.approve) {
    const word = await outerGate.allow(node, input, await ports.approvable(task, input), controller.signal);
    if (word.kind === "held") return undefined;
    if (word.kind === "refused") return { ok: false, kind: "failed", error: word.error };
    approval = word.approval;
  }
  await begin(approval);
  const deps = await dependenciesOf(task.depends_on, state.tasks, ports.load);
  controller.signal.throwIfAborted();
  const calls = createCodeCalls({ node, task, attempt, state, ports, gate, held, controller, emit, patienceMs });
  flight.calls = calls;
  // The state that code before it left, under the context of the task itself.
  const context = { ...state.workflow.context, ...input };
  const how = { ...timeOf(task), signal: controller.signal, call: calls.call };
  return await calls.settled(await ports.runCode(task, { deps, context }, how));
};

const runAgent: Runner<AgentTask> = async (
  { task, node, attempt, input, flight, state, ports, gate, gateInside, held, emit, begin, onSent },
) => {
  if (gate.holds(node, input)) return undefined;
  const { controller } = flight;
  let hasBegun = false;
  const calls = createAgentCalls({ node, attempt, state, gate: gateInside, held, controller, emit });
  const { session, calls: before } = state.tasks.get(node.id) ?? {};
  const result = await ports.runAgent(task, input, {
    ...timeOf(task),
    signal: controller.signal,
    session,
    before: [...before?.values() ?? []],
    calls,
    allow: (needed) => gate.allow(node, input, needed, controller.signal),
    async beforeSend(approval) {
      await begin(approval);
      hasBegun = true;
      flight.calls = calls;
    },
    async onSession(session) {
      const { agent, id, resumes } = session;
      await emit({ kind: "session", task: node.id, attempt, agent, session: id, resumes });
      calls.goesOn(resumes);
      // What a program does of which nothing can be asked later is known by its answer alone.
      if (!resumes) onSent();
      else flight.isSent = false;
    },
  });
  // An agent that waits for somebody has not begun.
  if (!hasBegun && !result.ok && result.kind === "held") return undefined;
  return await calls.settled(result);
};

/** The way that each kind of task runs. */
const RUNNERS: { readonly [K in Task["type"]]: Runner<Extract<Task, { type: K }>> } = {
  tool: runTool,
  code_execution: runCode,
  agent: runAgent,
};

/** The runner of a task. */
export function runnerOf<T extends Task>(task: T): Runner<T> {
  return RUNNERS[task.type] as unknown as Runner<T>;
}
