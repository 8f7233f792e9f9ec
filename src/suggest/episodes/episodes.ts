import type { Session } from "../../call/mod.ts";
import { createQuietWork, oneLine } from "../../model/mod.ts";
import type { Redactor } from "../../telemetry/mod.ts";
import { z } from "../../../deps.ts";
import { type Learning, scopeOf } from "../learning.ts";
import type { EpisodeTask } from "./rebind.ts";

/** A workflow that succeeded, and what it was for. */
export interface Episode {
  readonly intent: string;
  readonly tasks: readonly EpisodeTask[];
  /** The numbers of its successes, and of suggestions made of it that were rejected or replaced. */
  readonly good: number;
  readonly bad: number;
}

/** Workflows that succeeded, by what they were for. */
export interface Episodes {
  /** A workflow for an intent succeeded. */
  remember(session: Session, intent: string, tasks: readonly EpisodeTask[]): Promise<void>;
  /** All that is remembered where a session is, the newest first. */
  all(session: Session): Promise<readonly Episode[]>;
  /** Somebody ran what an episode suggested, or did not. */
  judged(session: Session, intent: string, isRight: boolean): Promise<void>;
  flush(): Promise<void>;
}

const MOST = 300;
const MOST_TASKS = 20;
const LONGEST = 1_000;
const LONGEST_TASKS = 20_000;
const KEPT = { quietMs: 1_000, latestMs: 15_000 };

const SAVED = z.array(z.object({
  intent: z.string(),
  tasks: z.array(z.object({
    id: z.string(),
    tool: z.string(),
    arguments: z.record(z.string(), z.json()),
    depends_on: z.array(z.string()).optional(),
  })),
  good: z.number().int().nonnegative(),
  bad: z.number().int().nonnegative(),
}));

export function createEpisodes(
  { learning, redactor }: { readonly learning: Pick<Learning, "state" | "keep">; readonly redactor: Redactor },
): Episodes {
  const scopes = new Map<string, Promise<Map<string, Episode>>>();
  const changed = new Set<string>();
  const keeping = createQuietWork(KEPT, () => void flush());

  function open(scope: string): Promise<Map<string, Episode>> {
    return scopes.getOrInsertComputed(scope, () => {
      const reading = learning.state(`episodes ${scope}`).then((saved) => {
        const rows = (SAVED.safeParse(saved).data ?? []) as Episode[];
        return new Map(rows.map((row) => [row.intent, row]));
      });
      // Whoever asks next tries again.
      reading.catch(() => scopes.delete(scope));
      return reading;
    });
  }

  function change(scope: string): void {
    changed.add(scope);
    keeping.touch();
  }

  async function flush(): Promise<void> {
    keeping.cancel();
    for (const scope of [...changed]) {
      changed.delete(scope);
      await learning.keep(`episodes ${scope}`, [...(await open(scope)).values()]).catch(() => changed.add(scope));
    }
  }

  return {
    async remember(session, said, tasks) {
      const intent = oneLine(said, LONGEST);
      const text = JSON.stringify(tasks);
      // With a secret in it nothing could be said anew.
      if (redactor.redact(said) !== said || redactor.redact(text) !== text) return;
      if (tasks.length === 0 || tasks.length > MOST_TASKS || text.length > LONGEST_TASKS) return;
      const scope = scopeOf(session);
      const known = await open(scope);
      const { good = 0, bad = 0 } = known.get(intent) ?? {};
      known.delete(intent);
      known.set(intent, { intent, tasks, good: good + 1, bad });
      if (known.size > MOST) known.delete(known.keys().next().value!);
      change(scope);
    },
    all: async (session) => [...(await open(scopeOf(session))).values()].reverse(),
    async judged(session, intent, isRight) {
      const scope = scopeOf(session);
      const known = await open(scope);
      const episode = known.get(intent);
      if (!episode) return;
      known.set(intent, { ...episode, good: episode.good + Number(isRight), bad: episode.bad + Number(!isRight) });
      change(scope);
    },
    flush,
  };
}
