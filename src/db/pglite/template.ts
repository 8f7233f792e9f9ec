import { AgentCardsError, messageOf } from "../../model/mod.ts";
import { renameSynced, syncTree, SYSTEM_PATH, systemProgram } from "../../platform/mod.ts";
import { Command, fs, system } from "../../platform/start.ts";
import { brotliDecompress } from "node:zlib";
import { promisify } from "node:util";

/** An empty data directory of exactly the PGlite version in use: unpacking it takes 0.3 s, making one takes 4 s. */
export const TEMPLATE = new URL("./template.tar.br", import.meta.url);

/** Fills a new data directory from the template. It appears whole or not at all, after a power cut, too, if synced. */
export async function unpackTemplate(dataDir: string, { isSynced }: { isSynced: boolean }): Promise<void> {
  const draft = `${dataDir}.new`;
  try {
    // Whoever holds the lock may remove what a killed engine left behind.
    await fs.remove(draft, { recursive: true }).catch(() => {});
    await fs.mkdir(draft, { recursive: true, mode: 0o700 });
    const tar = await promisify(brotliDecompress)(await fs.readFile(TEMPLATE));
    const unpacking = new Command(systemProgram("tar"), {
      args: ["-x", "-C", draft],
      stdin: "piped",
      stdout: "null",
      stderr: "piped",
      clearEnv: true,
      env: { PATH: SYSTEM_PATH },
    }).spawn();
    // Read from the beginning: on a full disk `tar` has a word to say about every file, and would wait for a reader.
    const unpacked = unpacking.output();
    const writer = unpacking.stdin.getWriter();
    await writer.write(tar as Uint8Array<ArrayBuffer>).then(() => writer.close(), () => {});
    const { success, stderr } = await unpacked;
    if (!success) throw new Error(new TextDecoder().decode(stderr).trim().split("\n")[0]);
    // The archive says who may enter its own folder.
    if (system.os !== "windows") await fs.chmod(draft, 0o700);
    await fs.remove(dataDir).catch(() => {});
    if (isSynced) await syncTree(draft);
    await (isSynced ? renameSynced : fs.rename)(draft, dataDir);
  } catch (cause) {
    await fs.remove(draft, { recursive: true }).catch(() => {});
    throw new AgentCardsError("DB_UNUSABLE", `Cannot make the database in ${dataDir}: ${messageOf(cause)}`, {
      cause,
      hint: "Is there enough free space (50 MB), and is `tar` installed?",
    });
  }
}
