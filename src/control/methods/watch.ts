import type { RunEvent } from "../../dag/mod.ts";
import { cut, oneLine } from "../../model/mod.ts";
import { VERSION } from "../../platform/mod.ts";
import { system } from "../../platform/start.ts";
import type { Method } from "../context.ts";
import type { RunNotice } from "../reports.ts";

const LOOK_EVERY_MS = 1_000;
const LONGEST_TEXT = 500;

/**
 * Reports the events of all runs as they happen, and first those that were journalled after the rows that the caller has.
 * Events that arrive while the journal is read are kept, so that none is missed and none comes twice.
 */
export const watch: Method<"watch"> = async ({ gateway, signal, progress, session }, { runs = [] }) => {
  const { workflows, redactor } = gateway;
  const last = new Map(runs.map(({ id, after }) => [id, after]));
  let early: { run: string; event: RunEvent }[] | undefined = [];
  const tell = (run: string, event: RunEvent) => {
    const known = last.get(run);
    if (known !== undefined && event.seq <= known) return;
    if (known !== undefined) last.set(run, event.seq);
    progress({ event: redactor.clean(noticeOf(run, event)) });
  };
  const stop = workflows.observe((run, event) => early ? void early.push({ run, event }) : tell(run, event));
  const over = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => over.resolve(), { once: true });
  if (signal.aborted) over.resolve();
  let told = -1;
  const look = setInterval(async () => {
    const count = (await session.catch(() => undefined))?.shared.approvals.list().length ?? 0;
    if (count !== told) progress({ approvals: told = count });
  }, LOOK_EVERY_MS);
  try {
    progress({ engine: { pid: system.pid, version: VERSION } });
    for (const id of [...last.keys()]) {
      // A run that is forgotten has no more events.
      for (const event of await workflows.journal.events(id).catch(() => [])) tell(id, event);
    }
    const kept = early;
    early = undefined;
    for (const { run, event } of kept) tell(run, event);
    progress({ caught_up: true });
    await over.promise;
    return {};
  } finally {
    clearInterval(look);
    stop();
  }
};

/** An event without the values in it. */
export function noticeOf(run: string, event: RunEvent): RunNotice {
  const { seq, at, kind } = event;
  const rest: Partial<Record<keyof RunNotice, unknown>> = {};
  const source = event as unknown as Record<string, unknown>;
  for (const key of ["task", "attempt", "status", "ms", "bytes", "effect", "tool", "by"] as const) {
    if (source[key] !== undefined) rest[key] = source[key];
  }
  const text = textOf(event);
  return {
    run,
    seq,
    at,
    kind,
    ...rest as Partial<RunNotice>,
    ...text && { text: cut(oneLine(text, 4_000), LONGEST_TEXT) },
  };
}

function textOf(event: RunEvent): string | undefined {
  switch (event.kind) {
    case "planned":
      return `${event.tasks.length} tasks`;
    case "failed":
      return event.error;
    case "skipped":
    case "in_doubt":
    case "resumed":
      return event.why;
    case "paused":
      return event.pending.why;
    case "finished":
      return event.error;
    case "command": {
      const { decision, note } = event;
      const about = "task" in decision ? ` ${decision.task}` : "";
      return `${decision.action}${about}${note === undefined ? "" : `: ${note}`}`;
    }
    case "done":
      return event.note;
  }
}
