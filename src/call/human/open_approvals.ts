import { canonicalJson, type HumanWord, type Json, sha256 } from "../../model/mod.ts";

/** A call that waits for a human while a client's dialogue is open. */
export interface OpenCall {
  readonly tool: string;
  readonly arguments: Record<string, unknown>;
  readonly why: string;
  readonly cwd: string;
}

/** An open call as a terminal shows it. */
export interface OpenReport {
  readonly id: string;
  readonly cwd: string;
  readonly since: number;
  readonly tool: string;
  readonly arguments: Json;
  readonly why: string;
  /** A hash of exactly what is shown; goes back with the decision. */
  readonly hash: string;
}

/** A call while it waits: its name at a terminal, and the word that is said there. */
export interface Waiting extends Disposable {
  readonly id: string;
  readonly decided: Promise<HumanWord>;
  /** Aborts once a word was said at a terminal. */
  readonly over: AbortSignal;
}

/** The calls whose dialogues are open: a dialogue folds what is long, a terminal shows it whole, and both decide. */
export interface OpenApprovals {
  open(call: OpenCall): Promise<Waiting>;
  /** Keeps a call that was refused because nobody could be asked; gives the name under which it can be allowed. */
  leave(call: OpenCall, key: string): Promise<string>;
  /** True, once, if a human has allowed exactly this call of this folder after it was refused. */
  use(key: string, cwd: string): boolean;
  list(): readonly OpenReport[];
  /** Decides about the call that was shown; false where none waits any more. */
  decide(id: string, hash: string, word: HumanWord): boolean;
}

/** For how long a refused call can be allowed, and an allowed one be made. */
const LEFT_MS = 60 * 60_000;
const MOST_LEFT = 200;

const keyIn = (key: string, cwd: string) => `${key} ${cwd}`;

export function createOpenApprovals(): OpenApprovals {
  const open = new Map<string, { report: OpenReport; decide(word: HumanWord): void }>();
  /** The names of refused calls by their keys, and the calls that were allowed since, each with its end. */
  const left = new Map<string, { readonly id: string; readonly ends: number }>();
  const allowed = new Map<string, number>();

  async function reportOf({ tool, arguments: given, why, cwd }: OpenCall): Promise<OpenReport> {
    const id = `ap_${crypto.getRandomValues(new Uint8Array(8)).toHex()}`;
    const shown = given as Json;
    const hash = await sha256(canonicalJson([id, tool, shown]));
    return { id, cwd, since: Date.now(), tool, arguments: shown, why, hash };
  }

  /** Forgets what is older than an hour, and the oldest where there are too many. */
  function forgetOld(): void {
    const now = Date.now();
    for (const [key, { id, ends }] of left) {
      if (ends > now && left.size <= MOST_LEFT) continue;
      left.delete(key);
      open.delete(id);
    }
    for (const [key, ends] of allowed) if (ends <= now) allowed.delete(key);
  }

  return {
    async leave(call, callKey) {
      forgetOld();
      const key = keyIn(callKey, call.cwd);
      const known = left.get(key);
      if (known && open.has(known.id)) return known.id;
      const report = await reportOf(call);
      left.set(key, { id: report.id, ends: Date.now() + LEFT_MS });
      open.set(report.id, {
        report,
        decide({ word }) {
          left.delete(key);
          if (word === "approve") allowed.set(key, Date.now() + LEFT_MS);
        },
      });
      return report.id;
    },
    use(callKey, cwd) {
      forgetOld();
      return allowed.delete(keyIn(callKey, cwd));
    },
    async open(call) {
      const report = await reportOf(call);
      const { id } = report;
      const decision = Promise.withResolvers<HumanWord>();
      const over = new AbortController();
      open.set(id, {
        report,
        decide(word) {
          decision.resolve(word);
          over.abort();
        },
      });
      return { id, decided: decision.promise, over: over.signal, [Symbol.dispose]: () => void open.delete(id) };
    },
    list() {
      forgetOld();
      return [...open.values()].map(({ report }) => report);
    },
    decide(id, hash, word) {
      const found = open.get(id);
      if (found?.report.hash !== hash) return false;
      open.delete(id);
      found.decide(word);
      return true;
    },
  };
}
