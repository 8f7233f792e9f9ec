import { type Home, locateHome } from "../config/mod.ts";
import { findHolder, hasOpen, type LockHolder, lockHolder } from "../db/mod.ts";
import { AgentCardsError, messageOf } from "../model/mod.ts";
import { fs, type Signal, system } from "../platform/start.ts";
import { ask } from "./ask.ts";
import type { Terminal } from "./screen/terminal.ts";

/** An engine gives itself 3 s to close; together with the rest of this command it is 5. */
const CLOSES_WITHIN_MS = 3_800;
const DIES_WITHIN_MS = 800;
const LOOK_EVERY_MS = 20;

/** `agentcards engine stop [--force]` */
export async function stopEngine(options: { force?: boolean }, terminal: Terminal): Promise<number> {
  const home = locateHome();
  const holder = await findHolder(home.lock);
  if (!holder) {
    terminal.out("The engine is not running.\n");
    return 0;
  }
  const { pid } = holder;
  await requireOurs(home, holder, options.force === true);
  const isClosed = !options.force && (signal(pid, "SIGTERM"), await isGone(home, pid, CLOSES_WITHIN_MS));
  if (!isClosed) {
    // The lock is the truth: by now the number may belong to somebody else.
    if (await lockHolder(home.lock) === pid) signal(pid, "SIGKILL");
    if (!await isGone(home, pid, DIES_WITHIN_MS)) {
      throw new AgentCardsError("ENGINE_BUSY", `The engine (process ${pid}) does not end, though it was killed`, {
        hint: "The system keeps it, most likely for a disk that does not answer. See `ps`, and try again later.",
      });
    }
  }
  terminal.out(
    isClosed || options.force
      ? `Stopped the engine (process ${pid}).\n`
      : `Killed the engine (process ${pid}): it did not close within ${
        CLOSES_WITHIN_MS / 1_000
      } s. Its journal is whole.\n`,
  );
  return 0;
}

/** `agentcards engine restart` */
export async function restartEngine(terminal: Terminal): Promise<number> {
  await stopEngine({}, terminal);
  const { pid } = await ask({ method: "status" });
  terminal.out(`Started a new one (process ${pid}).\n`);
  return 0;
}

/** A signal goes to a process of this machine that holds the lock, and unforced to an engine only. */
async function requireOurs(home: Home, { pid, isAlone }: LockHolder, isForced: boolean): Promise<void> {
  if (await hasOpen(pid, home.lock) === false) {
    throw new AgentCardsError("ENGINE_BUSY", `Process ${pid}, which holds ${home.lock}, is not one of this machine`, {
      hint: "Stop the engine where it runs: in its container, or on the machine that shares this folder.",
    });
  }
  if (isAlone && !isForced) {
    throw new AgentCardsError("ENGINE_BUSY", `Process ${pid} uses ${home.dir} for itself alone; it is no engine`, {
      hint: "End that program, or kill it with `agentcards engine stop --force`.",
    });
  }
}

function signal(pid: number, name: Signal): void {
  try {
    system.kill(pid, name);
  } catch (cause) {
    if (fs.isNotFound(cause)) return;
    throw new AgentCardsError("ENGINE_BUSY", `Cannot end the engine (process ${pid}): ${messageOf(cause)}`, { cause });
  }
}

async function isGone(home: Home, pid: number, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (await lockHolder(home.lock) === pid) {
    if (performance.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return true;
}
