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
  list(): readonly OpenReport[];
  /** Decides about the call that was shown; false where none waits any more. */
  decide(id: string, hash: string, word: HumanWord): boolean;
}

export function createOpenApprovals(): OpenApprovals {
  const open = new Map<string, { report: OpenReport; decide(word: HumanWord): void }>();
  return {
    async open({ tool, arguments: given, why, cwd }) {
      const id = `ap_${crypto.getRandomValues(new Uint8Array(8)).toHex()}`;
      const shown = given as Json;
      const hash = await sha256(canonicalJson([id, tool, shown]));
      const decision = Promise.withResolvers<HumanWord>();
      const over = new AbortController();
      const report = { id, cwd, since: Date.now(), tool, arguments: shown, why, hash };
      open.set(id, {
        report,
        decide(word) {
          decision.resolve(word);
          over.abort();
        },
      });
      return { id, decided: decision.promise, over: over.signal, [Symbol.dispose]: () => void open.delete(id) };
    },
    list: () => [...open.values()].map(({ report }) => report),
    decide(id, hash, word) {
      const found = open.get(id);
      if (found?.report.hash !== hash) return false;
      open.delete(id);
      found.decide(word);
      return true;
    },
  };
}
