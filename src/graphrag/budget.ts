/** The budget of wasted calls: a share of the time of the newest calls. */
export interface Budget {
  /** A call that somebody asked for took this long. */
  note(ms: number): void;
  /** True if a call of about this length may be made: a call under way counts as wasted until it was used. */
  allows(ms: number): boolean;
  /** A call is made that nobody has asked for yet; what comes of it is said once. */
  risk(ms: number): (end: { readonly used: boolean; readonly ms: number }) => void;
  /** The sums of the newest calls, for the next engine. */
  sum(): { readonly total: number; readonly wasted: number };
  restore(sum: { readonly total: number; readonly wasted: number }): void;
}

export interface BudgetOptions {
  readonly share: number;
  /** The number of calls that the budget considers. */
  readonly calls: number;
}

export function createBudget({ share, calls }: BudgetOptions): Budget {
  const past: { readonly ms: number; readonly wasted: number }[] = [];
  let [total, wasted, open] = [0, 0, 0];

  function add(ms: number, lost: number): void {
    past.push({ ms, wasted: lost });
    total += ms;
    wasted += lost;
    if (past.length <= calls) return;
    const old = past.shift()!;
    total -= old.ms;
    wasted -= old.wasted;
  }

  return {
    note: (ms) => add(ms, 0),
    allows: (ms) => wasted + open + ms <= share * (total + open + ms),
    risk(ms) {
      open += ms;
      return (end) => {
        open -= ms;
        // One that was of use is counted when it is asked for, like any other.
        if (!end.used) add(end.ms, end.ms);
      };
    },
    sum: () => ({ total, wasted }),
    restore: (sum) => add(sum.total, sum.wasted),
  };
}
