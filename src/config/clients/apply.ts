import { canonicalJson } from "../../model/mod.ts";
import { fs } from "../../platform/start.ts";
import { replaceFile } from "../write.ts";
import { dirname } from "node:path";
import { type Backup, bytesOf, hashOf, originalPath, record } from "./backup.ts";
import { parseFile } from "./parse.ts";
import { entryAt, type FileEdit, newlyAllowed, reverse, rewrite } from "./rewrite.ts";

const decode = (bytes: Uint8Array) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

/** Makes the backed-up change in the file itself. The client may have written to it since: its newest text counts. */
export async function applyChange(backup: Backup): Promise<Backup> {
  const { path, before, edit } = backup.manifest;
  const bytes = await bytesOf(path, backup.manifest.isNew);
  const isSame = await hashOf(bytes) === before;
  const current = isSame ? edit as FileEdit : stillTrue(edit as FileEdit, parseFile(decode(bytes), edit.format));
  if (!isSame) await replaceFile(originalPath(backup), bytes, 0o600);
  const after = new TextEncoder().encode(rewrite(decode(bytes), current));
  // Recorded first: a crash after the rename must still find the hash.
  const recorded = await record(backup, {
    before: isSame ? before : await hashOf(bytes),
    after: await hashOf(after),
    edit: structuredClone(current) as Backup["manifest"]["edit"],
  });
  if (backup.manifest.isNew) await fs.mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(path, after, backup.manifest.isNew ? 0o600 : undefined);
  return recorded;
}

/** The edit without the entries that were changed since they were read: those are not ours to remove. */
export function stillTrue(edit: FileEdit, now: unknown): FileEdit {
  return {
    ...edit,
    remove: edit.remove.filter((item) => canonicalJson(entryAt(now, item)) === canonicalJson(item.entry)),
    allow: edit.allow && newlyAllowed(now, edit.allow),
  };
}

/** What became of a file. */
export type Undone = "restored" | "edited" | "gone" | "nothing";

/** What taking the change back would mean for the file as it is now. */
export async function lookBack({ manifest }: Backup): Promise<Undone> {
  const bytes = await fs.readFile(manifest.path).catch(() => undefined);
  if (!bytes) return manifest.isNew ? "nothing" : "gone";
  const hash = await hashOf(bytes);
  if (hash === manifest.after) return "restored";
  if (hash === manifest.before) return "nothing";
  const edit = reverse(manifest.edit as FileEdit, parseFile(decode(bytes), manifest.edit.format));
  return edit.remove.length + edit.add.length + (edit.disallow?.length ?? 0) > 0 ? "edited" : "nothing";
}

/** Takes the change back: byte for byte when nobody touched the file since, else only what was ours. */
export async function takeBack(backup: Backup): Promise<Undone> {
  const { manifest } = backup;
  const what = await lookBack(backup);
  if (what === "restored" && manifest.isNew) await fs.remove(manifest.path);
  else if (what === "restored") {
    await replaceFile(manifest.path, await fs.readFile(originalPath(backup)), manifest.mode ?? undefined);
  } else if (what === "edited") {
    const text = decode(await fs.readFile(manifest.path));
    const edit = reverse(manifest.edit as FileEdit, parseFile(text, manifest.edit.format));
    await replaceFile(manifest.path, new TextEncoder().encode(rewrite(text, edit)));
  }
  return what;
}
