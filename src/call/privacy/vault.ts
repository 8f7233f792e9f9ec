import type { Database } from "../../db/mod.ts";
import { messageOf } from "../../model/mod.ts";
import type { Hidden } from "../../policy/mod.ts";
import { log } from "../../telemetry/mod.ts";
import { fs } from "../../platform/start.ts";
import { createHmac } from "node:crypto";
import { MOST_KEPT, MOST_OF_A_SERVER } from "./quota.ts";

/** What stands behind a token, and who has told it. */
export interface Secret {
  readonly value: string;
  readonly servers: ReadonlySet<string>;
}

/** Keeps what was hidden, on this machine only, so that a token means the same tomorrow. */
export interface PiiVault {
  /** Makes the tokens of a server, which are its own; the same for as long as the home is. */
  keyOf(server: string): Uint8Array<ArrayBuffer>;
  /** Values of a server, within its quota. */
  keep(server: string, hidden: readonly Hidden[]): void;
  /** The same for lists of values, each as JSON, which are read one after the other while others have their turn. */
  keepTexts(server: string, texts: readonly string[]): void;
  find(tokens: Iterable<string>): Promise<ReadonlyMap<string, Secret>>;
}

interface Row {
  readonly token: string;
  readonly value: string;
  readonly servers: readonly string[];
}

const MAX_IN_MEMORY = 50_000;
const KEPT_DAYS = 90;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A server's rows are counted again after so many new ones. */
const COUNTED_EVERY = 5_000;

interface Known {
  readonly value: string;
  readonly servers: Set<string>;
  /** Whether everything that the database has about it is here. */
  isWhole: boolean;
  /** When it was last written. */
  at: number;
}

/** What a server has had kept lately. */
interface Share {
  since: number;
  count: number;
  uncounted: number;
  readonly key: Uint8Array<ArrayBuffer>;
}

/** The key lies beside the database: whoever can read the one can read the other. */
export function openPiiVault(file: string, database: Promise<Database | undefined>): PiiVault {
  const key = readKey(file);
  const known = new Map<string, Known>();
  const shares = new Map<string, Share>();
  let prunedAt = -Infinity;
  /** Ends when everything that was to be kept is. */
  let keeping: Promise<void> | undefined;

  const shareOf = (server: string) =>
    shares.getOrInsertComputed(server, () => ({
      since: Date.now(),
      count: 0,
      uncounted: COUNTED_EVERY,
      key: new Uint8Array(createHmac("sha256", key).update(server).digest()),
    }));

  function remember({ token, value, servers }: Row, isWhole: boolean): void {
    const before = known.get(token);
    known.delete(token);
    known.set(token, {
      value,
      servers: new Set([...before?.servers ?? [], ...servers]),
      isWhole: isWhole || before?.isWhole === true,
      at: Date.now(),
    });
    if (known.size > MAX_IN_MEMORY) known.delete(known.keys().next().value!);
  }

  async function write(server: string, rows: readonly Row[]): Promise<void> {
    const db = await database;
    await db?.query(
      `insert into pii_value (token, value, servers)
       select token, value, servers from jsonb_to_recordset($1::jsonb) as t(token text, value text, servers jsonb)
       on conflict (token) do update set seen_at = now()`,
      [rows.map((row) => ({ ...row, value: JSON.stringify(row.value) }))],
    );
    const share = shareOf(server);
    share.uncounted += rows.length;
    if (share.uncounted >= COUNTED_EVERY) {
      share.uncounted = 0;
      await db?.query(
        `delete from pii_value where token in (
           select token from pii_value where servers = $1::jsonb order by seen_at desc, token offset $2)`,
        [[server], MOST_OF_A_SERVER],
      );
    }
    if (Date.now() - prunedAt < DAY_MS) return;
    prunedAt = Date.now();
    await db?.query("delete from pii_value where seen_at < now() - $1 * interval '1 day'", [KEPT_DAYS]);
  }

  /** The values that are not kept yet, as far as the server's share of this hour goes. */
  function freshOf(server: string, hidden: readonly Hidden[]): Row[] {
    const fresh = hidden.filter(({ token }) => {
      const entry = known.get(token);
      // Once a day it is said anew that a value is still in use.
      return !entry?.servers.has(server) || Date.now() - entry.at > DAY_MS;
    });
    if (fresh.length === 0) return [];
    const share = shareOf(server);
    if (Date.now() - share.since > HOUR_MS) [share.since, share.count] = [Date.now(), 0];
    const room = Math.max(0, MOST_KEPT - share.count);
    if (fresh.length > room && share.count <= MOST_KEPT) {
      log("warning", "tokens not kept", { server, reason: `more than ${MOST_KEPT} new values within an hour` });
    }
    share.count += fresh.length;
    return fresh.slice(0, room).map(({ token, value }) => ({ token, value, servers: [server] }));
  }

  async function keepRows(server: string, rows: readonly Row[]): Promise<void> {
    if (rows.length === 0) return;
    rows.forEach((row) => remember(row, false));
    try {
      await write(server, rows);
    } catch (error) {
      // Written with the next answer that has them.
      for (const { token } of rows) known.delete(token);
      log("warning", "tokens not kept", { reason: messageOf(error) });
    }
  }

  return {
    keyOf: (server) => shareOf(server).key,
    keep: (server, hidden) => void keepRows(server, freshOf(server, hidden)),
    keepTexts(server, texts) {
      if (texts.length === 0) return;
      const work = async () => {
        for (const text of texts) await keepRows(server, freshOf(server, JSON.parse(text) as Hidden[]));
      };
      const mine = (keeping ?? Promise.resolve()).then(work).finally(() => {
        if (keeping === mine) keeping = undefined;
      });
      keeping = mine;
    },
    async find(tokens) {
      const wanted = [...new Set(tokens)];
      if (keeping && wanted.some((token) => !known.has(token))) await keeping;
      const missing = wanted.filter((token) => !known.get(token)?.isWhole);
      if (missing.length > 0) {
        const db = await database;
        const rows = await db?.query<Row>("select token, value, servers from pii_value where token = any($1)", [
          missing,
        ]);
        for (const row of rows ?? []) remember({ ...row, value: JSON.parse(row.value) }, true);
      }
      return new Map(wanted.flatMap((token) => {
        const secret = known.get(token);
        return secret ? [[token, secret] as const] : [];
      }));
    },
  };
}

const KEY_BYTES = 32;

function readKey(file: string): Uint8Array<ArrayBuffer> {
  try {
    const key = fs.readFileSync(file);
    if (key.length === KEY_BYTES) return key;
  } catch {
    // The first time.
  }
  const key = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  const draft = `${file}.tmp`;
  using handle = fs.openSync(draft, { create: true, write: true, truncate: true, mode: 0o600 });
  handle.writeSync(key);
  handle.syncSync();
  fs.renameSync(draft, file);
  return key;
}
