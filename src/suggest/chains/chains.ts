import type { Learner, Session } from "../../call/mod.ts";
import { createQuietWork, type JsonObject, messageOf } from "../../model/mod.ts";
import { log, type Redactor } from "../../telemetry/mod.ts";
import { z } from "../../../deps.ts";
import { isLearnedFrom, type Learning, scopeOf, stepOf } from "../learning.ts";
import {
  beginChain,
  canBeSaid,
  type ChainStep,
  formOfChain,
  grown,
  type OpenChain,
  tasksOf,
  withVariation,
} from "./chain.ts";

/** A chain of direct calls that came back, as a workflow that could be saved. */
export interface ChainOffer {
  /** Its form in short, to name it by. */
  readonly id: string;
  readonly times: number;
  readonly tasks: readonly { readonly id: string; readonly tool: string; readonly arguments: JsonObject }[];
  /** The arguments that were another each time: `task.argument`. */
  readonly said: readonly string[];
}

/** Chains of direct calls that come back with values flowing between them. */
export interface Chains {
  watch(session: Session): Learner;
  /** The chains that came back often enough where a session is, the most frequent first. */
  offers(session: Session): Promise<ChainOffer[]>;
  /** The same without waiting for what was not read yet. */
  known(session: Session): ChainOffer[];
  /** A chain was saved: it is not offered again. */
  saved(session: Session, id: string): Promise<void>;
  flush(): Promise<void>;
}

const OFTEN = 3;
const MOST_OPEN = 12;
/** A chain that did not grow for so many calls is over. */
const REST = 12;
const MOST_KEPT = 300;
const KEPT = { quietMs: 2_000, latestMs: 30_000 };

interface Kept {
  times: number;
  steps: readonly ChainStep[];
  isSaved: boolean;
}

const PATH = z.array(z.union([z.string(), z.number()]));
const VALUE = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("said"), value: z.json(), varies: z.boolean() }),
  z.object({ kind: z.literal("flow"), from: z.number().int().nonnegative(), path: PATH }),
]);
const SAVED = z.array(z.object({
  times: z.number().int(),
  isSaved: z.boolean(),
  steps: z.array(z.object({ tool: z.string(), arguments: z.record(z.string(), VALUE) })),
}));

export function createChains(
  { learning, redactor }: { readonly learning: Pick<Learning, "state" | "keep">; readonly redactor: Redactor },
): Chains {
  const scopes = new Map<string, Promise<Map<string, Kept>>>();
  const opened = new Map<string, Map<string, Kept>>();
  const changed = new Set<string>();
  const working = new Set<Promise<void>>();
  const keeping = createQuietWork(KEPT, () => void keep());

  function open(scope: string): Promise<Map<string, Kept>> {
    return scopes.getOrInsertComputed(scope, () => {
      const reading = learning.state(`chains ${scope}`).then((saved) => {
        const rows = (SAVED.safeParse(saved).data ?? []) as Kept[];
        const kept = new Map(rows.map((row) => [formOfChain(row.steps), row]));
        opened.set(scope, kept);
        return kept;
      });
      // Whoever asks next tries again.
      reading.catch(() => scopes.delete(scope));
      return reading;
    });
  }

  async function keep(): Promise<void> {
    keeping.cancel();
    for (const scope of [...changed]) {
      changed.delete(scope);
      await learning.keep(`chains ${scope}`, [...(await open(scope)).values()]).catch(() => changed.add(scope));
    }
  }

  /** A chain that grew is counted by what it is now, and no more by what it was. */
  function count(kept: Map<string, Kept>, before: OpenChain, now: OpenChain): void {
    if (before.steps.length > 1) {
      const old = kept.get(formOfChain(before.steps));
      if (old) old.times--;
    }
    const form = formOfChain(now.steps);
    const known = kept.get(form) ?? { times: 0, steps: now.steps, isSaved: false };
    kept.delete(form);
    kept.set(form, { ...known, times: known.times + 1, steps: withVariation(known.steps, now.steps) });
    for (const [key, { times, isSaved }] of kept) {
      if (times <= 0 && !isSaved || kept.size > MOST_KEPT) kept.delete(key);
    }
  }

  return {
    watch(session) {
      let chains: OpenChain[] = [];
      const scope = scopeOf(session);
      return {
        ended(calls) {
          const steps = calls.flatMap((ended) => {
            const step = ended.ok && isLearnedFrom(ended) ? stepOf(ended, redactor) : undefined;
            return step ? [step] : [];
          });
          if (steps.length === 0) return;
          const done = open(scope).then((kept) => {
            for (const step of steps) {
              for (const chain of chains) chain.idle++;
              const at = chains.findLastIndex((chain) => grown(chain, step) !== undefined);
              const next = at < 0 ? beginChain(step) : grown(chains[at]!, step)!;
              if (at < 0) chains.push(next);
              else {
                if (next !== chains[at]) count(kept, chains[at]!, next);
                chains[at] = next;
              }
              chains = chains.filter(({ idle }) => idle < REST).slice(-MOST_OPEN);
            }
            changed.add(scope);
            keeping.touch();
          }).catch((error) => log("warning", "learning_failed", { reason: messageOf(error) }))
            .finally(() => working.delete(done));
          working.add(done);
        },
        asked() {},
        close: () => void (chains = []),
      };
    },
    async offers(session) {
      await Promise.all(working);
      return offersOf(await open(scopeOf(session)));
    },
    known: (session) => offersOf(opened.get(scopeOf(session)) ?? new Map()),
    async saved(session, id) {
      const kept = await open(scopeOf(session));
      for (const [form, one] of kept) if (idOf(form) === id) one.isSaved = true;
      changed.add(scopeOf(session));
      await keep();
    },
    async flush() {
      await Promise.all(working);
      await keep();
    },
  };
}

function offersOf(kept: ReadonlyMap<string, Kept>): ChainOffer[] {
  return [...kept].filter(([, { times, isSaved, steps }]) => times >= OFTEN && !isSaved && canBeSaid(steps))
    .sort(([, a], [, b]) => b.times - a.times || b.steps.length - a.steps.length)
    .map(([form, { times, steps }]) => ({ id: idOf(form), times, ...tasksOf(steps) }));
}

/** FNV-1a: a short name that is the same in every engine. */
function idOf(form: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < form.length; i++) hash = Math.imul(hash ^ form.charCodeAt(i), 0x01000193);
  return `c${(hash >>> 0).toString(36)}`;
}
