import type { Database } from "../db/mod.ts";
import { isNoDatabase, KEPT } from "../db/start.ts";
import { createQuietWork, messageOf } from "../model/mod.ts";
import { log } from "../telemetry/mod.ts";
import type { Dependency } from "./dependency.ts";
import type { Way } from "./foresight.ts";
import type { Recipe } from "./recipe.ts";

/** The learned rows of one scope. */
export interface Learned {
  readonly habits: readonly { readonly place: string; readonly next: string; readonly seen: number }[];
  readonly ways: readonly Way[];
  readonly dependencies: readonly Dependency[];
}

/** Keeps what was learned: changes are gathered and written together when nothing else is going on. */
export interface LearningStore {
  load(scope: string): Promise<Learned>;
  /** The named states, which belong to no scope. */
  states(): Promise<Record<string, unknown>>;
  /** One more time that something came next in a place. */
  habit(scope: string, place: string, next: string): void;
  /** A way that is new or has changed. It is read when it is written, so that one that changes often costs one row. */
  way(scope: string, way: Way): void;
  forget(scope: string, way: Way): void;
  dependency(scope: string, edge: Dependency): void;
  state(name: string, value: unknown): void;
  flush(): Promise<void>;
}

const QUIET_MS = 1_000;
const LATEST_MS = 15_000;
const MOST_EDGES = 20_000;
/** So much waits to be written at the most; what comes quicker is not kept. */
const MOST_WAITING = 20_000;

interface HabitRow {
  readonly scope: string;
  readonly place: string;
  readonly next: string;
  readonly seen: number;
  readonly hits?: number;
}

type DependencyRow = Dependency & { readonly scope: string };

interface Changes {
  /** By scope, place and what came next there: how often. */
  readonly habits: Map<string, Map<string, Map<string, number>>>;
  /** With their scopes. */
  readonly ways: Map<Way, string>;
  readonly forgotten: Map<Way, string>;
  /** Ways that no row is known of: one that is forgotten again before it is written leaves no trace. */
  readonly fresh: Set<Way>;
  readonly dependencies: Map<string, DependencyRow>;
  readonly states: Map<string, unknown>;
}

const nothing = (): Changes => ({
  habits: new Map(),
  ways: new Map(),
  forgotten: new Map(),
  fresh: new Set(),
  dependencies: new Map(),
  states: new Map(),
});

export function createLearningStore(db: Database): LearningStore {
  let changes = nothing();
  let waitingHabits = 0;
  const later = createQuietWork({ quietMs: QUIET_MS, latestMs: LATEST_MS }, () => void flush());
  let writing: Promise<void> = Promise.resolve();

  /** One after another: an older count must not be written over a newer one. */
  function flush(): Promise<void> {
    later.cancel();
    const taken = changes;
    changes = nothing();
    waitingHabits = 0;
    return writing = writing.then(async () => {
      await write(db, taken);
    });
  }

  const keyOf = (...parts: string[]) => parts.join("\u001f");

  return {
    async load(scope) {
      const { habits, dependencies: edges } = KEPT;
      await db.query("delete from tool_habit where used_at < now() - $1 * interval '1 day'", [habits.days]);
      await db.query("delete from tool_dependency where used_at < now() - $1 * interval '1 day'", [edges.days]);
      // Each new call is a place of its own: what would never be read again must not pile up.
      await db.query(
        `delete from tool_habit where scope = $1 and used_at <
           (select used_at from tool_habit where scope = $1 order by used_at desc offset $2 limit 1)`,
        [scope, habits.rows],
      );
      const rows = await db.query<{ place: string; next: string; seen: number; hits: number | null }>(
        "select place, next, seen, hits from tool_habit where scope = $1 order by used_at desc limit $2",
        [scope, habits.rows],
      );
      const dependencies = await db.query<Dependency>(
        "select source, target, path, seen, failed from tool_dependency where scope = $1 order by used_at desc limit $2",
        [scope, MOST_EDGES],
      );
      return {
        // The newest come last, so that they are remembered longest.
        habits: rows.filter(({ hits }) => hits === null).reverse(),
        ways: rows.flatMap(({ place, next, seen, hits }) =>
          hits === null ? [] : [{ place, recipe: JSON.parse(next) as Recipe, hits, trials: seen }]
        ).reverse(),
        dependencies: dependencies.reverse(),
      };
    },
    async states() {
      const rows = await db.query<{ name: string; value: unknown }>(
        "select name, value from learned_state",
      );
      return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
    },
    habit(scope, place, next) {
      if (waitingHabits >= MOST_WAITING) return;
      const places = changes.habits.getOrInsertComputed(scope, () => new Map<string, Map<string, number>>());
      const seen = places.getOrInsertComputed(place, () => new Map<string, number>());
      const before = seen.get(next);
      if (before === undefined) waitingHabits++;
      seen.set(next, (before ?? 0) + 1);
      later.touch();
    },
    way(scope, way) {
      const { ways, fresh } = changes;
      if (ways.size >= MOST_WAITING) return;
      if (way.trials === 1) fresh.add(way);
      ways.set(way, scope);
      later.touch();
    },
    forget(scope, way) {
      const { ways, fresh, forgotten } = changes;
      ways.delete(way);
      if (fresh.delete(way) || forgotten.size >= MOST_WAITING) return;
      forgotten.set(way, scope);
      later.touch();
    },
    dependency(scope, edge) {
      if (changes.dependencies.size >= MOST_WAITING) return;
      changes.dependencies.set(keyOf(scope, edge.source, edge.target, edge.path), { scope, ...edge });
      later.touch();
    },
    state(name, value) {
      changes.states.set(name, value);
      later.touch();
    },
    flush,
  };
}

const HABIT_ID = "md5(scope || chr(31) || place || chr(31) || next)";

function habitRows({ habits }: Changes): HabitRow[] {
  return [...habits].flatMap(([scope, places]) =>
    [...places].flatMap(([place, nexts]) => [...nexts].map(([next, seen]) => ({ scope, place, next, seen })))
  );
}

function wayRows(ways: ReadonlyMap<Way, string>): HabitRow[] {
  return [...ways].map(([{ place, recipe, hits, trials }, scope]) => (
    { scope, place, next: JSON.stringify(recipe), seen: trials, hits }
  ));
}

/** Each kind for itself: what one of them cannot take costs none of the others. */
async function write(db: Database, changes: Changes): Promise<void> {
  const { dependencies, states } = changes;
  const [seen, kept, gone] = [habitRows(changes), wayRows(changes.ways), wayRows(changes.forgotten)];
  const statements: [string, readonly unknown[], number][] = [
    [
      `insert into tool_habit (id, scope, place, next, seen)
       select ${HABIT_ID}, scope, place, next, seen
       from jsonb_to_recordset($1::jsonb) as t(scope text, place text, next text, seen integer)
       on conflict (id) do update set seen = tool_habit.seen + excluded.seen, used_at = now()`,
      [seen],
      seen.length,
    ],
    // Before the others: a way that was forgotten may have come back as another one.
    [
      `delete from tool_habit using jsonb_to_recordset($1::jsonb) as t(scope text, place text, next text)
       where id = md5(t.scope || chr(31) || t.place || chr(31) || t.next)`,
      [gone],
      gone.length,
    ],
    [
      `insert into tool_habit (id, scope, place, next, seen, hits)
       select ${HABIT_ID}, scope, place, next, seen, hits
       from jsonb_to_recordset($1::jsonb) as t(scope text, place text, next text, seen integer, hits integer)
       on conflict (id) do update set seen = excluded.seen, hits = excluded.hits, used_at = now()`,
      [kept],
      kept.length,
    ],
    [
      `insert into tool_dependency (id, scope, source, target, path, seen, failed)
       select md5(scope || chr(31) || source || chr(31) || target || chr(31) || path),
         scope, source, target, path, seen, failed
       from jsonb_to_recordset($1::jsonb)
         as t(scope text, source text, target text, path text, seen integer, failed integer)
       on conflict (id) do update set seen = excluded.seen, failed = excluded.failed, used_at = now()`,
      [[...dependencies.values()]],
      dependencies.size,
    ],
    ...[...states].map(([name, value]): [string, readonly unknown[], number] => [
      `insert into learned_state (name, value) values ($1, $2::jsonb)
       on conflict (name) do update set value = excluded.value`,
      [name, value],
      1,
    ]),
  ];
  for (const [sql, parameters, count] of statements) {
    if (count === 0) continue;
    await db.query(sql, parameters, { isLazy: true }).catch((error) => {
      if (!isNoDatabase(error)) log("warning", "learning_not_kept", { rows: count, reason: messageOf(error) });
    });
  }
}
