import type { Limits } from "../config/mod.ts";
import type { Database } from "../db/mod.ts";
import { createPruner, HOUR_MS, isNoDatabase } from "../db/start.ts";
import { AgentCardsError, cut, follow, within } from "../model/mod.ts";
import { replaceFile } from "../platform/mod.ts";
import { fs } from "../platform/start.ts";
import { shape } from "./answer.ts";
import { createResultTable, type ResultRow } from "./stores/result_store.ts";

/** Large answers, each in a file of its own, for a while and within a quota. */
export interface ResultStore {
  readonly directory: string;
  /** True if a stored value survives a power cut. */
  readonly isSynced: boolean;
  /** Puts a value aside; what belongs to a run stays as long as the run is not over, and for its age where it failed. */
  write(stored: { handle: string; tool: string; json: string; run?: string }): Promise<void>;
  /** Says that a stored value belongs to a run. */
  keepFor(run: string, handle: string): Promise<void>;
  /** Registers a file that was written into the directory under its handle. */
  register(stored: { handle: string; tool: string; bytes: number }): void;
  /** The tool that a stored value is of; empty where that is not known, undefined where there is no such value. */
  toolOf(handle: string): Promise<string | undefined>;
  /** The stored value, or what `load` makes of its file. */
  read(handle: string, load?: (path: string) => Promise<unknown>): Promise<unknown>;
}

const MOST_REMEMBERED = 10_000;
const HANDLE = /^r_[0-9a-f]{16}$/;
/** A stored value, or the draft of one. */
const OURS = /^r_[0-9a-f]{16}(?:\..*tmp)?$/;

export function newHandle(): string {
  return `r_${crypto.getRandomValues(new Uint8Array(8)).toHex()}`;
}

/** An answer that is not stored by then goes to the caller without a handle. */
const STORED_WITHIN_MS = 5_000;

export interface StoredFile {
  readonly directory: string;
  readonly handle: string;
  readonly isSynced: boolean;
}

/** Writes a value under its handle. A disk that hangs must not keep back the answer of a call. */
export async function writeStored({ directory, handle, isSynced }: StoredFile, json: string): Promise<void> {
  const writing = replaceFile(`${directory}/${handle}`, json, { mode: 0o600, isSynced });
  await within(writing, STORED_WITHIN_MS, `the disk did not take it within ${STORED_WITHIN_MS / 1_000} s`);
}

export interface ResultStoreOptions {
  readonly directory: string;
  readonly database: Database;
  readonly limits: Pick<Limits, "results_bytes" | "results_age">;
  readonly isSynced: boolean;
  /** True if other engines have the same database, and none of these files. */
  readonly isShared?: boolean;
}

export function createResultStore(options: ResultStoreOptions): ResultStore {
  const { directory, database, limits, isSynced, isShared = false } = options;
  const table = createResultTable(database);
  const leftOver = createPruner({ everyMs: HOUR_MS, prune: () => removeLeftOver().catch(() => {}) });

  async function sweep(): Promise<void> {
    for (const handle of await table.prune(limits.results_bytes)) {
      await fs.remove(`${directory}/${handle}`).catch(() => {});
    }
    await leftOver.written(1);
  }

  /** Files without a row: the database could not be written, was another one, or the writer was killed. */
  async function removeLeftOver(): Promise<void> {
    const oldest = Date.now() - limits.results_age;
    const old: string[] = [];
    for await (const { name } of fs.readDir(directory)) {
      const info = OURS.test(name) ? await fs.lstat(`${directory}/${name}`).catch(() => undefined) : undefined;
      if ((info?.mtime?.getTime() ?? Infinity) < oldest) old.push(name);
    }
    if (old.length === 0) return;
    const known = await table.handles();
    for (const name of old.filter((name) => !known.has(name))) {
      await fs.remove(`${directory}/${name}`).catch(() => {});
    }
  }

  async function note(row: ResultRow): Promise<void> {
    try {
      await table.put(row, limits.results_age);
      if (isShared && row.run !== undefined) {
        await table.putValue(row.handle, await fs.readTextFile(`${directory}/${row.handle}`));
      }
    } catch (error) {
      // A file without a row is found all the same, and removed once it is old enough.
      if (isNoDatabase(error)) return;
      throw error;
    }
    await sweep();
  }

  /** The tools of the newest handles, whose rows may not be written yet. */
  const tools = new Map<string, string>();
  const remember = (handle: string, tool: string) => {
    if (tool === "") return;
    tools.set(handle, tool);
    if (tools.size > MOST_REMEMBERED) tools.delete(tools.keys().next().value!);
  };

  /** Nobody waits for it. A file without a row is removed once it is old enough. */
  const register = (noted: ResultRow) => {
    remember(noted.handle, noted.tool);
    note(noted).catch(() => {});
  };

  return {
    directory,
    isSynced,
    register,
    async write({ handle, tool, json, run }) {
      await writeStored({ directory, handle, isSynced }, json);
      const noted = { handle, tool, bytes: json.length };
      remember(handle, tool);
      if (run === undefined) register(noted);
      else await note({ ...noted, run });
    },
    keepFor: async (run, handle) => await note({ handle, tool: "", bytes: 0, run }),
    async toolOf(handle) {
      const known = tools.get(handle);
      if (known !== undefined || !HANDLE.test(handle)) return known;
      const filed = await table.toolOf(handle).catch(() => undefined);
      if (filed !== undefined) return filed;
      return await fs.stat(`${directory}/${handle}`).then(() => "", () => undefined);
    },
    async read(handle, load = parseFile) {
      const gone = () =>
        new AgentCardsError("RESULT_GONE", `There is no stored result "${cut(handle, 40)}"`, {
          hint: "Stored results live for some days, the oldest go first when space is short. Call the tool again.",
        });
      if (!HANDLE.test(handle)) throw gone();
      try {
        return await load(`${directory}/${handle}`);
      } catch (error) {
        if (!fs.isNotFound(error)) throw error;
        const value = isShared ? await table.valueOf(handle) : undefined;
        if (value === undefined) throw gone();
        await writeStored({ directory, handle, isSynced }, value);
        return await load(`${directory}/${handle}`);
      }
    },
  };
}

async function parseFile(path: string): Promise<unknown> {
  return JSON.parse(await fs.readTextFile(path));
}

export interface SliceOptions {
  readonly path?: string;
  readonly offset?: number;
  readonly limit?: number;
}

/** A part of a stored value: below `path`, from `offset`, at most `limit` characters or items; all of it without. */
export function slice(value: unknown, { path = "", offset = 0, limit = Infinity }: SliceOptions): unknown {
  const found = at(value, path);
  return typeof found === "string" || Array.isArray(found) ? found.slice(offset, offset + limit) : found;
}

/** A part of a stored value as a reader gets it. */
export interface ReadPart {
  readonly text: string;
  /** Names the part that the text leaves out, and how to read it. */
  readonly note?: string;
}

/** As much of a part as fits into `room` characters: whole items of a list, characters of a text. */
export function readable(value: unknown, options: SliceOptions, room: number): ReadPart {
  const { path = "", offset = 0, limit = Infinity } = options;
  const found = at(value, path);
  if (typeof found === "string") {
    const text = found.slice(offset, offset + Math.min(limit, room));
    return { text, ...rest("characters", { offset, shown: text.length, of: found.length }) };
  }
  if (!Array.isArray(found)) return wholeOrOutline(found, options, room);
  const items: string[] = [];
  let length = 2;
  for (const item of found.slice(offset, offset + limit)) {
    const json = JSON.stringify(item);
    if (length + json.length + 1 > room) break;
    length += json.length + 1;
    items.push(json);
  }
  if (items.length === 0 && offset < found.length && limit > 0) {
    const json = JSON.stringify(found[offset]);
    const note =
      `(the first ${room} of ${json.length} characters of item ${offset} of ${found.length}; read parts of ` +
      `it with "path": ${JSON.stringify(`${path}[${offset}]`)}, the next with "offset": ${offset + 1})`;
    return { text: json.slice(0, room), note };
  }
  return { text: `[${items.join(",")}]`, ...rest("items", { offset, shown: items.length, of: found.length }) };
}

/** An object is given whole where it fits; else its outline, with how to read its parts. */
function wholeOrOutline(found: unknown, { path = "", offset, limit }: SliceOptions, room: number): ReadPart {
  const json = JSON.stringify(found);
  const keys = typeof found === "object" && found !== null ? Object.keys(found) : [];
  if (keys.length === 0) return { text: json };
  const isPart = offset !== undefined || limit !== undefined;
  if (json.length <= room && !isPart) return { text: json };
  const parts = keys.toSorted((a, b) => sizeOf(found, b) - sizeOf(found, a)).slice(0, 10)
    .map((key) => JSON.stringify(stepTo(path, key))).join(", ");
  const why = isPart
    ? `"offset" and "limit" are for lists and texts, and this is an object`
    : "it is too long for one answer";
  const more = keys.length > 10 ? `, and ${keys.length - 10} more` : "";
  return { text: shape(found), note: `(the outline only: ${why}; read a part with "path": ${parts}${more})` };
}

function sizeOf(value: unknown, key: string): number {
  return (JSON.stringify((value as Record<string, unknown>)[key]) ?? "").length;
}

/** Says which part of a list or text was read, unless it was all of it. */
function rest(what: string, { offset, shown, of }: { offset: number; shown: number; of: number }): { note?: string } {
  const end = offset + shown;
  if (shown === 0) return of === 0 ? {} : { note: `(nothing from offset ${offset} on: there are ${of} ${what})` };
  if (offset === 0 && end >= of) return {};
  const more = end < of ? `; "offset": ${end} reads on` : "";
  return { note: `(${what} ${offset} to ${end - 1} of ${of}${more})` };
}

function stepTo(path: string, key: string): string {
  return /^[A-Za-z_]\w*$/.test(key) ? `${path}${path && "."}${key}` : `${path}[${JSON.stringify(key)}]`;
}

/** The steps of `items[0].name` and `["odd key"]`. */
export function stepsOf(path: string): (string | number)[] {
  return [...path.matchAll(/\.?([^.[\]]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/g)].map(
    ([, dotted, index, quoted]) => index !== undefined ? Number(index) : dotted ?? unescaped(quoted!),
  );
}

function at(value: unknown, path: string): unknown {
  const steps = stepsOf(path);
  const found = follow(value, steps);
  if ("value" in found) return found.value;
  const step = cut(String(steps[found.missing]), 60);
  throw new AgentCardsError("INPUT_INVALID", `path: there is no "${step}" here; what is here ${cut(found.there, 400)}`);
}

function unescaped(quoted: string): string {
  try {
    return JSON.parse(`"${quoted}"`);
  } catch {
    return quoted;
  }
}
