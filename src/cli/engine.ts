import { locateHome } from "../config/home.ts";
import { lockHolder } from "../db/lock.ts";
import { askEngine } from "../gateway/control_client.ts";
import { AgentCardsError } from "../model/errors.ts";
import { ask } from "./ask.ts";
import type { Terminal } from "./terminal.ts";

const GONE_WITHIN_MS = 10_000;

/** `agentcards engine stop [--force]` */
export async function stopEngine(options: { force?: boolean }, terminal: Terminal): Promise<number> {
  const env = Deno.env.toObject();
  const home = locateHome(env);
  const pid = await lockHolder(home.lock);
  if (pid === undefined) {
    terminal.out("The engine is not running.\n");
    return 0;
  }
  if (options.force) Deno.kill(pid, "SIGKILL");
  else await askEngine({ home, cwd: Deno.cwd(), env }, { method: "stop" });
  const deadline = performance.now() + GONE_WITHIN_MS;
  // The lock is the truth: a process number may belong to somebody else by now.
  while (await lockHolder(home.lock) === pid) {
    if (performance.now() > deadline) {
      throw new AgentCardsError("ENGINE_BUSY", `The engine (process ${pid}) is still closing down`, {
        hint: "Wait a moment, or end it at once with `agentcards engine stop --force`.",
      });
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  terminal.out(`Stopped the engine (process ${pid}).\n`);
  return 0;
}

/** `agentcards engine restart` */
export async function restartEngine(terminal: Terminal): Promise<number> {
  await stopEngine({}, terminal);
  const { pid } = await ask<{ pid: number }>({ method: "status" });
  terminal.out(`Started a new one (process ${pid}).\n`);
  return 0;
}
