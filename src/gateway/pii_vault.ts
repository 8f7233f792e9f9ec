import type { Database } from "../db/database.ts";
import { messageOf } from "../model/errors.ts";
import type { Hidden } from "../policy/pii.ts";
import { log } from "../telemetry/log.ts";

/** What stands behind a token, and who has told it. */
export interface Secret {
  readonly value: string;
  readonly servers: ReadonlySet<string>;
}

/** Keeps what was hidden, on this machine only, so that a token means the same tomorrow. */
export interface PiiVault {
  /** Makes the tokens; the same for as long as the home is. */
  readonly key: Uint8Array<ArrayBuffer>;
  keep(server: string, hidden: readonly Hidden[]): void;
  find(tokens: Iterable<string>): Promise<ReadonlyMap<string, Secret>>;
}

interface Row {
  readonly token: string;
  readonly value: string;
  readonly servers: readonly string[];
}

const MAX_IN_MEMORY = 50_000;
const KEPT_DAYS = 90;
const DAY_MS = 86_400_000;

interface Known {
  readonly value: string;
  readonly servers: Set<string>;
  /** Whether everything that the database has about it is here. */
  isWhole: boolean;
  /** When it was last written. */
  at: number;
}

/** The key lies beside the database: whoever can read the one can read the other. */
export function openPiiVault(file: string, database: Promise<Database | undefined>): PiiVault {
  const key = readKey(file);
  const known = new Map<string, Known>();
  let prunedAt = -Infinity;

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

  async function write(rows: readonly Row[]): Promise<void> {
    const db = await database;
    await db?.query(
      `insert into pii_value (token, value, servers)
       select token, value, servers from jsonb_to_recordset($1::jsonb) as t(token text, value text, servers jsonb)
       on conflict (token) do update set seen_at = now(), servers = (
         select jsonb_agg(distinct server) from jsonb_array_elements(pii_value.servers || excluded.servers) as s(server))`,
      [rows.map((row) => ({ ...row, value: JSON.stringify(row.value) }))],
    );
    if (Date.now() - prunedAt < DAY_MS) return;
    prunedAt = Date.now();
    await db?.query("delete from pii_value where seen_at < now() - $1 * interval '1 day'", [KEPT_DAYS]);
  }

  return {
    key,
    keep(server, hidden) {
      const fresh = hidden.filter(({ token }) => {
        const entry = known.get(token);
        // Once a day it is said anew that a value is still in use.
        return !entry?.servers.has(server) || Date.now() - entry.at > DAY_MS;
      });
      if (fresh.length === 0) return;
      const rows = fresh.map(({ token, value }) => ({ token, value, servers: [server] }));
      rows.forEach((row) => remember(row, false));
      write(rows).catch((error) => {
        // Written with the next answer that has them.
        for (const { token } of rows) known.delete(token);
        log("warning", "tokens not kept", { reason: messageOf(error) });
      });
    },
    async find(tokens) {
      const wanted = [...new Set(tokens)];
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
    const key = Deno.readFileSync(file);
    if (key.length === KEY_BYTES) return key;
  } catch {
    // The first time.
  }
  const key = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  const draft = `${file}.tmp`;
  using handle = Deno.openSync(draft, { create: true, write: true, truncate: true, mode: 0o600 });
  handle.writeSync(key);
  handle.syncSync();
  Deno.renameSync(draft, file);
  return key;
}
