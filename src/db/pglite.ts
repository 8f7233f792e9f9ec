import { AgentCardsError, messageOf } from "../model/errors.ts";
import { within } from "../model/time.ts";
import type { Database, Queryable, QueryOptions } from "./database.ts";
import { migrate, readMigrations } from "./migrate.ts";
import type { Reply, Request } from "./pglite_worker.ts";

export interface OpenOptions {
  /** A dump to fill a new directory from. */
  readonly dump?: Uint8Array;
}

const OPEN_TIMEOUT_MS = 60_000;

/** Opens (and makes, and migrates) the database in a directory. The caller holds the process lock. */
export async function openDatabase(directory: string, options: OpenOptions = {}): Promise<Database> {
  // PGlite does not follow links, and unpacking would replace one.
  const dataDir = await Deno.realPath(directory).catch(() => directory);
  const isNew = await isEmpty(dataDir);
  const worker = startWorker();
  try {
    const opening = worker.send({ op: "open", dataDir, isNew, ...options.dump && { dump: options.dump } });
    await within(opening, OPEN_TIMEOUT_MS, `no answer within ${OPEN_TIMEOUT_MS / 1000} s`);
  } catch (cause) {
    worker.terminate();
    throw unusable(dataDir, cause);
  }
  const db = serialise(worker);
  try {
    await migrate(db, await readMigrations());
  } catch (error) {
    await db.close();
    throw error;
  }
  return db;
}

function unusable(dataDir: string, cause: unknown): AgentCardsError {
  return new AgentCardsError("DB_UNUSABLE", `Cannot open the database in ${dataDir}: ${messageOf(cause)}`, {
    cause,
    hint:
      "It was left as it is. Bring a backup back with `agentcards restore FILE`, or move the folder away to start anew.",
  });
}

/** Whether there is nothing yet. A folder with something else in it is never touched. */
async function isEmpty(dataDir: string): Promise<boolean> {
  const info = await Deno.lstat(dataDir).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw unusable(dataDir, error);
  });
  if (!info) return true;
  const entries = await Array.fromAsync(Deno.readDir(dataDir)).catch((cause) => {
    throw unusable(dataDir, cause);
  });
  if (entries.length === 0) return true;
  const version = await Deno.readTextFile(`${dataDir}/PG_VERSION`).catch(() => "");
  if (!/^\d+\s*$/.test(version)) throw unusable(dataDir, "it holds files that are not a database");
  return false;
}

type Sendable = Request extends infer R ? R extends Request ? Omit<R, "id"> : never : never;

interface WorkerPort {
  send(request: Sendable): Promise<unknown>;
  terminate(): void;
}

function startWorker(): WorkerPort {
  const worker = new Worker(new URL("./pglite_worker.ts", import.meta.url), { type: "module", name: "pglite" });
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let last = 0;
  let dead: Error | undefined;
  const die = (error: Error) => {
    dead = error;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  worker.onmessage = ({ data }: MessageEvent<Reply>) => {
    const waiter = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.error === undefined) waiter?.resolve(data.value);
    else waiter?.reject(new Error(data.error));
  };
  worker.onerror = (event) => {
    event.preventDefault();
    die(new Error(`the database process failed: ${event.message}`));
  };
  return {
    send(request) {
      if (dead) return Promise.reject(dead);
      const id = ++last;
      // Throws on what cannot be sent, and then nobody waits.
      worker.postMessage({ id, ...request });
      const waiter = Promise.withResolvers<unknown>();
      waiting.set(id, waiter);
      return waiter.promise;
    },
    terminate() {
      worker.terminate();
      die(new Error("the database is closed"));
    },
  };
}

/** There is one connection: statements and transactions take turns on it. */
function serialise(worker: WorkerPort): Database {
  let tail: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = tail.then(work, work);
    tail = turn.catch(() => {});
    return turn;
  };
  const names = new Map<string, string>();
  /** Planning a statement takes longer than running it: one that comes often is planned once and called by its name. */
  async function planned(sql: string, parameters: readonly unknown[]): Promise<unknown> {
    const name = names.get(sql) ?? `often_${names.size}`;
    if (!names.has(sql)) {
      await worker.send({ op: "exec", sql: `prepare ${name} as ${sql}` });
      names.set(sql, name);
    }
    const call = `execute ${name}${parameters.length > 0 ? `(${parameters.map(literal).join(", ")})` : ""}`;
    return await worker.send({ op: "query", sql: call, parameters: [] });
  }
  const direct: Queryable = {
    query: async <Row>(sql: string, parameters: readonly unknown[] = [], options: QueryOptions = {}) =>
      await (options.isOften ? planned(sql, parameters) : worker.send({ op: "query", sql, parameters })) as Row[],
    exec: async (sql) => {
      await worker.send({ op: "exec", sql });
    },
  };
  /** The connection is shared: a failed statement would poison everyone after it. */
  const orRollBack = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      await direct.exec("rollback").catch(() => {});
      throw error;
    }
  };
  let closing: Promise<void> | undefined;
  return {
    query: (sql, parameters, options) => inTurn(() => orRollBack(() => direct.query(sql, parameters, options))),
    exec: (sql) => inTurn(() => orRollBack(() => direct.exec(sql))),
    transaction: (work) =>
      inTurn(() =>
        orRollBack(async () => {
          await direct.exec("begin");
          const result = await work(direct);
          // After a failure that `work` swallowed, a bare commit would roll back without a word; the select speaks up.
          await direct.exec("select 1; commit");
          return result;
        })
      ),
    dump: () => inTurn(() => worker.send({ op: "dump" }) as Promise<Uint8Array>),
    close: () =>
      closing ??= inTurn(async () => {
        await worker.send({ op: "close" }).catch(() => {});
        worker.terminate();
      }),
  };
}

/** A value as it stands in a statement. A backslash is a plain character there. */
function literal(value: unknown): string {
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  if (value === null || typeof value === "boolean" || Number.isFinite(value)) return String(value);
  throw new TypeError(`Cannot write ${typeof value} into a statement`);
}
