// Runs plans with tools that are functions of the test, over a journal in memory.
import type { Decision, RunEvent, RunOptions } from "../../src/dag/event.ts";
import type { Writer } from "../../src/dag/journal/journal.ts";
import { plan } from "../../src/dag/plan.ts";
import { startRun } from "../../src/dag/run.ts";
import type { CallOptions, Run, RunPorts, TaskResult } from "../../src/dag/run_port.ts";
import type { SharedPlaces } from "../../src/dag/ready_queue.ts";
import type { Approvable } from "../../src/dag/approval.ts";
import type { ToolTask } from "../../src/dag/task.ts";
import { createFold, type Fold, record } from "../../src/dag/state.ts";
import type { RunState } from "../../src/dag/run_state.ts";
import { type AgentCardsError, messageOf } from "../../src/model/errors.ts";
import type { Json, JsonObject } from "../../src/model/json.ts";

export const value = (given: Json): TaskResult => ({
  ok: true,
  output: { kind: "value", value: given },
  bytes: JSON.stringify(given).length,
});
export const failure = (error: string, kind: "failed" | "lost" | "question" = "failed"): TaskResult => ({
  ok: false,
  kind,
  error,
});

export type Tool = (args: JsonObject, options: CallOptions) => TaskResult | Promise<TaskResult>;

export interface Story {
  readonly fold: Fold;
  readonly run: Run;
  /** Everything that was written, in order. */
  readonly written: RunEvent[];
  readonly writer: Writer & { fail(error: AgentCardsError): void };
  /** Waits for the end or the next pause. */
  settled(): Promise<RunState>;
}

/** The rule that a call is judged by before it goes out. */
interface Guard {
  isGuarded?(task: ToolTask): boolean;
  approvalFor?(task: ToolTask, args: JsonObject): Promise<Approvable>;
}

export interface StoryOptions extends RunOptions {
  /** What is called `server:name`; names that begin with `do_` act on the world, `put_` are idempotent. */
  readonly tools?: Record<string, Tool>;
  readonly ports?: Partial<RunPorts> & Guard;
  readonly caps?: { all: number; perServer: number };
  readonly places?: SharedPlaces;
  readonly now?: () => number;
  /** Goes on from here instead of beginning anew. */
  readonly from?: { fold: Fold; decision?: Decision; by?: "agent" | "human" };
  readonly append?: (event: RunEvent) => Promise<void>;
}

const MANY = { all: 10_000, perServer: 10_000 };

/** Starts a run of these tasks, or goes on with one. */
export function tell(tasks: unknown[], options: StoryOptions = {}): Story {
  const {
    tools = {},
    ports: { isGuarded, approvalFor, ...ports } = {},
    caps = MANY,
    places,
    now,
    from,
    append,
    ...given
  } = options;
  const fold = from?.fold ?? createFold();
  const written: RunEvent[] = [];
  if (from) {
    const decided = from.decision
      ? [{ kind: "command" as const, by: from.by ?? "agent" as const, decision: from.decision }]
      : [];
    written.push(...record(fold, [...decided, { kind: "resumed", why: "test" }]));
  } else {
    const first = plan(tasks, { maxTasks: 100_000, check: () => [] });
    written.push(...record(fold, [{ kind: "planned", tasks: first.tasks.map(({ task }) => task), options: given }]));
  }
  const lost = Promise.withResolvers<AgentCardsError>();
  const writer = {
    run: "wf_test",
    lost: lost.promise,
    fail: lost.resolve,
    isSure: () => true,
    async append(event: RunEvent) {
      await append?.(event);
      written.push(event);
    },
    snapshot: () => Promise.resolve(),
    close() {},
    release() {},
    rehead: () => Promise.resolve(),
  };
  const run = startRun({
    fold,
    plan: plan(fold.state.plan, { maxTasks: Infinity, check: () => [] }),
    writer,
    caps,
    ...now && { now },
    ...places && { places },
    patienceMs: 300,
    ports: {
      callTool: async (task, args, how) => {
        const needed = isGuarded?.(task) ? await approvalFor!(task, args) : undefined;
        const word = needed ? await how.allow(needed) : { kind: "go" as const };
        if (word.kind === "held") return { ok: false, kind: "held", error: "it waits" };
        if (word.kind === "refused") return failure(word.error);
        try {
          await how.beforeSend(word.approval);
        } catch (error) {
          return failure(messageOf(error));
        }
        how.onSent();
        return await (tools[task.tool] ?? (() => value(null)))(args, how);
      },
      runCode: () => Promise.resolve(failure("no code here")),
      runAgent: () => Promise.resolve(failure("no agent here")),
      toolFor: ({ id }, tool, args) => Promise.resolve({ type: "tool", id, tool, arguments: args, depends_on: [] }),
      effectOf: (task) =>
        task.type === "tool" && /:do_/.test(task.tool) || task.side_effects
          ? "effectful"
          : task.type === "tool" && /:put_/.test(task.tool)
          ? "idempotent"
          : "read",
      serverOf: (task) => task.type === "tool" ? task.tool.split(":")[0]! : "code",
      askHuman: () => Promise.resolve(undefined),
      approvable: ({ id, code }) =>
        Promise.resolve({
          why: "the task asks for it",
          hash: `code ${id}`,
          definition: "",
          call: { tool: "code", code },
        }),
      load: (_handle, places) => Promise.resolve(places.map(() => null)),
      ...ports as Partial<RunPorts>,
    } as RunPorts,
  });
  return {
    fold,
    run,
    written,
    writer,
    async settled() {
      for await (const _event of run.events);
      return fold.state;
    },
  };
}

/** The state that a list of happenings leads to. */
export function folded(events: Iterable<RunEvent>): RunState {
  const fold = createFold();
  for (const event of events) fold.add(event);
  return fold.state;
}

/** The statuses of tasks, by id. */
export function statuses(state: RunState): Record<string, string> {
  return Object.fromEntries([...state.tasks.values()].map(({ id, status }) => [id, status]));
}
