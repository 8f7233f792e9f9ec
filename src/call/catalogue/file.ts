import { type Era, isEra } from "../../mcp/mod.ts";
import { type Catalogue, isObject, messageOf } from "../../model/mod.ts";
import { readChecked, writeChecked } from "../../platform/mod.ts";
import { log } from "../../telemetry/mod.ts";

/** The entry of one server in the file. */
export interface FiledCatalogue {
  readonly catalogue: Catalogue;
  readonly era?: Era;
  /** The time at which the era was seen, in milliseconds since 1970. */
  readonly eraAt?: number;
  readonly startMs?: number;
}

/** A copy of all known catalogues in a file, so that calls and search need no database. */
export interface CatalogueFile {
  get(key: string): Promise<FiledCatalogue | undefined>;
  /** Replaces an entry; without one it is removed. */
  put(key: string, entry: FiledCatalogue | undefined): Promise<void>;
  /** Waits until all that was put is on the disk. */
  settled(): Promise<void>;
  /** True until the first entry: then the database may know more. */
  isEmpty(): Promise<boolean>;
}

const MOST_ENTRIES = 300;
/** The file is written whole with every change: in characters of JSON, the most of one entry and of all together. */
const LARGEST_ENTRY = 1_048_576;
const MOST_TOGETHER = 16 * 1_048_576;

interface Filed {
  readonly entry: FiledCatalogue;
  /** Kept, so that a change costs the writing of one entry. */
  readonly json: string;
}

export function openCatalogueFile(path: string): CatalogueFile {
  const entries = read(path);
  let writing: Promise<void> | undefined;
  let isDirty = false;

  async function write(): Promise<void> {
    while (isDirty) {
      isDirty = false;
      const parts = [...await entries].map(([key, { json }]) => `[${JSON.stringify(key)},${json}]`);
      await writeChecked(path, `[${parts.join(",")}]`);
    }
  }

  return {
    get: async (key) => (await entries).get(key)?.entry,
    isEmpty: async () => (await entries).size === 0,
    settled: async () => await writing,
    async put(key, entry) {
      const known = await entries;
      known.delete(key);
      const json = JSON.stringify(entry);
      if (entry && json.length <= LARGEST_ENTRY) known.set(key, { entry, json });
      let together = known.values().reduce((sum, filed) => sum + filed.json.length, 0);
      for (const [oldest, filed] of known) {
        if (known.size <= MOST_ENTRIES && together <= MOST_TOGETHER) break;
        together -= filed.json.length;
        known.delete(oldest);
      }
      isDirty = true;
      writing ??= write().catch((error) => log("warning", "catalogue_not_filed", { reason: messageOf(error) }))
        .finally(() => writing = undefined);
      await writing;
    },
  };
}

async function read(path: string): Promise<Map<string, Filed>> {
  const value = await readChecked(path);
  const pairs = Array.isArray(value) ? value.filter(isPair) : [];
  return new Map(pairs.map(([key, entry]) => [key, { entry, json: JSON.stringify(entry) }]));
}

/** The checksum says that the file is ours; its form may be that of another version. */
function isPair(value: unknown): value is [string, FiledCatalogue] {
  if (!Array.isArray(value) || typeof value[0] !== "string" || !isObject(value[1])) return false;
  const { catalogue, era } = value[1];
  return isObject(catalogue) && Array.isArray(catalogue.tools) && Array.isArray(catalogue.dropped) &&
    Array.isArray(catalogue.repaired) && (era === undefined || isEra(era));
}
