// Runs PGlite off the main thread: opening it there would stall every connection for half a second.
import { AgentCardsError, type ErrorCode, type ErrorDetails, messageOf } from "../../model/mod.ts";
import { fs } from "../../platform/start.ts";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { lockFolder } from "../lock.ts";
import { DiskError, SyncedFS } from "./synced_fs.ts";
import { unpackTemplate } from "./template.ts";

export type Durability = "power" | "process";

export type Request =
  | { id: number; op: "open"; dataDir: string; isNew: boolean; durability: Durability }
  | { id: number; op: "query"; sql: string; parameters: readonly unknown[] }
  | { id: number; op: "exec"; sql: string }
  | { id: number; op: "close" };

/** `isFatal`: the database cannot be used any more and has to be opened anew. */
export type Reply = { id: number; value?: unknown; error?: Told; isFatal?: boolean };

/** An error on its way to another thread. */
export interface Told {
  readonly message: string;
  /** PostgreSQL's code of the error. */
  readonly sqlState?: string;
  readonly ours?: { readonly code: ErrorCode } & Pick<ErrorDetails, "hint" | "data">;
}

const SETTINGS = [
  // The default of 128 MB costs memory that a catalogue never uses.
  "shared_buffers=8MB",
  // Nobody recycles segments in the background; the engine asks for checkpoints, and few segments are kept after them.
  "min_wal_size=32MB",
  "max_wal_size=64MB",
];

function startParams(durability: Durability): string[] {
  // `-F` turns fsync off; `fdatasync`, the default method, does nothing in Emscripten.
  const own = durability === "power" ? [...SETTINGS, "wal_sync_method=fsync"] : SETTINGS;
  const given = PGlite.defaultStartParams.filter((word: string) => durability === "process" || word !== "-F");
  return [...given, ...own.flatMap((setting) => ["-c", setting])];
}

/** Scores come by the thousand: the general reader of arrays would take longer than computing them. */
const PARSERS = {
  [1007]: (text: string) => Int32Array.from(listed(text), Number),
  [1021]: (text: string) => Float32Array.from(listed(text), Number),
};
const listed = (text: string) => text === "{}" ? [] : text.slice(1, -1).split(",");

/** The time that the Worker that had the database open before may take to end; a later try comes for one that hangs. */
const FREED_WITHIN_MS = 5_000;

let db: PGlite | undefined;

async function open({ dataDir, isNew, durability }: Request & { op: "open" }): Promise<void> {
  if (isNew) await unpackTemplate(dataDir, { isSynced: durability === "power" });
  // Held until this thread ends: a second database on the same folder would destroy both.
  if (!await lockFolder(dataDir, { waitMs: FREED_WITHIN_MS })) {
    throw new AgentCardsError("DB_UNUSABLE", `Cannot open the database in ${dataDir}: another process has it open`, {
      hint: "Run `agentcards engine restart`.",
    });
  }
  // PostgreSQL's own lock says nothing here, and it refuses to start on one that a full disk left empty.
  await fs.remove(`${dataDir}/postmaster.pid`).catch(() => {});
  db = await PGlite.create({
    fs: new SyncedFS(dataDir),
    extensions: { vector },
    startParams: startParams(durability),
    parsers: PARSERS,
  });
  await db.exec("create extension if not exists vector");
}

async function answer(request: Request): Promise<unknown> {
  if (request.op === "open") return await open(request);
  if (!db) throw new Error("the database is not open");
  switch (request.op) {
    case "query":
      return (await db.query(request.sql, [...request.parameters])).rows;
    case "exec":
      await db.exec(request.sql);
      return;
    case "close":
      await db.close();
      return;
  }
}

/** A failed statement is an ordinary error with a code; anything of Emscripten's own means that PostgreSQL is gone. */
function isFatal(error: unknown): boolean {
  const { severity } = error as { severity?: unknown };
  return error instanceof DiskError || error instanceof WebAssembly.RuntimeError || severity === "PANIC" ||
    severity === "FATAL" ||
    /\bAborted\(|ExitStatus|Program terminated|memory access out of bounds|PGlite (?:is|failed)/.test(messageOf(error));
}

function told(error: unknown): Told {
  const message = messageOf(error);
  if (!(error instanceof AgentCardsError)) {
    const sqlState = (error as { code?: unknown } | null)?.code;
    return typeof sqlState === "string" ? { message, sqlState } : { message };
  }
  const { code, hint, data } = error;
  return { message, ours: { code, ...hint !== undefined && { hint }, ...data && { data } } };
}

const port = self as unknown as {
  onmessage: (event: MessageEvent<Request>) => void;
  postMessage(reply: Reply): void;
};

port.onmessage = async ({ data }) => {
  try {
    port.postMessage({ id: data.id, value: await answer(data) });
  } catch (error) {
    port.postMessage({ id: data.id, error: told(error), ...isFatal(error) && { isFatal: true } });
  }
};
