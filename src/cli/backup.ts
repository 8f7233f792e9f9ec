import { createCatalogueTables } from "../call/mod.ts";
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
  writtenSince,
} from "../db/mod.ts";
import { AgentCardsError, toolId } from "../model/mod.ts";
import { effectOf } from "../policy/mod.ts";
import { fs } from "../platform/start.ts";
import { isAbsolute, resolve } from "node:path";
import { stopTriggers } from "../workflow/mod.ts";
import { ask } from "./ask.ts";
import { stopEngine } from "./engine.ts";
import { confirm } from "./prompts/confirm.ts";
import { backupOfBefore } from "./restore_before.ts";
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

export interface RestoreCommand {
  /** The newest of the backups that are made by themselves. */
  readonly latest?: boolean;
  /** The one that was made before this version changed the database. */
  readonly before?: string;
  readonly yes?: boolean;
}

/** `agentcards restore FILE | --latest | --before VERSION`: the database of now is kept. */
export async function restore(given: string | undefined, options: RestoreCommand, terminal: Terminal): Promise<number> {
  const home = locateHome();
  const file = await chosen(home, given, options);
  await requireBackup(file);
  await stopEngine({}, { ...terminal, out: () => {} });
  await using lock = await takeLock(home.lock);
  // Before the folder's own lock is taken, which whoever opens the database takes, too.
  if (lock && options.before !== undefined && !await isAccepted(home, file, options, terminal)) return 1;
  // The lock file alone can be removed under an engine that has the database open.
  const hasData = await fs.stat(home.data).then(() => true, () => false);
  await using dataLock = lock && hasData ? await lockFolder(home.data, { waitMs: DATA_FREE_WITHIN_MS }) : undefined;
  if (!lock || dataLock === null) {
    throw new AgentCardsError("ENGINE_BUSY", "Another engine started meanwhile", {
      hint: "Close your clients and try again.",
    });
  }
  const isActing = await actingTasks(home);
  let [waiting, stopped] = [0, 0];
  const { kept } = await restoreDatabase({
    file,
    dataDir: home.data,
    results: home.results,
    backups: home.backups,
    async prepare(db) {
      waiting = await markRestored(db, await isActing(db));
      stopped = await stopTriggers(db);
      await takePlace(db, home.marker);
    },
  });
  terminal.out(`Restored ${file}.${kept ? ` The database of before is in ${kept}.` : ""}\n`);
  if (stopped > 0) terminal.out("Workflows that started by themselves are off: `agentcards triggers` lists them.\n");
  if (waiting > 0) {
    const [subject, object] = waiting === 1 ? ["One run was", "it"] : [`${waiting} runs were`, "them"];
    terminal.out(
      `${subject} not over when the backup was made; its calls since then are not known. ` +
        `\`agentcards runs\` lists ${object}; \`runs show ID\`, \`runs resolve ID\` and \`runs resume ID\` go on with ${object}.\n`,
    );
  }
  return 0;
}

/** Tells what would be lost, and asks. */
async function isAccepted(home: Home, file: string, { yes }: RestoreCommand, terminal: Terminal): Promise<boolean> {
  const { mtime } = await fs.stat(file);
  const lost = await writtenSince(home.data, mtime!.getTime());
  const what = lost.length > 0
    ? `What was written since then is not in it:\n${lost.map((line) => `  ${line}\n`).join("")}`
    : "Nothing was written since then.\n";
  terminal.out(`The backup is of ${mtime!.toISOString()}. ${what}The database of now is kept in ${home.backups}.\n`);
  if (yes) return true;
  if (!terminal.isTerminal) {
    terminal.err("Nothing was changed. Say --yes to go on.\n");
    return false;
  }
  return await confirm("Go on?");
}

async function chosen(home: Home, given: string | undefined, { latest, before }: RestoreCommand): Promise<string> {
  if ([given !== undefined, latest === true, before !== undefined].filter(Boolean).length !== 1) {
    throw new AgentCardsError(
      "USAGE",
      "Say which backup: a FILE, --latest for the newest that was made by itself, or --before VERSION",
    );
  }
  if (before !== undefined) return (await backupOfBefore(home.backups, before)).path;
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
  const policy = await loadConfig(home, home.dir, { viewer: "user" }).then(
    ({ config }) => config.policy,
    () => undefined,
  );
  return async (db) => {
    const definitions = await createCatalogueTables(db).definitions();
    const tools = new Map(definitions.map((tool) => {
      const id = toolId(tool.server, tool.name);
      return [id, { ...tool, id }];
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
