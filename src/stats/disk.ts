import { statfs } from "node:fs/promises";

/** The space of a file system for whoever uses a home. */
export interface DiskReport {
  readonly free_bytes: number;
  readonly problem: string | null;
}

/** Below this a database cannot be opened anew, and rows of the audit may fail soon. */
const LEAST_BYTES = 256 * 1024 * 1024;

/** The free space where a folder lies; null where the system does not tell. */
export async function diskOf(folder: string): Promise<DiskReport | null> {
  const found = await statfs(folder).catch(() => undefined);
  return found ? reportOf(found.bavail * found.bsize, folder) : null;
}

export function reportOf(free_bytes: number, folder: string): DiskReport {
  const isEnough = free_bytes >= LEAST_BYTES;
  const free = Math.round(free_bytes / 1024 / 1024);
  const problem = `${free} MB are free for ${folder}: free some space, or calls that act are refused soon`;
  return { free_bytes, problem: isEnough ? null : problem };
}
