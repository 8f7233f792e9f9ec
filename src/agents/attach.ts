import type { AgentConfig } from "../config/mod.ts";
import { AgentCardsError } from "../model/mod.ts";

/** The arguments with which a program opens a session of its own in a terminal. */
export function attachArguments({ name, args, protocol }: AgentConfig, session: string): string[] {
  if (protocol === "claude") return [...args, "--resume", session];
  if (protocol === "codex") return [...args, "resume", session];
  const why = protocol === "command"
    ? "a plain command has no sessions"
    : "its protocol opens no session in a terminal";
  throw new AgentCardsError("USAGE", `The session of ${name} cannot be opened: ${why}`, {
    hint: "Sessions of Claude Code and Codex can.",
  });
}
