import { AgentCardsError, isObject, messageOf } from "../model/mod.ts";
import { readChecked, writeChecked } from "../platform/mod.ts";
import { log } from "../telemetry/mod.ts";
import { fs } from "../platform/start.ts";
import type { Database } from "./database.ts";
import type { Durability } from "./pglite/worker.ts";

/** The position of a database at a time: every transaction below `position` was on the disk. */
interface Mark {
  readonly position: number;
  readonly at: number;
}

/** A note beside the database that tells on the next opening whether it is the same one, and none of its rows is gone. */
interface Marker {
  readonly identity: string;
  /** The oldest first. */
  readonly marks: readonly Mark[];
}

const EVERY_MS = 1_000;
/** A database of `durability: process` may have lost as much to a power cut. */
const MAY_BE_OLDER_MS = 60_000;

function isMarker(value: unknown): value is Marker {
  return isObject(value) && typeof value.identity === "string" && Array.isArray(value.marks) &&
    value.marks.every((mark) => isObject(mark) && Number.isFinite(mark.position) && Number.isFinite(mark.at));
}

async function readMarker(path: string): Promise<Marker | undefined> {
  const marker = await readChecked(path);
  return isMarker(marker) ? marker : undefined;
}

/** Refuses to make a new database where there was one. */
export async function requireKnownFolder(path: string, dataDir: string): Promise<void> {
  if (!await readMarker(path)) return;
  const entries = await Array.fromAsync(fs.readDir(dataDir)).catch((error) => {
    if (fs.isNotFound(error)) return [];
    throw error;
  });
  if (entries.length === 0) throw lost(`The database in ${dataDir} is gone: its folder is empty`);
}

function lost(what: string): AgentCardsError {
  return new AgentCardsError("DB_UNUSABLE", `${what}. Its runs would be forgotten, so it is not used`, {
    hint: "Bring a backup back with `agentcards restore --latest`, or go on without with `agentcards database accept`.",
    data: { isFinal: true },
  });
}

/** Refuses a database that is another one than the marker knows, or an older copy of it. */
export async function checkMarker(db: Database, path: string, durability: Durability): Promise<void> {
  const marker = await readMarker(path);
  const identity = await identityOf(db);
  const isReplaced = marker !== undefined && await valueOf(db, "replaces") === marker.identity;
  if (!marker || isReplaced) return await write(db, path, { identity, marks: [] });
  if (marker.identity !== identity) throw lost("The database is another one than this home had");
  const position = await positionOf(db);
  const newest = marker.marks.at(-1);
  if (!newest || position >= newest.position) return;
  const since = marker.marks.findLast((mark) => mark.position <= position)?.at ?? -Infinity;
  const olderMs = newest.at - since;
  if (durability === "power" || olderMs > MAY_BE_OLDER_MS) {
    const when = new Date(newest.at).toISOString();
    throw lost(`The database is older than it was at ${when}: rows that were written by then are missing`);
  }
  log("warning", "database_is_older", { seconds: Math.ceil(olderMs / 1000) });
  await write(db, path, { identity, marks: [] });
}

/** Says in a database out of a backup that it takes the place of the one that the marker knows. */
export async function takePlace(db: Database, path: string): Promise<void> {
  const marker = await readMarker(path);
  await setValue(db, "identity", crypto.randomUUID());
  if (marker) await setValue(db, "replaces", marker.identity);
}

async function identityOf(db: Database): Promise<string> {
  const known = await valueOf(db, "identity");
  if (known !== undefined) return known;
  const identity = crypto.randomUUID();
  await setValue(db, "identity", identity);
  return identity;
}

async function valueOf(db: Database, key: string): Promise<string | undefined> {
  const [row] = await db.query<{ value: string }>("select value from config_metadata where key = $1", [key]);
  return row?.value;
}

async function setValue(db: Database, key: string, value: string): Promise<void> {
  await db.query(
    "insert into config_metadata (key, value) values ($1, to_jsonb($2::text)) " +
      "on conflict (key) do update set value = excluded.value",
    [key, value],
  );
}

/** The number that the next transaction gets: it grows with every one that writes, and a lost one gives it back. */
async function positionOf(db: Pick<Database, "query">): Promise<number> {
  const [row] = await db.query<{ position: string }>(
    "select pg_snapshot_xmax(pg_current_snapshot())::text as position",
  );
  return Number(row!.position);
}

async function write(
  db: Database,
  path: string,
  { identity, marks }: Marker,
  isStillOurs: () => boolean = () => true,
): Promise<void> {
  // A commit that waits for the disk takes everything before it along.
  await db.exec("insert into config_metadata values ('marked', '0') on conflict (key) do update set value = '0'");
  const mark = { position: await positionOf(db), at: Date.now() };
  const oldest = mark.at - MAY_BE_OLDER_MS;
  const recent = marks.filter(({ at }, i) => at >= oldest || (marks[i + 1]?.at ?? Infinity) >= oldest);
  if (isStillOurs()) await writeChecked(path, JSON.stringify({ identity, marks: [...recent, mark] } satisfies Marker));
}

/** Keeps the marker up to date, at most once a second while rows are written. */
/** `isStillOurs`: false once the home is another's. The marker is found by its path, and would then be that of a copy. */
export function createMarkerKeeper(path: string, isStillOurs: () => boolean = () => true) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<void> = Promise.resolve();

  async function mark(db: Database): Promise<void> {
    const known = await readMarker(path);
    if (known) await write(db, path, known, isStillOurs);
  }

  function markNow(db: Database): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    return writing = writing.then(() => mark(db)).catch((error) =>
      log("warning", "marker_not_written", { reason: messageOf(error) })
    );
  }

  return {
    written(db: Database): void {
      timer ??= setTimeout(() => void markNow(db), EVERY_MS);
    },
    /** Names the last rows before the database is closed. */
    async settle(db: Database): Promise<void> {
      if (timer !== undefined) await markNow(db);
      await writing;
    },
  };
}
