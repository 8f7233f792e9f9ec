import { fs } from "../../platform/start.ts";

/** So many events wait for an engine; further ones are dropped, since a disk is not endless. */
const MOST_FILES = 20_000;
const COUNT_EVERY = 500;

/** Puts events into the folder of the home from which the next engine takes them. */
export interface Spool {
  /** Writes before it returns: the process may end in the next moment. */
  put(id: string, event: unknown): void;
}

export function createSpool(folder: string): Spool {
  let count = 0;
  let isFull = false;
  return {
    put(id, event) {
      if (count++ % COUNT_EVERY === 0) isFull = filesIn(folder) >= MOST_FILES;
      if (isFull) return;
      const path = `${folder}/serve-${id}`;
      try {
        fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
        fs.writeTextFileSync(`${path}.tmp`, JSON.stringify(event), { mode: 0o600 });
        fs.renameSync(`${path}.tmp`, `${path}.json`);
      } catch {
        // A client must not suffer from a home that cannot be written.
      }
    },
  };
}

function filesIn(folder: string): number {
  try {
    return [...fs.readDirSync(folder)].length;
  } catch {
    return 0;
  }
}
