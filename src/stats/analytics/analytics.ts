import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Database } from "../../db/mod.ts";
import { isObject, messageOf, oneLine } from "../../model/mod.ts";
import { replaceFile } from "../../platform/mod.ts";
import { log } from "../../telemetry/mod.ts";
import { createAnalyticsStore } from "./analytics_store.ts";
import { type AnalyticsRow, type RowOptions, rowsOf, type SourceRow } from "./rows.ts";
import { createSpool, type SpoolOptions } from "./spool.ts";

/** The record that is copied, from a row on. */
export interface Source {
  /** The name of the record: numbers of rows begin anew in another one. */
  readonly chain: string;
  follow(after: number): { read(most: number): Promise<readonly SourceRow[]> };
}

export interface AnalyticsOptions extends RowOptions, Pick<SpoolOptions, "fileBytes" | "mostBytes"> {
  /** The folder of the cursor and of rows that wait. */
  readonly folder: string;
  /** The name of this engine in the tables. */
  readonly engine: string;
  source(): Source | undefined;
  /** Connects to the database; rejects while it is away. */
  open(): Promise<Database>;
}

/** The state of the copy. */
export interface AnalyticsState {
  /** The newest row that was copied or put aside. */
  readonly seq: number;
  /** Bytes of rows that wait for the database. */
  readonly waiting_bytes: number;
  readonly problem: string | null;
}

/** Copies the record of calls and runs to a PostgreSQL, each row once, off everyone's way. */
export interface Analytics {
  /** Copies what is new; a call meanwhile waits for that one. */
  copy(): Promise<void>;
  state(): Promise<AnalyticsState>;
  close(): Promise<void>;
}

interface Cursor {
  readonly chain: string;
  readonly seq: number;
}

/** Rows of the record that are copied at once. */
const BATCH = 1_000;
const CURSOR = "cursor.json";

export function createAnalytics(options: AnalyticsOptions): Analytics {
  const { folder, engine, source, open } = options;
  const spool = createSpool(options);
  let reader: { readonly chain: string; read(most: number): Promise<readonly SourceRow[]> } | undefined;
  let cursor: Cursor | undefined;
  let database: Promise<Database> | undefined;
  let problem: string | undefined;
  let copying: Promise<void> | undefined;
  let isClosed = false;

  const nameOf = (chain: string) => `${engine}-${chain.slice(0, 8)}`;

  async function connect(): Promise<Database> {
    const db = await open();
    try {
      await createAnalyticsStore(db).prepare();
      return db;
    } catch (error) {
      await db.close().catch(() => {});
      throw error;
    }
  }

  /** Adds rows to the database; false where that is away. */
  async function add(chain: string, rows: readonly AnalyticsRow[]): Promise<boolean> {
    try {
      const db = await (database ??= connect());
      if (rows.length > 0) await createAnalyticsStore(db).add(nameOf(chain), rows);
      problem = undefined;
      return true;
    } catch (error) {
      if (problem === undefined) log("warning", "analytics_away", { reason: messageOf(error) });
      problem = oneLine(messageOf(error), 300);
      const lost = database;
      database = undefined;
      await (await lost?.catch(() => undefined))?.close().catch(() => {});
      return false;
    }
  }

  /** Copies the rows that waited, oldest first. */
  async function replay(chain: string): Promise<boolean> {
    for (let file = await spool.oldest(); file && !isClosed; file = await spool.oldest()) {
      for (let at = 0; at < file.rows.length; at += BATCH) {
        const some = file.rows.slice(at, at + BATCH);
        for (const [own, rows] of Map.groupBy(some, (row) => chainOfRow(row) ?? chain)) {
          if (!await add(own, rows)) return false;
        }
      }
      await file.remove();
    }
    return true;
  }

  async function moveTo(next: Cursor): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await replaceFile(join(folder, CURSOR), JSON.stringify(next), { mode: 0o600, isSynced: false });
    cursor = next;
  }

  /** The reader of the record; another record, in its place, is read from its beginning. */
  async function readerOf({ chain, follow }: Source) {
    cursor ??= await readCursor(folder);
    if (cursor?.chain !== chain) cursor = { chain, seq: 0 };
    if (reader?.chain !== chain) reader = { chain, ...follow(cursor.seq) };
    return reader;
  }

  async function copyAll(): Promise<void> {
    const from = source();
    if (!from) return;
    const { chain, read } = await readerOf(from);
    let isThere = await add(chain, []) && await replay(chain);
    while (!isClosed) {
      const batch = await read(BATCH);
      if (batch.length === 0) return;
      const rows = batch.flatMap((row) => rowsOf(row, options));
      isThere = isThere && await add(chain, rows);
      const isKept = isThere || rows.length === 0 ||
        await spool.add(rows.map((row) => ({ ...row, chain }))).catch(() => false);
      // Rows that found no room stay in the record: they are read again.
      if (!isKept) return void (reader = undefined);
      await moveTo({ chain, seq: batch.at(-1)!.seq });
    }
  }

  return {
    copy: () =>
      copying ??= copyAll().catch((error) => {
        reader = undefined;
        log("warning", "analytics_not_copied", { reason: messageOf(error) });
      }).finally(() => copying = undefined),
    state: async () => ({
      seq: (cursor ?? await readCursor(folder))?.seq ?? 0,
      waiting_bytes: await spool.bytes(),
      problem: problem ?? null,
    }),
    async close() {
      isClosed = true;
      await copying;
      await (await database?.catch(() => undefined))?.close();
    },
  };
}

async function readCursor(folder: string): Promise<Cursor | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(join(folder, CURSOR), "utf8"));
    if (!isObject(value) || typeof value.chain !== "string" || !Number.isSafeInteger(value.seq)) return undefined;
    return { chain: value.chain, seq: value.seq as number };
  } catch {
    return undefined;
  }
}

function chainOfRow(row: AnalyticsRow & { readonly chain?: unknown }): string | undefined {
  return typeof row.chain === "string" ? row.chain : undefined;
}
