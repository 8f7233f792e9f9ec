import { AgentCardsError, oneLine } from "../../model/mod.ts";
import { fs } from "../../platform/start.ts";
import { glob } from "node:fs/promises";
import { isAbsolute, join } from "node:path";

const MOST_FILES = 10_000;

/** The files of a pattern, each with its cause: path, inode, size and time of change. */
export async function filesOf(pattern: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for await (const name of glob(pattern)) {
    const path = isAbsolute(name) ? name : join("/", name);
    const info = await fs.stat(path).catch(() => undefined);
    if (!info?.isFile) continue;
    if (found.size === MOST_FILES) {
      throw new AgentCardsError("INPUT_INVALID", `${oneLine(pattern, 200)} fits more than ${MOST_FILES} files`, {
        hint: "Choose a narrower pattern.",
      });
    }
    found.set(path, causeOfFile(path, info));
  }
  return found;
}

function causeOfFile(path: string, { ino, size, mtime }: { ino: number | null; size: number; mtime: Date | null }) {
  return `${FILE_PREFIX}${path} ${ino ?? 0} ${size} ${mtime?.getTime() ?? 0}`;
}

/** The beginning of the cause of every file. */
export const FILE_PREFIX = "file ";

/** The looks at the files of one trigger: a file counts once two looks in a row find it unchanged. */
export function createFileLook(pattern: string) {
  let before: ReadonlyMap<string, string> = new Map();
  return async (): Promise<
    { readonly settled: ReadonlyMap<string, string>; readonly all: ReadonlyMap<string, string> }
  > => {
    const all = await filesOf(pattern);
    const settled = new Map([...all].filter(([path, cause]) => before.get(path) === cause));
    before = all;
    return { settled, all };
  };
}
