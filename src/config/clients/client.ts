import { system } from "../../platform/start.ts";
import type { ConfigFile } from "../schema.ts";

/** The programs whose MCP servers can be moved; `file` is a file the user named and nobody else does. */
export type ClientId =
  | "claude-code"
  | "claude-desktop"
  | "cursor"
  | "vscode"
  | "windsurf"
  | "gemini"
  | "codex"
  | "zed"
  | "file";

/** What people call them. */
export const CLIENT_NAMES: Readonly<Record<ClientId, string>> = Object.freeze({
  "claude-code": "Claude Code",
  "claude-desktop": "Claude Desktop",
  cursor: "Cursor",
  vscode: "VS Code",
  windsurf: "Windsurf",
  gemini: "Gemini CLI",
  codex: "Codex",
  zed: "Zed",
  file: "File",
});

/** The name our own entry has in a client's file. */
export const OWN_NAME = "agentcards";

/** `local` is Claude Code's own word: in the user's file, but for one folder. */
export type Scope = "user" | "local" | "project";

/** One server of our configuration file. */
export type ServerEntry = NonNullable<ConfigFile["servers"]>[string];

/** A map of servers inside a client's file. */
export interface Place {
  readonly client: ClientId;
  readonly scope: Scope;
  /** A `*` stands for any text within one folder name. */
  readonly path: string;
  /** Where in the file the map of servers is. */
  readonly keys: readonly string[];
  readonly format: "json" | "toml" | "yaml";
}

/** One server as a client has it, and what it is in our words. */
export interface FoundServer {
  readonly name: string;
  /** As written in the client's file; may hold credentials. */
  readonly entry: unknown;
  readonly server?: ServerEntry;
  /** Why it stays in the client. */
  readonly skipped?: string;
  /** What the user should know about the conversion. */
  readonly notes: readonly string[];
  /** Tools that the client kept from the model. */
  readonly deny: readonly string[];
  /** Tools that the client asked about. */
  readonly approve: readonly string[];
}

/** What one place holds. Our own entry is left out and only counted. */
export interface Source extends Place {
  readonly servers: readonly FoundServer[];
  readonly hasOwn: boolean;
  /** Other folders that have local servers of their own. */
  readonly elsewhere: number;
}

/** A file that could not be read; the others go on. */
export interface Problem {
  readonly client: ClientId;
  readonly path: string;
  readonly reason: string;
}

/** The machine as the readers see it. */
export interface Machine {
  readonly os: typeof system.os;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Without symbolic links, as clients write it. */
  readonly cwd: string;
}

/** The command that starts our `serve`. */
export interface OwnCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Our entry in the shape a client wants. */
export function ownEntry(client: ClientId, { command, args, env }: OwnCommand): Record<string, unknown> {
  const name = client === "file" ? [] : ["--client", client];
  const entry = { command, args: [...args, ...name], ...(env && { env: { ...env } }) };
  if (client === "claude-code" || client === "vscode") return { type: "stdio", ...entry };
  return client === "zed" ? { env: {}, ...entry } : entry;
}
