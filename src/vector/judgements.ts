import type { Judgement, SearchExperience } from "./search_port.ts";

/** A request below the first similarity has nothing to do with an earlier one; from the second on it is the same. */
const FAR = 0.25;
const NEAR = 0.6;
/** The deviations that a judgement about the same request is worth besides those that were missing. */
const MARGIN = 1.2;
const MOST_MISSING = 4;
/** Where requests near this one were served by several tools, the nearest speaks for its tool less than by itself. */
const RIVALRY = 3;
const SHARPNESS = 20;
/** A tool that shares no word with the request still keeps some of the lift. */
const UNSAID = 0.05;
/** A few failures in a row may be the caller's mistakes; each further one costs the tool a deviation. */
const FORGIVEN = 2;
const MOST_SUNK = 3;

export interface Experienced {
  readonly experience: SearchExperience;
  /** The similarity of the request to that of each judgement. */
  readonly similarities: Float32Array | undefined;
  /** The share of the request that a tool says too. */
  coverageOf(tool: number): number;
  /** The tool that its text alone would put first. */
  readonly first: number;
}

/** The deviations by which experience lifts or sinks each tool; undefined if it does neither. */
export function liftOf(ids: readonly string[], experienced: Experienced): Float32Array | undefined {
  const { experience: { judgements, failures }, similarities, coverageOf, first } = experienced;
  const near = nearest(judgements, similarities);
  const total = [...near.values()].reduce((sum, { similarity }) => sum + Math.exp(similarity * SHARPNESS), 0);
  const most = coverageOf(first) + UNSAID;
  let isNeeded = false;
  const lift = Float32Array.from(ids, (id, i) => {
    const judged = near.get(id);
    const sunk = Math.min(MOST_SUNK, Math.max(0, failures(id) - FORGIVEN));
    const share = judged ? Math.min(1, RIVALRY * Math.exp(judged.similarity * SHARPNESS) / total) : 0;
    const said = judged ? Math.min(1, (coverageOf(i) + UNSAID) / most) : 0;
    const gain = judged ? judged.missing + MARGIN * nearness(judged.similarity) * share * said : 0;
    isNeeded ||= gain > 0 || sunk > 0;
    return gain - sunk;
  });
  return isNeeded ? lift : undefined;
}

interface Near {
  readonly similarity: number;
  /** The deviations that the tool lacked when requests near this one were asked. */
  readonly missing: number;
}

/** The nearest judgement about each tool. */
function nearest(judgements: readonly Judgement[], similarities: Float32Array | undefined): Map<string, Near> {
  const found = new Map<string, Near>();
  judgements.forEach(({ tool, missing }, i) => {
    const similarity = similarities?.[i] ?? NaN;
    if (!(similarity > FAR)) return;
    const before = found.get(tool) ?? { similarity: 0, missing: 0 };
    found.set(tool, {
      similarity: Math.max(before.similarity, similarity),
      missing: Math.max(before.missing, nearness(similarity) * Math.min(MOST_MISSING, missing)),
    });
  });
  return found;
}

function nearness(similarity: number): number {
  return Math.min(1, Math.max(0, (similarity - FAR) / (NEAR - FAR)));
}
