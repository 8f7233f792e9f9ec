import { type Era, isEra } from "../mcp/upstream.ts";
import { messageOf } from "../model/errors.ts";
import { isObject } from "../model/json.ts";
import type { Catalogue } from "../model/tool.ts";
import { readChecked, writeChecked } from "../platform/files.ts";
import { log } from "../telemetry/log.ts";

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
  put(key: string, entry: FiledCatalogue): Promise<void>;
  /** Waits until all that was put is on the disk. */
  settled(): Promise<void>;
  /** True until the first entry: then the database may know more. */
  isEmpty(): Promise<boolean>;
}

const MOST_ENTRIES = 300;

export function openCatalogueFile(path: string): CatalogueFile {
  const entries = read(path);
  let writing: Promise<void> | undefined;
  let isDirty = false;

  async function write(): Promise<void> {
    while (isDirty) {
      isDirty = false;
      await writeChecked(path, [...await entries]);
    }
  }

  return {
    get: async (key) => (await entries).get(key),
    isEmpty: async () => (await entries).size === 0,
    settled: async () => await writing,
    async put(key, entry) {
      const known = await entries;
      known.delete(key);
      known.set(key, entry);
      if (known.size > MOST_ENTRIES) known.delete(known.keys().next().value!);
      isDirty = true;
      writing ??= write().catch((error) => log("warning", "catalogue_not_filed", { reason: messageOf(error) }))
        .finally(() => writing = undefined);
      await writing;
    },
  };
}

async function read(path: string): Promise<Map<string, FiledCatalogue>> {
  const value = await readChecked(path);
  const pairs = Array.isArray(value) ? value.filter(isPair) : [];
  return new Map(pairs);
}

/** The checksum says that the file is ours; its form may be that of another version. */
function isPair(value: unknown): value is [string, FiledCatalogue] {
  if (!Array.isArray(value) || typeof value[0] !== "string" || !isObject(value[1])) return false;
  const { catalogue, era } = value[1];
  return isObject(catalogue) && Array.isArray(catalogue.tools) && Array.isArray(catalogue.dropped) &&
    Array.isArray(catalogue.repaired) && (era === undefined || isEra(era));
}
