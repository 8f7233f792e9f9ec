import { type Home, loadConfig, locateHome } from "../config/mod.ts";
import { markRestored, type Task } from "../dag/mod.ts";
import {
  type Database,
  keptBackups,
  lockFolder,
  packBackup,
  requireBackup,
  restoreDatabase,
  takeLock,
  takePlace,
} from "../db/mod.ts";
import { AgentCardsError, type Tool, toolId } from "../model/mod.ts";
import { effectOf } from "../policy/mod.ts";
import { fs } from "../platform/start.ts";
import { isAbsolute, resolve } from "node:path";
import { ask } from "./ask.ts";
import { stopEngine } from "./engine.ts";
import { bytes, type Terminal } from "./screen/terminal.ts";

/** An engine whose lock was removed leaves within a second or two. */
const DATA_FREE_WITHIN_MS = 5_000;

/** `agentcards backup FILE` */
export async function backup(file: string, terminal: Terminal): Promise<number> {
  const path = isAbsolute(file) ? file : resolve(file);
  const exists = await fs.stat(path).then(() => true, () => false);
  if (exists) throw new AgentCardsError("USAGE", `${file} exists already`, { hint: "Choose another name." });
  const written = await ask({ method: "backup", params: { path } });
  terminal.out(`Wrote ${file} (${bytes(written.bytes)}).\n`);
  return 0;
}

/** `agentcards restore FILE | --latest`: the database of before is kept beside the new one. */
export async function restore(given: string | undefined, isLatest: boolean, terminal: Terminal): Promise<number> {
  const home = locateHome();
  const file = await chosen(home, given, isLatest);
  await requireBackup(file);
  await stopEngine({}, { ...terminal, out: () => {} });
  await using lock = await takeLock(home.lock);
  // The lock file alone can be removed under an engine that has the database open.
  const hasData = await fs.stat(home.data).then(() => true, () => false);
  await using dataLock = lock && hasData ? await lockFolder(home.data, { waitMs: DATA_FREE_WITHIN_MS }) : undefined;
  if (!lock || dataLock === null) {
    throw new AgentCardsError("ENGINE_BUSY", "Another engine started meanwhile", {
      hint: "Close your clients and try again.",
    });
  }
  const isActing = await actingTasks(home);
  let waiting = 0;
  const { kept } = await restoreDatabase({
    file,
    dataDir: home.data,
    results: home.results,
    backups: home.backups,
    async prepare(db) {
      waiting = await markRestored(db, await isActing(db));
      await takePlace(db, home.marker);
    },
  });
  terminal.out(`Restored ${file}.${kept ? ` The database of before is in ${kept}.` : ""}\n`);
  if (waiting > 0) {
    const [subject, object] = waiting === 1 ? ["One run was", "it"] : [`${waiting} runs were`, "them"];
    terminal.out(
      `${subject} not over when the backup was made; its calls since then are not known. ` +
        `\`agentcards runs\` lists ${object}; \`runs show ID\`, \`runs resolve ID\` and \`runs resume ID\` go on with ${object}.\n`,
    );
  }
  return 0;
}

async function chosen(home: Home, given: string | undefined, isLatest: boolean): Promise<string> {
  if ((given === undefined) !== isLatest) {
    throw new AgentCardsError("USAGE", "Say which backup: a FILE, or --latest for the newest that was made by itself");
  }
  if (given !== undefined) {
    if (await fs.stat(given).then(() => true, () => false)) return given;
    throw new AgentCardsError("USAGE", `There is no file ${given}`);
  }
  const [newest] = await keptBackups(home.backups);
  if (newest) return newest.path;
  throw new AgentCardsError("USAGE", `There is no daily backup in ${home.backups} yet`, {
    hint: "`agentcards restore FILE` takes a backup that you made yourself; " +
      "`agentcards database accept` uses a database as it is, without the rows that it lost.",
  });
}

/** Tells which tasks may act on the world, by the definitions that the backup has of their tools. */
async function actingTasks(home: Home): Promise<(db: Database) => Promise<(task: Task) => boolean>> {
  const policy = await loadConfig(home, home.dir).then(({ config }) => config.policy, () => undefined);
  return async (db) => {
    const rows = await db.query<{ server: string; name: string; definition: string }>(
      "select server, name, definition from tool_schema join server_catalogue using (fingerprint)",
    );
    const tools = new Map(rows.map(({ server, name, definition }) => {
      const id = toolId(server, name);
      return [id, { ...JSON.parse(definition), id, name } as Pick<Tool, "id" | "name" | "annotations">];
    }));
    return (task) => {
      const tool = task.type === "tool" ? tools.get(task.tool) : undefined;
      return !tool || !policy || effectOf(policy, tool) !== "read";
    };
  };
}

/** `agentcards database accept` */
export async function acceptDatabase(terminal: Terminal): Promise<number> {
  const { problem } = await ask({ method: "accept_database" });
  if (problem !== null) throw new AgentCardsError("DB_UNUSABLE", problem);
  terminal.out("The database is used as it is.\n");
  return 0;
}

/** `agentcards engine pack COPY FILE`, which the engine starts: makes one file of a copied database. */
export async function pack(copy: string, file: string): Promise<number> {
  await packBackup(copy, file);
  return 0;
}
