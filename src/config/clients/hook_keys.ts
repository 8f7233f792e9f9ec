import { timingSafeEqual } from "node:crypto";
import { isObject } from "../../model/mod.ts";
import { readChecked, writeChecked } from "../../platform/mod.ts";
import { fs } from "../../platform/start.ts";

/** One place in a client's file that hooks were written into, with all that takes them out again. */
export interface HookInstall {
  readonly client: string;
  readonly path: string;
  /** The bytes of the file before, in base64; null where there was none. */
  readonly before: string | null;
  readonly mode: number | null;
  /** The hash of the file as it was written. */
  readonly after: string;
  /** The pieces of text that were put in, each with the text that they took the place of. */
  readonly edits: readonly { readonly put: string; readonly was: string }[];
}

/** The key of a home's hooks, and the files that it was written into. */
export interface HookKeys {
  readonly key: string;
  readonly installs: readonly HookInstall[];
}

export async function readHookKeys(path: string): Promise<HookKeys | undefined> {
  const value = await readChecked(path);
  return isObject(value) && typeof value.key === "string" && Array.isArray(value.installs)
    ? value as unknown as HookKeys
    : undefined;
}

export async function writeHookKeys(path: string, keys: HookKeys): Promise<void> {
  await writeChecked(path, JSON.stringify(keys));
}

export function newHookKey(): string {
  return crypto.getRandomValues(new Uint8Array(24)).toHex();
}

/** Tells whether a text is the key of a home; the file is read again when it was changed. */
export function hookKeyCheck(path: string): (given: unknown) => Promise<boolean> {
  let [stamp, key] = ["", ""];
  return async (given) => {
    const info = await fs.stat(path).catch(() => undefined);
    const now = info ? `${info.ino} ${info.size} ${info.mtime?.getTime()}` : "";
    if (now !== stamp) [stamp, key] = [now, now === "" ? "" : (await readHookKeys(path))?.key ?? ""];
    if (key === "" || typeof given !== "string") return false;
    const [left, right] = [key, given].map((text) => new TextEncoder().encode(text)) as [Uint8Array, Uint8Array];
    return left.length === right.length && timingSafeEqual(left, right);
  };
}
