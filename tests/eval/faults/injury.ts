// One drawn injury to the files of a home.
import type { Random } from "../../model/random.ts";
import { filesUnder, must } from "./disk.ts";
import type { FaultHome } from "./home.ts";
import { pick } from "./kind.ts";

const PAGE = 8_192;
const RECENT_MS = 3_600_000;

type FileInjury = (path: string, random: Random) => void;

const OF_FILES: Readonly<Record<string, FileInjury>> = {
  deleted: (path) => Deno.removeSync(path),
  emptied: (path) => Deno.truncateSync(path, 0),
  truncated: (path, random) => Deno.truncateSync(path, random.below(Deno.statSync(path).size)),
  "a page zeroed": (path, random) =>
    change(path, (bytes) => {
      const from = PAGE * random.below(Math.ceil(usedOf(bytes) / PAGE));
      bytes.fill(0, from, from + PAGE);
    }),
  "bytes flipped": (path, random) =>
    change(path, (bytes) => {
      for (let n = 1 + random.below(64); n > 0; n--) bytes[random.below(usedOf(bytes))]! ^= 1 + random.below(255);
    }),
};

const OF_FOLDERS: Readonly<Record<string, (path: string) => void>> = {
  deleted: (path) => Deno.removeSync(path, { recursive: true }),
  emptied: (path) => {
    for (const { name } of Deno.readDirSync(path)) Deno.removeSync(`${path}/${name}`, { recursive: true });
  },
  "replaced by a file": (path) => {
    Deno.removeSync(path, { recursive: true });
    Deno.writeTextFileSync(path, "not a folder");
  },
  // Root may read everything: for root a loop of links is what no permission is for others.
  unreadable: (path) => {
    if (Deno.uid() !== 0) return Deno.chmodSync(path, 0);
    Deno.removeSync(path, { recursive: true });
    Deno.symlinkSync(path, path);
  },
};

/** The length without the zeros at the end: most of a WAL segment is not written yet, and an injury there is none. */
function usedOf(bytes: Uint8Array): number {
  return Math.max(1, bytes.findLastIndex((byte) => byte !== 0) + 1);
}

function change(path: string, edit: (bytes: Uint8Array) => void): void {
  const bytes = Deno.readFileSync(path);
  edit(bytes);
  Deno.writeFileSync(path, bytes);
}

export interface Injuring {
  readonly random: Random;
  /** An older copy of the data folder. */
  readonly yesterday: string;
}

/** Injures a home and says what was done, as `INJURY of PLACE`. */
export async function injure(home: FaultHome, { random, yesterday }: Injuring): Promise<string> {
  const data = `${home.dir}/data`;
  const draw = random.below(20);
  if (draw === 0) {
    await Deno.remove(data, { recursive: true });
    await must("cp", "-a", yesterday, data);
    return "copy of yesterday of data";
  }
  if (draw < 5) {
    const place = pick(random, [
      "data",
      "data",
      "data/pg_wal",
      "data/pg_xact",
      "data/base",
      "data/base/5",
      "data/global",
    ]);
    const how = pick(random, Object.keys(OF_FOLDERS));
    OF_FOLDERS[how]!(`${home.dir}/${place}`);
    return `folder ${how} of ${place}`;
  }
  const path = pick(random, draw < 7 ? besideData(home) : filesOf(data, random));
  const how = pick(random, (await Deno.stat(path)).size > 0 ? Object.keys(OF_FILES) : ["deleted"]);
  OF_FILES[how]!(path, random);
  return `file ${how} of ${path.slice(home.dir.length + 1)}`;
}

/** The small files beside the database that the product keeps its own notes in. */
function besideData({ dir }: FaultHome): string[] {
  const names = [...Deno.readDirSync(dir)].filter(({ name, isFile }) => isFile && /\.(marker|json)/.test(name));
  return names.length > 0 ? names.map(({ name }) => `${dir}/${name}`) : [`${dir}/data/PG_VERSION`];
}

/** A group of database files: one that matters by itself, or those that were written to lately. */
function filesOf(data: string, random: Random): string[] {
  const inFolder = (name: string) => [...filesUnder(`${data}/${name}`)];
  const groups: (() => string[])[] = [
    () => [`${data}/global/pg_control`],
    () => [`${data}/PG_VERSION`],
    () => inFolder("pg_wal"),
    () => inFolder("pg_wal"),
    () => inFolder("pg_xact"),
    () => inFolder("global"),
    () => [`${data}/base/5/pg_filenode.map`],
    () => recent(inFolder("base")),
    () => recent(inFolder("base")),
    () => inFolder("base/5"),
  ];
  const found = pick(random, groups)();
  return found.length > 0 ? found : [`${data}/global/pg_control`];
}

function recent(files: readonly string[]): string[] {
  return files.filter((path) => {
    const { mtime, size } = Deno.statSync(path);
    return size > 0 && Date.now() - (mtime?.getTime() ?? 0) < RECENT_MS;
  });
}
