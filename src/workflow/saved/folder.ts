import { messageOf, oneLine, sha256, toAgentCardsError } from "../../model/mod.ts";
import { fs } from "../../platform/start.ts";
import { log } from "../../telemetry/mod.ts";
import { parseWorkflowFile, type WorkflowFile } from "./file.ts";

/** A saved workflow: a file, under the name of the file. */
export interface SavedWorkflow extends WorkflowFile {
  readonly name: string;
  readonly path: string;
  /** The hash of the file's text. */
  readonly hash: string;
  readonly text: string;
}

/** A file that cannot be used, and why. */
export interface BrokenWorkflow {
  readonly name: string;
  readonly path: string;
  readonly problem: string;
}

export interface FolderContent {
  readonly workflows: readonly SavedWorkflow[];
  readonly broken: readonly BrokenWorkflow[];
}

const FILE = /^([A-Za-z0-9][\w-]{0,63})\.(?:ya?ml|json)$/;
const LARGEST_FILE = 1_000_000;
const MOST_FILES = 1_000;

type Entry = { readonly workflow: SavedWorkflow } | { readonly broken: BrokenWorkflow };

/** Reads the workflows of a folder; a file is parsed again when it has changed. */
export function createFolderReader(dir: string) {
  const known = new Map<string, { readonly stamp: string; readonly entry: Promise<Entry> }>();

  async function stampOf(path: string): Promise<{ stamp: string; size: number } | undefined> {
    try {
      const { mtime, ino, size, ctime, isFile } = await fs.stat(path);
      return isFile ? { stamp: `${mtime?.getTime()} ${ctime?.getTime()} ${ino} ${size}`, size } : undefined;
    } catch {
      return undefined;
    }
  }

  return {
    async read(): Promise<FolderContent> {
      const names = await namesIn(dir);
      for (const path of known.keys()) if (!names.includes(path)) known.delete(path);
      const entries = await Promise.all(names.map(async (path) => {
        const found = await stampOf(path);
        if (!found) return undefined;
        const before = known.get(path);
        if (before?.stamp === found.stamp) return await before.entry;
        const entry = entryOf(path, found.size);
        known.set(path, { stamp: found.stamp, entry });
        return await entry;
      }));
      const there = entries.filter((entry) => entry !== undefined);
      return {
        workflows: there.flatMap((entry) => "workflow" in entry ? [entry.workflow] : []),
        broken: there.flatMap((entry) => "broken" in entry ? [entry.broken] : []),
      };
    },
  };
}

async function namesIn(dir: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of fs.readDir(dir)) {
      if (FILE.test(name) && names.length < MOST_FILES) names.push(`${dir}/${name}`);
    }
  } catch (error) {
    if (!fs.isNotFound(error) && !fs.isNotADirectory(error)) {
      log("warning", "workflows_not_read", { folder: dir, reason: messageOf(error) });
    }
  }
  return names.sort();
}

async function entryOf(path: string, size: number): Promise<Entry> {
  const [, name] = FILE.exec(path.slice(path.lastIndexOf("/") + 1))!;
  try {
    if (size > LARGEST_FILE) throw new Error(`${path} is larger than ${LARGEST_FILE / 1_000_000} MB`);
    const text = await fs.readTextFile(path);
    const file = await parseWorkflowFile(text, path);
    return { workflow: { ...file, name: name!, path, text, hash: await sha256(text) } };
  } catch (error) {
    const { message, hint } = toAgentCardsError(error);
    const problem = oneLine(hint ? `${message}. ${hint}` : message, 1_000);
    log("warning", "workflow_not_usable", { path, reason: problem });
    return { broken: { name: name!, path, problem } };
  }
}
