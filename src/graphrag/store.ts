import type { Database } from "../db/mod.ts";
import { AgentCardsError, messageOf } from "../model/mod.ts";
import { log } from "../telemetry/mod.ts";
import type { Dependency } from "./dependency.ts";
import type { Way } from "./foresight.ts";
import type { Recipe } from "./recipe.ts";

/** What was learned in one scope, as it is kept. */
export interface Learned {
  readonly habits: readonly { readonly place: string; readonly next: string; readonly seen: number }[];
  readonly ways: readonly Way[];
  readonly dependencies: readonly Dependency[];
}

/** Keeps what was learned: changes are gathered and written together when nothing else is going on. */
export interface LearningStore {
  load(scope: string): Promise<Learned>;
  /** What was kept under names, whatever the scope. */
  states(): Promise<Record<string, unknown>>;
  /** One more time that something came next in a place. */
  habit(scope: string, place: string, next: string): void;
  way(scope: string, way: Way): void;
  forget(scope: string, way: Way): void;
  dependency(scope: string, edge: Dependency): void;
  state(name: string, value: unknown): void;
  flush(): Promise<void>;
}

const QUIET_MS = 1_000;
/** What is older, or more, is not worth reading. */
const KEPT_DAYS = 180;
const MOST_ROWS = 50_000;
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
  readonly habits: Map<string, HabitRow>;
  /** Without a row: to be forgotten. */
  readonly ways: Map<string, { readonly row: HabitRow; readonly isGone: boolean }>;
  readonly dependencies: Map<string, DependencyRow>;
  readonly states: Map<string, unknown>;
}

const nothing = (): Changes => ({ habits: new Map(), ways: new Map(), dependencies: new Map(), states: new Map() });

export function createLearningStore(database: Promise<Database | undefined>): LearningStore {
  let changes = nothing();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<void> = Promise.resolve();

  /** What was learned before must be known first: counts are written over those that are there. */
  async function opened(): Promise<Database> {
    const db = await database;
    if (db) return db;
    throw new AgentCardsError("DB_UNUSABLE", "What was learned cannot be read: the database is not usable");
  }

  function later(): void {
    timer ??= setTimeout(() => void flush(), QUIET_MS);
  }

  /** One after another: an older count must not be written over a newer one. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const taken = changes;
    changes = nothing();
    return writing = writing.then(async () => {
      const db = await database;
      if (db) await write(db, taken);
    }).catch((error) => log("warning", "what was learned is not kept", { reason: messageOf(error) }));
  }

  const keyOf = (...parts: string[]) => parts.join("\u001f");

  function putWay(scope: string, { place, recipe, hits, trials }: Way, isGone: boolean): void {
    const next = JSON.stringify(recipe);
    if (changes.ways.size >= MOST_WAITING) return;
    changes.ways.set(keyOf(scope, place, next), { row: { scope, place, next, seen: trials, hits }, isGone });
    later();
  }

  return {
    async load(scope) {
      const db = await opened();
      for (const table of ["tool_habit", "tool_dependency"]) {
        await db.query(`delete from ${table} where used_at < now() - $1 * interval '1 day'`, [KEPT_DAYS]);
      }
      // Each new call is a place of its own: what would never be read again must not pile up.
      await db.query(
        `delete from tool_habit where scope = $1 and used_at <
           (select used_at from tool_habit where scope = $1 order by used_at desc offset $2 limit 1)`,
        [scope, MOST_ROWS],
      );
      const rows = await db.query<{ place: string; next: string; seen: number; hits: number | null }>(
        "select place, next, seen, hits from tool_habit where scope = $1 order by used_at desc limit $2",
        [scope, MOST_ROWS],
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
      const rows = await (await opened()).query<{ name: string; value: unknown }>(
        "select name, value from learned_state",
      );
      return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
    },
    habit(scope, place, next) {
      if (changes.habits.size >= MOST_WAITING) return;
      const key = keyOf(scope, place, next);
      changes.habits.set(key, { scope, place, next, seen: (changes.habits.get(key)?.seen ?? 0) + 1 });
      later();
    },
    way: (scope, way) => putWay(scope, way, false),
    forget: (scope, way) => putWay(scope, way, true),
    dependency(scope, edge) {
      if (changes.dependencies.size >= MOST_WAITING) return;
      changes.dependencies.set(keyOf(scope, edge.source, edge.target, edge.path), { scope, ...edge });
      later();
    },
    state(name, value) {
      changes.states.set(name, value);
      later();
    },
    flush,
  };
}

const HABIT_ID = "md5(scope || chr(31) || place || chr(31) || next)";

/** Each kind for itself: what one of them cannot take costs none of the others. */
async function write(db: Database, { habits, ways, dependencies, states }: Changes): Promise<void> {
  const kept = [...ways.values()].filter(({ isGone }) => !isGone).map(({ row }) => row);
  const gone = [...ways.values()].filter(({ isGone }) => isGone).map(({ row }) => row);
  const statements: [string, readonly unknown[], number][] = [
    [
      `insert into tool_habit (id, scope, place, next, seen)
       select ${HABIT_ID}, scope, place, next, seen
       from jsonb_to_recordset($1::jsonb) as t(scope text, place text, next text, seen integer)
       on conflict (id) do update set seen = tool_habit.seen + excluded.seen, used_at = now()`,
      [[...habits.values()]],
      habits.size,
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
      `delete from tool_habit using jsonb_to_recordset($1::jsonb) as t(scope text, place text, next text)
       where id = md5(t.scope || chr(31) || t.place || chr(31) || t.next)`,
      [gone],
      gone.length,
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
    await db.query(sql, parameters, { isLazy: true }).catch((error) =>
      log("warning", "what was learned is not kept", { rows: count, reason: messageOf(error) })
    );
  }
}
