import type { EndedCall, Shown } from "../call/mod.ts";
import type { Database } from "../db/mod.ts";
import { isNoDatabase } from "../db/start.ts";
import { createQuietWork, messageOf } from "../model/mod.ts";
import { log } from "../telemetry/mod.ts";
import type { Judgement, SearchExperience, ToolSearch } from "../vector/mod.ts";
import { createJudgements, type Judgements, type SearchTrail } from "./judgements.ts";
import { readJudgements, writeJudgements } from "./judgement_store.ts";

/** The judgements of all scopes, read when they are needed and written in quiet times. */
export interface ScopeJudgements {
  open(scope: string): void;
  experience(scope: string): SearchExperience | undefined;
  searched(scope: string, trail: SearchTrail, request: string, shown: readonly Shown[]): void;
  ended(scope: string, trail: SearchTrail, calls: readonly EndedCall[]): void;
  flush(): Promise<void>;
}

const LATER = { quietMs: 1_000, latestMs: 15_000 };

export function openJudgements(db: Database, search: Pick<ToolSearch, "remember">): ScopeJudgements {
  const opened = new Map<string, Judgements>();
  const opening = new Map<string, Promise<void>>();
  let changed = new Map<string, Map<string, Judgement>>();
  const later = createQuietWork(LATER, () => void flush());

  function open(scope: string): void {
    opening.getOrInsertComputed(scope, () =>
      readJudgements(db, scope).then((kept) => {
        opened.set(scope, createJudgements(kept));
        if (kept.length > 0) remember(scope);
      }).catch((error) => {
        // The next session tries again.
        opening.delete(scope);
        log("debug", "judgements_not_read", { reason: messageOf(error) });
      }));
  }

  /** Texts are embedded when nothing else is going on. */
  function remember(scope: string): void {
    const { judgements } = opened.get(scope)!.experience;
    search.remember(`searches of ${scope}`, [...new Set(judgements.map(({ request }) => request))]);
  }

  async function flush(): Promise<void> {
    later.cancel();
    const taken = changed;
    changed = new Map();
    for (const [scope, judgements] of taken) {
      remember(scope);
      await writeJudgements(db, scope, [...judgements.values()]).catch((error) => {
        if (!isNoDatabase(error)) log("warning", "learning_not_kept", { reason: messageOf(error) });
      });
    }
  }

  return {
    open,
    experience: (scope) => opened.get(scope)?.experience,
    searched: (scope, trail, request, shown) => opened.get(scope)?.searched(trail, request, shown),
    ended(scope, trail, calls) {
      const judgements = opened.get(scope)?.ended(trail, calls) ?? [];
      if (judgements.length === 0) return;
      const waiting = changed.getOrInsertComputed(scope, () => new Map<string, Judgement>());
      for (const judgement of judgements) waiting.set(`${judgement.tool}\n${judgement.request}`, judgement);
      later.touch();
    },
    flush,
  };
}
