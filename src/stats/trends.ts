import type { Usage } from "./usage.ts";

/** A tool that is not as it used to be. */
export interface Trend {
  readonly tool: string;
  readonly kind: "slower" | "failing";
  readonly before: number;
  readonly now: number;
  /** The change in words. */
  readonly why: string;
}

/** Fewer calls say nothing. */
const LEAST_CALLS = 20;
const SLOWER_BY = 2;
const SLOWER_BY_MS = 100;
const FAILING_SHARE = 0.1;
const FAILING_BY = 3;
const LEAST_FAILURES = 5;

/** The tools whose last day differs from the time before it: much slower at p95, or failing much more. */
export function trendsOf(present: readonly Usage[], past: readonly Usage[]): Trend[] {
  const before = new Map(past.map((usage) => [usage.name, usage]));
  return present.flatMap((now): Trend[] => {
    const then = before.get(now.name);
    if (!then || now.calls < LEAST_CALLS || then.calls < LEAST_CALLS) return [];
    const [share, used] = [now.failed / now.calls, then.failed / then.calls];
    const [fast, slow] = [then.p95_ms ?? 0, now.p95_ms ?? 0];
    return [
      ...slow > SLOWER_BY * fast && slow - fast > SLOWER_BY_MS
        ? [{
          tool: now.name,
          kind: "slower" as const,
          before: fast,
          now: slow,
          why: `${now.name} takes ${Math.round(slow)} ms at p95 today; it took ${
            Math.round(fast)
          } ms in the two weeks before`,
        }]
        : [],
      ...now.failed >= LEAST_FAILURES && share > FAILING_SHARE && share > FAILING_BY * used
        ? [{
          tool: now.name,
          kind: "failing" as const,
          before: used,
          now: share,
          why: `${now.name} fails in ${percent(share)} of its calls today; it failed in ${
            percent(used)
          } in the two weeks before`,
        }]
        : [],
    ];
  });
}

const percent = (share: number) => `${Math.round(100 * share)} %`;
