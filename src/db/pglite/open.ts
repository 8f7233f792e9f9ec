import { AgentCardsError, messageOf } from "../../model/mod.ts";
import { fs } from "../../platform/start.ts";
import type { EndableDatabase, ExecOptions, Queryable, QueryOptions } from "../database.ts";
import { migrate, readMigrations } from "../migrate.ts";
import type { Durability } from "./worker.ts";
import { startWorker, type WorkerPort } from "./worker_port.ts";

/** A database in a folder of this machine. */
export interface FolderDatabase extends EndableDatabase {
  /** Runs `work` while no statement runs and everything is on the disk, so that the files can be copied. */
  atRest<T>(work: () => Promise<T>): Promise<T>;
}

export interface OpenOptions {
  /** `power`, the default: a row that was acknowledged survives a power cut. `process`: the end of this process. */
  readonly durability?: Durability;
  /** Told once when the database cannot be used any more: it hangs, or its process died. */
  onDeath?(reason: Error): void;
  /** Runs before the schema is changed, with the version that the database has; never for a new one. */
  beforeMigration?(db: FolderDatabase, version: number): Promise<void>;
  /** The schema is not looked at: the database is only to be read. */
  readonly isLeftAlone?: boolean;
  readonly deadlines?: Partial<Deadlines>;
}

export interface Deadlines {
  readonly statementMs: number;
  /** For an opening, a migration, a vacuum, the making of an index. */
  readonly longMs: number;
}

const DEADLINES: Deadlines = { statementMs: 8_000, longMs: 300_000 };
/** A database that is told to close has this long before its Worker is ended. */
const CLOSE_MS = 3_000;

/** Opens (and makes, and migrates) the database in a directory. The caller holds the process lock. */
export async function openDatabase(directory: string, options: OpenOptions = {}): Promise<FolderDatabase> {
  const { durability = "power", onDeath, beforeMigration } = options;
  const deadlines = { ...DEADLINES, ...options.deadlines };
  // PGlite does not follow links, and unpacking would replace one.
  const dataDir = await fs.realPath(directory).catch(() => directory);
  const isNew = await isEmpty(dataDir);
  const worker = startWorker((reason) => onDeath?.(reason));
  try {
    await worker.send({ op: "open", dataDir, isNew, durability }, deadlines.longMs);
  } catch (cause) {
    worker.terminate();
    throw unusable(dataDir, cause);
  }
  const db = serialise(worker, deadlines);
  if (options.isLeftAlone) return db;
  try {
    await migrate(db, await readMigrations(), isNew ? undefined : (version) => beforeMigration?.(db, version));
  } catch (error) {
    await db.close();
    throw error instanceof AgentCardsError ? error : unusable(dataDir, error);
  }
  return db;
}

/** PGlite's own words for a database that PostgreSQL refuses to start on say nothing to anybody. */
const SPEECHLESS = /Aborted\(|failed to initialize|unreachable|ExitStatus|memory access|\[object Object\]|^$/;

function unusable(dataDir: string, cause: unknown): AgentCardsError {
  if (cause instanceof AgentCardsError) return cause;
  const said = messageOf(cause);
  const why = SPEECHLESS.test(said) ? "its files are damaged: PostgreSQL does not start on them" : said;
  return new AgentCardsError("DB_UNUSABLE", `Cannot open the database in ${dataDir}: ${why}`, {
    cause,
    hint:
      "It was left as it is. Bring a backup back with `agentcards restore --latest` or `agentcards restore FILE`, or move the folder away and run `agentcards database accept` to start anew.",
  });
}

/** True if there is nothing yet. A folder with something else in it is never touched. */
async function isEmpty(dataDir: string): Promise<boolean> {
  const info = await fs.lstat(dataDir).catch((error) => {
    if (fs.isNotFound(error)) return undefined;
    throw unusable(dataDir, error);
  });
  if (!info) return true;
  const entries = await Array.fromAsync(fs.readDir(dataDir)).catch((cause) => {
    throw unusable(dataDir, cause);
  });
  if (entries.length === 0) return true;
  const version = await fs.readTextFile(`${dataDir}/PG_VERSION`).catch(() => "");
  if (!/^\d+\s*$/.test(version)) throw unusable(dataDir, "it holds files that are not a database");
  return false;
}

/** There is one connection: statements and transactions take turns on it. */
function serialise(worker: WorkerPort, { statementMs, longMs }: Deadlines): FolderDatabase {
  let tail: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = tail.then(work, work);
    tail = turn.catch(() => {});
    return turn;
  };
  const names = new Map<string, string>();
  let isLazyNow = false;
  const timeFor = ({ isLong }: ExecOptions) => isLong ? longMs : statementMs;

  /** A setting of the connection: one that changes with every statement costs less than one of each transaction. */
  async function setLazy(isLazy = false): Promise<void> {
    if (isLazy === isLazyNow) return;
    await worker.send({ op: "exec", sql: `set synchronous_commit = ${isLazy ? "off" : "on"}` }, statementMs);
    isLazyNow = isLazy;
  }

  /** Planning a statement takes longer than running it: one that comes often is planned once and called by its name. */
  async function planned(sql: string, parameters: readonly unknown[], options: QueryOptions): Promise<unknown> {
    const name = names.get(sql) ?? `often_${names.size}`;
    if (!names.has(sql)) {
      await worker.send({ op: "exec", sql: `prepare ${name} as ${sql}` }, statementMs);
      names.set(sql, name);
    }
    const call = `execute ${name}${parameters.length > 0 ? `(${parameters.map(literal).join(", ")})` : ""}`;
    return await worker.send({ op: "query", sql: call, parameters: [] }, timeFor(options));
  }
  const direct: Queryable = {
    query: async <Row>(sql: string, parameters: readonly unknown[] = [], options: QueryOptions = {}) =>
      await (options.isOften
        ? planned(sql, parameters, options)
        : worker.send({ op: "query", sql, parameters }, timeFor(options))) as Row[],
    exec: async (sql, options = {}) => {
      await worker.send({ op: "exec", sql }, timeFor(options));
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
  const alone = <T>(isLazy: boolean | undefined, work: () => Promise<T>): Promise<T> =>
    inTurn(() => orRollBack(() => setLazy(isLazy).then(work)));
  let closing: Promise<void> | undefined;
  return {
    query: (sql, parameters, options) => alone(options?.isLazy, () => direct.query(sql, parameters, options)),
    exec: (sql, options) => alone(options?.isLazy, () => direct.exec(sql, options)),
    transaction: (work, options) =>
      alone(options?.isLazy, async () => {
        await direct.exec("begin");
        const result = await work(direct);
        // After a failure that `work` swallowed, a bare commit would roll back without a word; the select speaks up.
        await direct.exec("select 1; commit");
        return result;
      }),
    atRest: (work) => alone(false, () => direct.exec("checkpoint", { isLong: true }).then(work)),
    abandon: worker.terminate,
    close: () =>
      closing ??= inTurn(async () => {
        await worker.send({ op: "close" }, CLOSE_MS).catch(() => {});
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
