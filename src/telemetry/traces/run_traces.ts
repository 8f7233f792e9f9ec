import type { Attributes, Span, SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { contextOf, type Parent, parentOf, type TraceContext } from "./trace_context.ts";
import type { SpanMaker } from "./span.ts";

/** The run of a workflow as it begins, or goes on after a pause. */
export interface TracedRun {
  readonly id: string;
  /** The context of the request that started it. */
  readonly parent?: unknown;
  /** The tasks whose outputs a task uses. */
  dependenciesOf(task: string): readonly string[];
}

/** The part of a run's event that is traced. */
export interface TracedEvent {
  readonly kind: string;
  readonly task?: string;
  readonly attempt?: number;
  readonly status?: string;
  readonly by?: string;
  readonly pending?: { readonly reason: string; readonly for: string };
}

/** One run that goes on. */
export interface RunTrace {
  event(event: TracedEvent): void;
  /** Ends what is open: the run ended, paused or broke off. */
  end(): void;
}

/** The traces of runs: one trace for each run, a span for each task, links along the data. */
export interface RunTraces {
  run(run: TracedRun): RunTrace;
  /** The context for the calls of a task. */
  task(run: string, task: string): TraceContext | undefined;
}

interface LiveTrace {
  contextOf(task: string): TraceContext;
}

/** Runs whose place in a trace is remembered while they pause. */
const MOST_REMEMBERED = 10_000;
const FAILED: ReadonlySet<string> = new Set(["error", "failed", "aborted", "partial", "in_doubt"]);

export function createRunTraces(
  { begin, rootOf }: SpanMaker,
  { kind, failed }: { readonly kind: SpanKind; readonly failed: SpanStatusCode },
): RunTraces {
  const live = new Map<string, LiveTrace>();
  const places = new Map<string, Parent>();

  /** A run that goes on stays in its trace; after a restart of the engine it has the one that its id stands for. */
  function placeOf(id: string, parent: unknown): Parent {
    const place = places.get(id) ?? parentOf(parent) ?? rootOf(`run ${id}`);
    places.delete(id);
    places.set(id, place);
    if (places.size > MOST_REMEMBERED) places.delete(places.keys().next().value!);
    return place;
  }

  return {
    run({ id, parent, dependenciesOf }) {
      const attributes: Attributes = { "agentcards.run.id": id };
      const span = begin({ name: "run", kind, attributes, parent: placeOf(id, parent) });
      const open = new Map<string, Span>();
      /** The spans of tasks that are over, too: later ones link to them. */
      const known = new Map<string, Parent>();

      function taskSpan(task: string): Span {
        const existing = open.get(task);
        if (existing) return existing;
        const made = begin({
          name: `task ${task}`,
          kind,
          attributes: { ...attributes, "agentcards.task.id": task },
          parent: span.spanContext(),
          links: dependenciesOf(task).flatMap((id) => known.get(id) ?? []),
        });
        open.set(task, made);
        known.set(task, made.spanContext());
        return made;
      }

      function endTask(task: string, error: string | undefined): void {
        const made = open.get(task);
        if (!made) return;
        open.delete(task);
        close(made, error);
      }

      function close(made: Span, error: string | undefined): void {
        if (error !== undefined) made.setAttribute("error.type", error).setStatus({ code: failed });
        made.end();
      }

      let status: string | undefined;
      live.set(id, { contextOf: (task) => contextOf(taskSpan(task).spanContext(), parent) });
      return {
        event({ kind, task, attempt, status: said, by, pending }) {
          if (kind === "started") taskSpan(task!);
          if (kind === "done") endTask(task!, undefined);
          if (kind === "in_doubt") endTask(task!, "in_doubt");
          if (kind === "skipped") {
            span.addEvent("task_skipped", { "agentcards.task.id": task! });
            endTask(task!, undefined);
          }
          if (kind === "failed" && said === "again") {
            open.get(task!)?.addEvent("attempt_failed", { attempt: attempt ?? 0 });
          } else if (kind === "failed") endTask(task!, said ?? "error");
          if (kind === "paused" && pending) span.addEvent("handed_over", { to: pending.for, reason: pending.reason });
          if (kind === "command" && by !== undefined) span.addEvent("decided", { by });
          if (kind === "finished") status = said;
        },
        end() {
          live.delete(id);
          for (const task of [...open.keys()]) endTask(task, undefined);
          if (status !== undefined) span.setAttribute("agentcards.run.status", status);
          close(span, status !== undefined && FAILED.has(status) ? status : undefined);
        },
      };
    },
    task: (run, task) => live.get(run)?.contextOf(task),
  };
}
