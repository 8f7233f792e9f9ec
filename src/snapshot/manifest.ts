import { sha256 } from "../model/mod.ts";
import { replaceFile } from "../platform/mod.ts";
import { fs } from "../platform/start.ts";
import { join } from "node:path";

/** The content of a path: the bytes of a file by their blob, or the target of a link. */
export type Entry =
  | { readonly kind: "file"; readonly mode: number; readonly blob: string }
  | { readonly kind: "link"; readonly target: string };

export type Entries = ReadonlyMap<string, Entry>;

export function isSameEntry(one: Entry | undefined, other: Entry | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  if (one.kind === "link") return other.kind === "link" && one.target === other.target;
  return other.kind === "file" && one.blob === other.blob && one.mode === other.mode;
}

type Row = readonly [path: string, mode: number, blob: string] | readonly [path: string, target: string];

/** All files of a repository as one list, or the difference to such a list. */
type Stored =
  | { readonly rows: readonly Row[] }
  | { readonly base: string; readonly rows: readonly Row[]; readonly gone: readonly string[] };

/** Above this share of a repository's files a difference is no shorter than the whole. */
const LARGEST_DIFFERENCE = 0.1;

function rowOf([path, entry]: readonly [string, Entry]): Row {
  return entry.kind === "file" ? [path, entry.mode, entry.blob] : [path, entry.target];
}

function entryOf(row: Row): [string, Entry] {
  return row.length === 3
    ? [row[0], { kind: "file", mode: row[1], blob: row[2] }]
    : [row[0], { kind: "link", target: row[1] }];
}

/** The manifests of a repository: files named by their content, each the whole list or a difference to one that is. */
export function createManifests(folder: string) {
  let base: { readonly id: string; readonly entries: Entries } | undefined;
  const path = (id: string) => join(folder, `${id}.json`);

  async function write(stored: Stored): Promise<string> {
    const text = JSON.stringify(stored);
    const id = (await sha256(text)).slice(0, 32);
    if (!await has(id)) await replaceFile(path(id), text, { mode: 0o600 });
    return id;
  }

  async function has(id: string): Promise<boolean> {
    return await fs.lstat(path(id)).then(({ isFile }) => isFile, () => false);
  }

  async function read(id: string): Promise<Stored> {
    const text = await fs.readTextFile(path(id));
    if ((await sha256(text)).slice(0, 32) !== id) throw new Error(`${path(id)} is damaged`);
    return JSON.parse(text) as Stored;
  }

  return {
    has,
    /** Keeps a list of files; its name. */
    async put(entries: Entries): Promise<string> {
      if (base && await has(base.id)) {
        const { id, entries: old } = base;
        const changed = [...entries].filter(([name, entry]) => !isSameEntry(entry, old.get(name)));
        const gone = [...old.keys()].filter((name) => !entries.has(name));
        if (changed.length + gone.length === 0) return id;
        if (changed.length + gone.length <= LARGEST_DIFFERENCE * entries.size) {
          return await write({ base: id, rows: changed.map(rowOf), gone });
        }
      }
      const id = await write({ rows: [...entries].map(rowOf) });
      base = { id, entries };
      return id;
    },
    /** The list of a name; throws where its file is gone or damaged. */
    async get(id: string): Promise<Entries> {
      const stored = await read(id);
      if (!("base" in stored)) return new Map(stored.rows.map(entryOf));
      const first = await read(stored.base);
      const entries = new Map(first.rows.map(entryOf));
      for (const name of stored.gone) entries.delete(name);
      for (const row of stored.rows) entries.set(...entryOf(row));
      return entries;
    },
    /** The names that a manifest needs: its own, and that of the list it is the difference to. */
    async needs(id: string): Promise<string[]> {
      const stored = await read(id);
      return "base" in stored ? [id, stored.base] : [id];
    },
    /** The contents that a manifest itself names. */
    async blobs(id: string): Promise<string[]> {
      return (await read(id)).rows.flatMap((row) => row.length === 3 ? [row[2]] : []);
    },
  };
}

export type Manifests = ReturnType<typeof createManifests>;
