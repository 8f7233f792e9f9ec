import { AgentCardsError, messageOf } from "../../model/mod.ts";
import type { Happening, RunEvent } from "../event.ts";

/** A happening as the database has it. */
export interface EventRow {
  readonly seq: number;
  readonly at: number;
  readonly kind: string;
  readonly task: string | null;
  readonly attempt: number | null;
  readonly payload: string;
  /** The client's request that it is the decision of. */
  readonly request?: string;
}

/** An event as a row: what one would look for in columns of its own, the rest as JSON. */
export function rowOf(event: RunEvent): EventRow {
  const { seq, at, kind, ...rest } = event;
  const { task = null, attempt = null, request, ...payload } = rest as {
    task?: string;
    attempt?: number;
    request?: string;
  };
  return { seq, at, kind, task, attempt, payload: JSON.stringify(payload), ...request !== undefined && { request } };
}

/** A row as an event. The request is not read back: nothing that happens depends on it. */
export function eventOf({ seq, at, kind, task, attempt, payload }: EventRow): RunEvent {
  return {
    seq,
    at,
    kind,
    ...task !== null && { task },
    ...attempt !== null && { attempt },
    ...JSON.parse(payload),
  } as unknown as Happening & { seq: number; at: number };
}

/** The error of a runner that another one has replaced. */
export function taken(run: string): AgentCardsError {
  return new AgentCardsError("RUN_TAKEN", `Another runner has taken over ${run}; this one stopped`);
}

/** The error of a journal that does not do its work. */
export function unusable(cause: unknown): AgentCardsError {
  return new AgentCardsError("DB_UNUSABLE", `The journal cannot be used: ${messageOf(cause)}`, {
    cause,
    hint: "The run stopped where it was. Once the database works again, go on with it by its id.",
    // PostgreSQL refused the statement: nothing of it was written.
    data: { isUnwritten: true },
  });
}
