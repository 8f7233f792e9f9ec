import { ask } from "./ask.ts";
import type { Terminal } from "./screen/terminal.ts";

/** `agentcards sandbox accept` */
export async function acceptSandbox(terminal: Terminal): Promise<number> {
  const { level } = await ask({ method: "accept_sandbox" });
  terminal.out(`Code runs in a sandbox of level ${level}.\n`);
  return 0;
}
