import { isAbsolute, join, resolve } from "node:path";
import { locateHome } from "../config/home.ts";
import { takeLock } from "../db/lock.ts";
import { openDatabase } from "../db/pglite.ts";
import { RESTORED } from "../gateway/workflow_resting.ts";
import { AgentCardsError, messageOf } from "../model/errors.ts";
import { ask } from "./ask.ts";
import { stopEngine } from "./engine.ts";
import { bytes, type Terminal } from "./terminal.ts";

/** `agentcards backup FILE` */
export async function backup(file: string, terminal: Terminal): Promise<number> {
  const path = isAbsolute(file) ? file : resolve(file);
  const exists = await Deno.stat(path).then(() => true, () => false);
  if (exists) throw new AgentCardsError("USAGE", `${file} exists already`, { hint: "Choose another name." });
  const written = await ask<{ bytes: number }>({ method: "backup", params: { path } });
  terminal.out(`Wrote ${file} (${bytes(written.bytes)}).\n`);
  return 0;
}

/** `agentcards restore FILE`: the database of before is kept beside the new one. */
export async function restore(file: string, terminal: Terminal): Promise<number> {
  const home = locateHome();
  const dump = await Deno.readFile(file).catch((cause) => {
    throw new AgentCardsError("USAGE", `Cannot read ${file}: ${messageOf(cause)}`, { cause });
  });
  await requireBackup(file, dump);
  await stopEngine({}, { ...terminal, out: () => {} });
  await using lock = await takeLock(home.lock);
  if (!lock) {
    throw new AgentCardsError("ENGINE_BUSY", "Another engine started meanwhile", {
      hint: "Close your clients and try again.",
    });
  }
  const draft = `${home.data}.${crypto.randomUUID()}.tmp`;
  try {
    // Opened and migrated before it replaces anything: a file that is no backup changes nothing.
    const db = await openDatabase(draft, { dump });
    // A run of then may have gone on since: whoever goes on with it now must decide to.
    await db.query("update workflow_run set fingerprint = $1 where status = 'running'", [RESTORED]);
    await db.close();
  } catch (cause) {
    await Deno.remove(draft, { recursive: true }).catch(() => {});
    throw new AgentCardsError("DB_UNUSABLE", `${file} is not a usable backup`, { cause, hint: "Nothing was changed." });
  }
  const kept = join(home.backups, `data-${new Date().toISOString().replace(/[:.]/g, "-")}`);
  const had = await Deno.rename(home.data, kept).then(() => true, () => false);
  await Deno.rename(draft, home.data);
  terminal.out(`Restored ${file}.${had ? ` The database of before is in ${kept}.` : ""}\n`);
  return 0;
}

/** A backup is a gzipped tar; anything else is refused before anything is stopped or touched. */
async function requireBackup(file: string, dump: Uint8Array): Promise<void> {
  const unpacked = new Response(
    new Blob([dump as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new DecompressionStream("gzip")),
  );
  const tar = await unpacked.bytes().catch(() => new Uint8Array());
  if (new TextDecoder().decode(tar.subarray(257, 262)) === "ustar") return;
  throw new AgentCardsError("DB_UNUSABLE", `${file} is not a usable backup`, { hint: "Nothing was changed." });
}
