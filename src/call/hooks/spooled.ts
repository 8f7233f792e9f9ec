import { isObject, messageOf } from "../../model/mod.ts";
import { fs, unrefTimer } from "../../platform/start.ts";
import { log } from "../../telemetry/mod.ts";
import { readHookEvent } from "./hook_event.ts";
import type { HookLog } from "./hook_log.ts";

export interface SpoolOptions {
  readonly folder: string;
  readonly hooks: HookLog;
  isKey(given: unknown): Promise<boolean>;
  /** Takes secrets and personal data out of a text. */
  clean(text: string): string;
}

/** Takes up events that lie in the folder. */
export interface SpoolReader extends Disposable {
  /** Looks at the folder from now on, where there is one. */
  start(): Promise<void>;
  /** Takes up the files that are there. */
  look(): Promise<void>;
}

const LOOK_EVERY_MS = 1_000;
const AT_ONCE = 200;
const LARGEST = 1024 * 1024;
/** A file that is being written, or was left half written by a process that ended. */
const DRAFT = /\.tmp$/;
const DRAFT_AGE_MS = 3_600_000;
const FILE = /^([a-z][a-z-]{0,31})-([\w-]{1,64})\.json$/;

/**
 * Moves events from files into rows. `serve` writes files while there is no engine, with the key that the hook sent; the
 * commands of hooks write the others. Neither counts as the user's word: any program of the user can write a file.
 */
export function createSpoolReader({ folder, hooks, isKey, clean }: SpoolOptions): SpoolReader {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let looking: Promise<void> | undefined;
  let isOver = false;

  async function look(): Promise<void> {
    const names: string[] = [];
    for await (const { name, isFile } of fs.readDir(folder)) {
      if (DRAFT.test(name)) await removeOld(`${folder}/${name}`);
      else if (isFile) names.push(name);
    }
    names.sort();
    for (let i = 0; i < names.length && !isOver; i += AT_ONCE) {
      await Promise.all(names.slice(i, i + AT_ONCE).map(takeUp));
    }
  }

  async function takeUp(name: string): Promise<void> {
    const path = `${folder}/${name}`;
    const event = await read(path, name).catch((error) => {
      log("warning", "hook_file_refused", { file: name, reason: messageOf(error) });
    });
    // Where the row cannot be written, the next look finds the file again.
    const isDone = !event || await hooks.record(event).then(() => true, () => false);
    if (isDone) await fs.remove(path).catch(() => {});
  }

  async function read(path: string, name: string) {
    const [, source, number] = FILE.exec(name) ?? [];
    const { size, mtime } = await fs.lstat(path);
    if (source === undefined || size > LARGEST) throw new Error("it is no event of a hook, or larger than 1 MB");
    const text = await fs.readTextFile(path);
    const at = mtime?.getTime() ?? Date.now();
    const told = { id: `${source}-${number}`, at, isDirect: false, clean };
    if (source !== "serve") return readHookEvent(parsed(text), { ...told, client: source });
    const value = parsed(text);
    if (!isObject(value) || !isObject(value.hook) || !await isKey(value.hook.key)) return undefined;
    const { id = number, hook } = value;
    const client = typeof hook.client === "string" ? hook.client : "";
    return readHookEvent(hook, { ...told, id: String(id), client, at: timeOf(value.at) ?? at });
  }

  function next(): void {
    timer = setTimeout(async () => {
      looking = look().catch((error) => {
        if (!fs.isNotFound(error)) log("warning", "hook_folder_not_read", { reason: messageOf(error) });
      });
      await looking;
      if (!isOver) next();
    }, LOOK_EVERY_MS);
    unrefTimer(timer as unknown as number);
  }

  return {
    async start() {
      if (timer !== undefined || isOver || !await fs.stat(folder).catch(() => undefined)) return;
      if (timer === undefined && !isOver) next();
    },
    look,
    [Symbol.dispose]() {
      isOver = true;
      clearTimeout(timer);
    },
  };
}

/** A client cut off by the limit of its command leaves half an object: nothing of it can be used. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A time that a client may say: not in the future, not older than a month. */
function timeOf(value: unknown): number | undefined {
  const now = Date.now();
  return typeof value === "number" && value <= now && value > now - 30 * 86_400_000 ? value : undefined;
}

async function removeOld(path: string): Promise<void> {
  const info = await fs.stat(path).catch(() => undefined);
  if (info && Date.now() - (info.mtime?.getTime() ?? 0) > DRAFT_AGE_MS) await fs.remove(path).catch(() => {});
}
