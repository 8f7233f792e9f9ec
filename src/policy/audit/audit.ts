import { hash, randomBytes } from "node:crypto";
import { chmodSync, closeSync, fsync, ftruncateSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AgentCardsError, messageOf } from "../../model/mod.ts";
import { unrefTimer } from "../../platform/start.ts";
import { log } from "../../telemetry/mod.ts";
import { appendHead, hashOfHead, type Head, HEADS, openSigner, readHeads, type Signer } from "./heads.ts";
import { type AuditEvent, type Link, ORIGIN, seal } from "./row.ts";
import { changedAt, segmentPath, segmentsOf, tailOf, tailOfFile } from "./segments.ts";
import { HEAD_EVERY } from "./verify.ts";

/** Writes down every call. Opened with the first row. */
export interface Audit extends Disposable {
  /** Writes a row; where that fails it waits in memory, up to a bound, and then a row tells the gap. */
  append(event: AuditEvent): void;
  /** The same for what acts on the world: throws where the row cannot be written. */
  require(event: AuditEvent): void;
  /** A keyed digest of a text: equal for equal texts, and no help to guess a short one. Absent without its key. */
  digest(text: string): string | undefined;
  state(): AuditState;
}

/** What `status` tells of the audit. */
export interface AuditState {
  readonly last: number;
  /** The newest row that a signed head names. */
  readonly signed: number;
  /** True if heads are also kept elsewhere. */
  readonly isAnchored: boolean;
  readonly waiting: number;
  readonly problem?: string;
}

export interface AuditOptions {
  readonly folder: string;
  /** The name of this engine in rows and heads. */
  readonly engine: string;
  /** For how long segments are kept. */
  readonly keepMs: number;
  /** Hears of each head; for a second place. */
  readonly onHead?: (head: Head) => void;
  readonly now?: () => number;
  readonly segmentBytes?: number;
}

const SEGMENT_BYTES = 32 * 1024 * 1024;
const HEAD_MS = 60_000;
const SYNC_MS = 1_000;
const MOST_WAITING = 10_000;
const SALT = "salt";

export function openAudit(options: AuditOptions): Audit {
  const { now = Date.now, segmentBytes = SEGMENT_BYTES } = options;
  let chain: Chain | undefined;
  let problem: string | undefined;
  const waiting: AuditEvent[] = [];
  let lost = 0;
  let retryAt = 0;
  let headTimer: ReturnType<typeof setTimeout> | undefined;
  let syncTimer: ReturnType<typeof setTimeout> | undefined;

  const opened = () => chain ??= openChain({ ...options, now, segmentBytes });

  function write(event: AuditEvent): void {
    const open = opened();
    open.append({ ...event, at: now(), engine: options.engine });
    if (open.last.seq % HEAD_EVERY === 0) open.sign();
    headTimer ??= background(() => {
      headTimer = undefined;
      attempt(open.sign);
    }, HEAD_MS);
    syncTimer ??= background(() => {
      syncTimer = undefined;
      open.sync(failed);
    }, SYNC_MS);
  }

  /** Rows that waited go first: the order of rows is that of events. */
  function catchUp(): void {
    while (waiting.length > 0) {
      write(waiting[0]!);
      waiting.shift();
    }
    if (lost > 0) write({ kind: "gap", rows: lost });
    [lost, problem] = [0, undefined];
  }

  function failed(error: unknown): void {
    if (problem === undefined) log("error", "audit_unwritable", { reason: messageOf(error) });
    problem = messageOf(error);
    retryAt = performance.now() + SYNC_MS;
  }

  function attempt(work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      // After a failed write the end of the file is unknown: it is read again.
      chain?.close();
      chain = undefined;
      failed(error);
      return false;
    }
  }

  const isWritable = () => problem === undefined || (performance.now() >= retryAt && attempt(catchUp));

  return {
    append(event) {
      if (isWritable() && attempt(() => write(event))) return;
      if (waiting.length < MOST_WAITING) waiting.push(event);
      else lost++;
    },
    require(event) {
      if (isWritable() && attempt(() => write(event))) return;
      throw new AgentCardsError("DB_UNUSABLE", `The audit cannot be written: ${problem}`, {
        hint: "Nothing that acts is called until it can be. Look at the folder `audit` of the home: is the disk full?",
      });
    },
    digest(text) {
      let digest: string | undefined;
      if (isWritable()) attempt(() => digest = opened().digest(text));
      return digest;
    },
    state: () => ({
      ...chain ? { last: chain.last.seq, signed: chain.signed() } : onDisk(options.folder),
      isAnchored: options.onHead !== undefined,
      waiting: waiting.length + lost,
      ...problem !== undefined && { problem },
    }),
    [Symbol.dispose]() {
      clearTimeout(headTimer);
      clearTimeout(syncTimer);
      if (!chain) return;
      attempt(chain.sign);
      chain?.close();
      chain = undefined;
    },
  };
}

/** The state of a chain to which nothing was added yet. */
function onDisk(folder: string): Pick<AuditState, "last" | "signed"> {
  try {
    return { last: tailOf(folder).last.seq, signed: readHeads(join(folder, HEADS)).heads.at(-1)?.seq ?? 0 };
  } catch {
    return { last: 0, signed: 0 };
  }
}

function background(work: () => void, ms: number): ReturnType<typeof setTimeout> {
  const timer = setTimeout(work, ms);
  unrefTimer(timer as unknown as number);
  return timer;
}

interface Chain {
  readonly last: Link;
  append(event: AuditEvent): void;
  sign(): void;
  signed(): number;
  sync(onError: (error: unknown) => void): void;
  digest(text: string): string;
  close(): void;
}

/** The files of a folder, from their last row on. */
function openChain(options: Required<Omit<AuditOptions, "onHead">> & Pick<AuditOptions, "onHead">): Chain {
  const { folder, engine, segmentBytes, now, onHead } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  const salt = openSalt(folder);
  const signer: Signer = openSigner(folder);
  const known = readHeads(join(folder, HEADS)).heads.at(-1);
  let head = known ? { seq: known.seq, hash: hashOfHead(known) } : ORIGIN;
  const tail = tailOf(folder);
  let last = tail.last;
  let path = tail.segment?.path ?? segmentPath(folder, last.seq + 1);
  let file = openSync(path, "a", 0o600);
  let size = statSync(path).size;
  let isSyncing = false;

  function append(event: AuditEvent): void {
    if (size >= segmentBytes) roll();
    const { line, link } = seal(event, last);
    const bytes = Buffer.from(`${line}\n`);
    const written = writeSync(file, bytes);
    if (written < bytes.length) {
      // A full disk took a part of the row: no reader may take it for one.
      ftruncateSync(file, size);
      throw new Error("no space left for a whole row");
    }
    size += written;
    last = link;
  }

  function roll(): void {
    const old = file;
    path = segmentPath(folder, last.seq + 1);
    file = openSync(path, "a", 0o600);
    size = 0;
    fsync(old, () => closeSync(old));
    prune();
  }

  /** Removes segments whose newest row is too old, after a row that says so. */
  function prune(): void {
    const old = segmentsOf(folder).slice(0, -1).filter(({ path }) => changedAt(path) < now() - options.keepMs);
    const newest = old.at(-1);
    if (!newest) return;
    const through = tailOfFile(newest.path).last;
    if (!through) return;
    append({ kind: "pruned", at: now(), engine, through: through.seq, through_hash: through.hash });
    // Only a signed row excuses missing ones.
    sign();
    for (const { path } of old) rmSync(path);
  }

  function sign(): void {
    if (last.seq === head.seq) return;
    const signed = signer.sign({ ...last, at: now(), engine, prev: head.hash });
    appendHead(join(folder, HEADS), signed);
    head = { seq: signed.seq, hash: hashOfHead(signed) };
    onHead?.(signed);
  }

  if (tail.torn > 0) {
    ftruncateSync(file, size - tail.torn);
    size -= tail.torn;
    append({ kind: "torn", at: now(), engine, bytes: tail.torn });
  }
  return {
    get last() {
      return last;
    },
    append,
    sign,
    signed: () => head.seq,
    sync(onError) {
      if (isSyncing) return;
      isSyncing = true;
      fsync(file, (error) => {
        isSyncing = false;
        if (error && (error as { code?: string }).code !== "EBADF") onError(error);
      });
    },
    digest: (text) => hash("sha256", salt + text).slice(0, 32),
    close: () => closeSync(file),
  };
}

/** The secret beginning of every digested text, made when there is none. */
function openSalt(folder: string): string {
  const path = join(folder, SALT);
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as { code?: string }).code !== "ENOENT") throw error;
    const salt = randomBytes(32).toString("hex");
    writeFileSync(path, salt, { mode: 0o600, flag: "wx" });
    return salt;
  }
}
