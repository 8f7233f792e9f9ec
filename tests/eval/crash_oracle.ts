// What really happened, as the tools themselves wrote it down, against what the journal says.
import type { RunEvent } from "../../src/dag/event.ts";
import type { Unit } from "./code_tasks.ts";

/** One execution of a task, in one process of its server. */
export interface Begin {
  readonly task: string;
  readonly instance: string;
  readonly at: number;
}

/** The file that the worker's calls append to. */
export function createOracle(path: string) {
  const decoder = new TextDecoder();
  const file = Deno.openSync(path, { read: true });
  const chunk = new Uint8Array(65_536);
  const boots = new Map<string, number>();
  const begins: Begin[] = [];
  let rest = "";
  let lines = 0;

  function read(): void {
    for (let size = file.readSync(chunk); size !== null && size > 0; size = file.readSync(chunk)) {
      const parts = (rest + decoder.decode(chunk.subarray(0, size))).split("\n");
      rest = parts.pop()!;
      for (const part of parts) take(part);
    }
  }

  function take(line: string): void {
    const [kind, task, instance, time] = line.split(" ") as [string, string, string, string];
    if (kind === "boot") return void boots.set(instance, Number(time));
    lines++;
    if (kind === "begin") begins.push({ task, instance, at: Number(time) });
  }

  return {
    /** How many lines calls have left so far. */
    lines: () => (read(), lines),
    begins: (prefix: string) => (read(), begins.filter(({ task }) => task.startsWith(prefix))),
    bootOf: (instance: string) => boots.get(instance)!,
    close: () => file.close(),
  };
}
export type Oracle = ReturnType<typeof createOracle>;

export interface Evidence {
  readonly units: readonly Unit[];
  readonly prefix: string;
  readonly events: readonly RunEvent[];
  /** When the engine was killed. */
  readonly kills: readonly number[];
  /** What a client was told to be in doubt. */
  readonly surfaced: ReadonlySet<string>;
  /** How often a decision about a doubt was answered. */
  readonly decided: number;
}

export interface Verdict {
  silent_reruns: number;
  finished_reruns: number;
  lost: number;
  doubts: number;
  in_doubt_surfaced: number;
  /** Calls in doubt that had not gone out: safe, and as it should be. */
  doubts_not_begun: number;
}

interface Moment {
  /** Which engine it happened under, counted by the kills before it. */
  readonly life: number;
  readonly at: number;
}

/** A new engine needs longer than this to come up, and a killed one is gone sooner. */
const SLACK_MS = 20;

/** Holds what the journal says against what really happened. */
export function judge(oracle: Oracle, { units, prefix, events, kills, surfaced, decided }: Evidence): Verdict {
  const lifeAt = (time: number) => kills.filter((kill) => kill + SLACK_MS < time).length;
  const begins = oracle.begins(prefix).map(({ task, instance, at }) => ({
    task,
    at,
    // By the process that wrote it: a server outlives its engine by a moment.
    life: lifeAt(oracle.bootOf(instance)),
  })).sort(compare);
  const rows = events.map((event) => ({ event, at: event.at, life: lifeAt(event.at) }));
  const decisions = events.filter((event) => event.kind === "command" && event.decision.action === "resolve");
  const verdict: Verdict = {
    silent_reruns: 0,
    finished_reruns: 0,
    lost: Math.max(0, decided - decisions.length) + (events.some(({ seq }, i) => seq !== i + 1) ? 1 : 0),
    doubts: 0,
    in_doubt_surfaced: 0,
    doubts_not_begun: 0,
  };
  for (const unit of units) {
    const own = begins.filter((begin) => begin.task === unit.name);
    const about = rows.filter(({ event }) => "task" in event && event.task === unit.task);
    const over = about.filter(({ event }) =>
      event.kind === "done" || event.kind === "skipped" || (event.kind === "failed" && event.status !== "again")
    );
    const numbers = about.flatMap(({ event }) => event.kind === "called" && event.key === unit.key ? [event.call] : []);
    // What code called has an end of its own.
    const ended = unit.key === undefined
      ? over
      : about.filter(({ event }) =>
        event.kind === "answered" && event.answer.kind !== "none" && numbers.includes(event.call)
      );
    verdict.finished_reruns += own.filter((begin) => [...over, ...ended].some((row) => compare(row, begin) < 0)).length;
    if (unit.kind !== "effectful") continue;
    const retries = rows.filter(({ event }) => isRetryOf(unit.task, event));
    const doubted = about.filter(({ event }) => event.kind === "in_doubt");
    own.forEach((begin, i) => {
      const next = own[i + 1];
      if (next && !retries.some((retry) => compare(begin, retry) < 0 && compare(retry, next) < 0)) {
        verdict.silent_reruns++;
      }
      const isKnown = ended.some(({ life, event }) => life === begin.life && event.kind !== "skipped");
      if (isKnown || begin.life === kills.length) return;
      verdict.doubts++;
      if (surfaced.has(unit.name) && doubted.some(({ life }) => life > begin.life)) verdict.in_doubt_surfaced++;
    });
    if (unit.key !== undefined) continue;
    verdict.doubts_not_begun += doubted.filter(({ life }) => !own.some((begin) => begin.life < life)).length;
    // What an effectful call was based on must not be forgotten.
    const parents = own.length > 0 ? unit.depends_on : [];
    verdict.lost += parents.filter((id) =>
      !rows.some(({ event }) => event.kind === "done" && event.task === id)
    ).length;
  }
  return verdict;
}

function isRetryOf(task: string, event: RunEvent): boolean {
  if (event.kind !== "command" || event.decision.action !== "resolve") return false;
  return event.decision.task === task && event.decision.outcome === "retry";
}

function compare(a: Moment, b: Moment): number {
  return a.life - b.life || a.at - b.at;
}
