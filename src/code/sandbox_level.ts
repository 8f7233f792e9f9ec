import { AgentCardsError, isObject, messageOf } from "../model/mod.ts";
import { readChecked, writeChecked } from "../platform/mod.ts";
import { type Available, availableLevel, type Level } from "../sandbox/mod.ts";
import { log } from "../telemetry/mod.ts";
import { fs } from "../platform/start.ts";

/** The level of the sandbox of this home. */
export interface SandboxReport {
  readonly level: number;
  readonly why: string;
  /** The way to a stronger level; null if there is none. */
  readonly stronger: string | null;
  /** Why no code runs, though a sandbox could be made; null where code runs. */
  readonly problem: string | null;
}

/** The strongest level that this home had, and the weakest that its user accepted since. */
interface LevelRecord {
  readonly strongest: number;
  readonly accepted?: number;
}

const STRONGEST: Level = 3;

export interface SandboxLevel {
  /** The level of this machine; rejects if it is weaker than before and was not accepted. */
  require(): Promise<Available>;
  report(): Promise<SandboxReport>;
  /** Lets code run at the level of now, and gives that level. */
  accept(): Promise<number>;
  /** The level of this machine, whatever the level was before. */
  available(): Promise<Available>;
}

/** Keeps the level of a home: it rises by itself, and falls only when the user accepts it. */
export function createSandboxLevel(path: string): SandboxLevel {
  let looking: Promise<Available> | undefined;
  const available = () => looking ??= availableLevel();

  async function look(): Promise<{ available: Available; problem: string | null }> {
    const found = await available();
    const record = await readRecord(path);
    const { strongest, accepted = strongest } = record ?? { strongest: found.level };
    if (found.level < Math.min(strongest, accepted)) {
      // The cause may be gone by the next call.
      looking = undefined;
      return {
        available: found,
        problem: `The sandbox is of level ${found.level} (${found.why}); it was ${strongest}`,
      };
    }
    if (!record || found.level > strongest) await write(path, { ...record, strongest: found.level });
    return { available: found, problem: null };
  }

  return {
    available,
    async require() {
      const { available: found, problem } = await look();
      if (problem === null) return found;
      throw new AgentCardsError("SANDBOX_TOO_WEAK", `${problem}. No code runs until this is solved`, {
        hint: [
          ...found.stronger ? [`For a stronger one: ${found.stronger}.`] : [],
          `To run code at level ${found.level}, the user runs \`agentcards sandbox accept\`.`,
        ].join(" "),
      });
    },
    async report() {
      const { available: { level, why, stronger = null }, problem } = await look();
      return { level, why, stronger, problem };
    },
    async accept() {
      looking = undefined;
      const { level } = await available();
      const { strongest } = await readRecord(path) ?? { strongest: level };
      await writeChecked(
        path,
        JSON.stringify({ strongest: Math.max(strongest, level), accepted: level } satisfies LevelRecord),
      );
      return level;
    },
  };
}

async function readRecord(path: string): Promise<LevelRecord | undefined> {
  const value = await readChecked(path);
  if (!isObject(value) || !Number.isInteger(value.strongest)) {
    // A damaged record may have been of any level: the user is asked at all but the strongest.
    return await fs.lstat(path).then(() => ({ strongest: STRONGEST }), () => undefined);
  }
  const { strongest, accepted } = value as unknown as LevelRecord;
  return { strongest, ...Number.isInteger(accepted) && { accepted: accepted! } };
}

async function write(path: string, record: LevelRecord): Promise<void> {
  // A full disk is no reason to run no code at the level that works.
  await writeChecked(path, JSON.stringify(record)).catch((error) =>
    log("warning", "sandbox_level_not_written", { reason: messageOf(error) })
  );
}
