import type { Database } from "../../db/mod.ts";
import { createPruner, DAY_MS, HOUR_MS, isNoDatabase, KEPT, type Pruner } from "../../db/start.ts";
import { messageOf } from "../../model/mod.ts";
import type { Hidden } from "../../policy/mod.ts";
import { log } from "../../telemetry/mod.ts";
import { fs } from "../../platform/start.ts";
import { createHmac } from "node:crypto";
import { createPiiStore, type PiiRow } from "../stores/pii_store.ts";
import { MOST_KEPT } from "./quota.ts";

/** The value behind a token, and the servers that have told it. */
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

const MAX_IN_MEMORY = 50_000;
/** A server's rows are counted again after so many new ones. */
const COUNTED_EVERY = 5_000;

interface Known {
  readonly value: string;
  readonly servers: Set<string>;
  /** True if everything that the database has about it is here. */
  isWhole: boolean;
  /** The time of the last write. */
  at: number;
}

/** The values that were kept for a server lately. */
interface Share {
  since: number;
  count: number;
  readonly pruner: Pruner;
  readonly key: Uint8Array<ArrayBuffer>;
}

/** The key lies beside the database: whoever can read the one can read the other. */
export function openPiiVault(file: string, db: Database): PiiVault {
  const key = readKey(file);
  const known = new Map<string, Known>();
  const shares = new Map<string, Share>();
  const store = createPiiStore(db);
  const { days, rows: mostOfServer } = KEPT.personalData;
  const pruner = createPruner({ everyMs: DAY_MS, prune: () => store.prune(days) });
  /** Ends when everything that was to be kept is. */
  let keeping: Promise<void> | undefined;

  const shareOf = (server: string) =>
    shares.getOrInsertComputed(server, () => ({
      since: Date.now(),
      count: 0,
      pruner: createPruner({
        everyMs: Infinity,
        everyRows: COUNTED_EVERY,
        prune: () => store.pruneServer(server, mostOfServer),
      }),
      key: new Uint8Array(createHmac("sha256", key).update(server).digest()),
    }));

  function remember({ token, value, servers }: PiiRow, isWhole: boolean): void {
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

  async function write(server: string, rows: readonly PiiRow[]): Promise<void> {
    await store.put(rows);
    await shareOf(server).pruner.written(rows.length);
    await pruner.written(rows.length);
  }

  /** The values that are not kept yet, as far as the server's share of this hour goes. */
  function freshOf(server: string, hidden: readonly Hidden[]): PiiRow[] {
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
      log("warning", "tokens_not_kept", { server, reason: `more than ${MOST_KEPT} new values within an hour` });
    }
    share.count += fresh.length;
    return fresh.slice(0, room).map(({ token, value }) => ({ token, value, servers: [server] }));
  }

  async function keepRows(server: string, rows: readonly PiiRow[]): Promise<void> {
    if (rows.length === 0) return;
    rows.forEach((row) => remember(row, false));
    try {
      await write(server, rows);
    } catch (error) {
      // Without a database tokens mean something for as long as the engine runs.
      if (isNoDatabase(error)) return;
      // Written with the next answer that has them.
      for (const { token } of rows) known.delete(token);
      log("warning", "tokens_not_kept", { reason: messageOf(error) });
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
        const rows = await store.find(missing).catch((error) => {
          if (isNoDatabase(error)) return [];
          throw error;
        });
        for (const row of rows) remember(row, true);
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
