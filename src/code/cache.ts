import { type Session, toolsInMemory } from "../call/mod.ts";
import { type Json, sha256 } from "../model/mod.ts";
import type { CageOutcome } from "../sandbox/mod.ts";

/** A cache of the results of code that called no tool: the same code with the same context has the same result. */
export interface CodeCache {
  find(key: string): CageOutcome | undefined;
  keep(key: string, outcome: CageOutcome): void;
}

const MAX_ENTRIES = 200;
const MAX_BYTES = 1_048_576;
const MAX_AGE_MS = 3_600_000;

/** The most recently used, in memory: an engine that starts anew runs the code once more. */
export function createCodeCache(now: () => number = () => performance.now()): CodeCache {
  const kept = new Map<string, { readonly outcome: CageOutcome; readonly at: number }>();
  return {
    find(key) {
      const found = kept.get(key);
      if (!found) return undefined;
      kept.delete(key);
      if (now() - found.at > MAX_AGE_MS) return undefined;
      kept.set(key, found);
      return found.outcome;
    },
    keep(key, outcome) {
      const { result, metrics, logs } = outcome;
      if (!result.ok || metrics.calls > 0) return;
      if (result.bytes + logs.reduce((sum, { text }) => sum + text.length, 0) > MAX_BYTES) return;
      kept.delete(key);
      kept.set(key, { outcome, at: now() });
      if (kept.size > MAX_ENTRIES) kept.delete(kept.keys().next().value!);
    },
  };
}

/** The same for the same code with the same context to the letter, under the same tools and demands. */
export async function cacheKey(session: Session, code: string, context: Json): Promise<string> {
  const tools = (await toolsInMemory(session)).map(({ id, hash }) => `${id} ${hash}`).sort();
  return await sha256(JSON.stringify([code, context, tools, session.config.sandbox]));
}
