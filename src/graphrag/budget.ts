/** What may be wasted: a share of the time of all calls, over the last of them. */
export interface Budget {
  /** A call that somebody asked for took this long. */
  note(ms: number): void;
  /** Whether a call of about this length may be risked: what is under way counts as wasted until it was of use. */
  allows(ms: number): boolean;
  /** A call is made that nobody has asked for yet; what comes of it is said once. */
  risk(ms: number): (end: { readonly used: boolean; readonly ms: number }) => void;
  /** What the last calls came to, for the next engine to go on with. */
  sum(): { readonly total: number; readonly wasted: number };
  restore(sum: { readonly total: number; readonly wasted: number }): void;
}

export interface BudgetOptions {
  readonly share: number;
  /** How many calls back the budget looks. */
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
