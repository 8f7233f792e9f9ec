import type { EndedCall, Session } from "../../call/mod.ts";
import { valueOf } from "../../call/mod.ts";
import type { Redactor } from "../../telemetry/mod.ts";
import { isLearnedFrom, stepOf } from "../learning.ts";
import type { Predictor } from "./predictor.ts";
import type { Course } from "./sight.ts";
import type { PastCall } from "./template.ts";
import { valuesOf } from "./text_leaves.ts";

/** The conversation of a session, and the reads that were made ahead in it. */
export interface Live {
  readonly predictor: Predictor;
  readonly session: Session;
  course: Course;
  at: number;
  /** Calls of the agent that have no answer yet. */
  open: number;
  ahead: AheadCall[];
  /** The tasks of runs that stand in the conversation. */
  readonly tasks: Set<string>;
}

/** A read that was made ahead. */
export interface AheadCall {
  readonly step: PastCall;
  /** The call after which it was made. */
  readonly after: string;
  readonly ms: number;
  readonly probability: number;
  /** Says once whether it was of use. */
  settle(used: boolean): void;
  /** Tells the predictor that it was of use; set once it stands in the conversation. */
  confirm?: () => void;
  /** The number of calls since. */
  since: number;
}

const REST_MS = 15 * 60_000;
const LONGEST_COURSE = 200;
const LONGEST_PROMPT = 2_000;
/** After so many more calls nothing shows any more whether a read was of use. */
const SHOWS_WITHIN = 3;

export function beginLive(predictor: Predictor, session: Session): Live {
  return { predictor, session, course: predictor.begin(""), at: 0, open: 0, ahead: [], tasks: new Set() };
}

/** A call as predictions know it; undefined for one that nothing is learned from. */
export function pastCall(
  ended: Pick<EndedCall, "tool" | "call" | "result">,
  redactor: Redactor,
): PastCall | undefined {
  const { call, result } = ended;
  if (!isLearnedFrom(ended)) return undefined;
  const step = stepOf(ended, redactor);
  if (!step) return undefined;
  const leaves = result?.kind === "result" ? valuesOf(valueOf(result.result)) : [];
  return { ...step, leaves, reads: call.effect === "read" };
}

/** Begins another conversation where the user said something new, or after a long rest. */
export function followPrompt(live: Live, redactor: Redactor): void {
  const { session, predictor, course } = live;
  const said = redactor.redact((session.words.texts().at(-1) ?? "").slice(0, LONGEST_PROMPT));
  const prompt = session.privacy?.hide(said, "agentcards") ?? said;
  const now = performance.now();
  const isOver = now - live.at > REST_MS || course.calls.length >= LONGEST_COURSE || prompt !== course.prompt;
  live.at = now;
  if (!isOver) return;
  endLive(live);
  live.course = predictor.begin(prompt);
}

export function endLive(live: Live): void {
  for (const one of live.ahead.splice(0)) one.settle(false);
  if (live.course.calls.length > 0) live.predictor.end(live.course);
  live.course = live.predictor.begin(live.course.prompt);
  live.tasks.clear();
}

/** Takes notice of the next call: it may show that a read made ahead was of use. */
export function takeCall(live: Live, step: PastCall): void {
  const { course, predictor } = live;
  live.ahead = live.ahead.filter((one) => {
    if (!one.confirm) return true;
    const used = step.call === one.step.call || isFedBy(step, one, course);
    if (used) one.confirm();
    if (used || ++one.since >= SHOWS_WITHIN || !step.reads) {
      one.settle(used);
      return false;
    }
    return true;
  });
  predictor.learn(course, step);
  placeAhead(live);
}

/** The reads that were made after a call stand behind it in the conversation: the agent has read their results. */
export function placeAhead({ ahead, course, predictor }: Live): void {
  for (const one of ahead) {
    if (one.confirm || !course.calls.some(({ call }) => call === one.after)) continue;
    one.confirm = predictor.add(course, one.step);
  }
}

/** True if a call was given a value that nothing but the read had told. */
function isFedBy({ arguments: args }: PastCall, { step }: AheadCall, { calls, prompt }: Course): boolean {
  const isTold = (value: string | number) =>
    prompt.includes(String(value)) ||
    calls.some((call) => call !== step && call.leaves?.some((leaf) => leaf.value === value)) ||
    Object.values(step.arguments).includes(value);
  return Object.values(args).some((value) =>
    (typeof value === "string" ? value.length >= 4 : typeof value === "number" && Math.abs(value) >= 100) &&
    step.leaves?.some((leaf) => leaf.value === value) && !isTold(value as string | number)
  );
}
