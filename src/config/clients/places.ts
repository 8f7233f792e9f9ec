import { posix, win32 } from "node:path";
import type { ClientId, Machine, Place } from "./client.ts";

/** Every place that may hold servers on this machine, the user's own before the project's. */
export function places(machine: Machine): readonly Place[] {
  const { os, env, cwd } = machine;
  const { join } = os === "windows" ? win32 : posix;
  const home = userHome(machine);
  const config = env.XDG_CONFIG_HOME || join(home, ".config");
  const support = os === "darwin"
    ? join(home, "Library", "Application Support")
    : os === "windows"
    ? env.APPDATA || join(home, "AppData", "Roaming")
    : config;
  const claude = join(claudeHome(machine), ".claude.json");
  const codex = env.CODEX_HOME || join(home, ".codex");
  const zed = os === "windows" ? join(support, "Zed") : join(config, "zed");
  const user = (client: ClientId, path: string): Place => place(client, "user", path);
  const project = (client: ClientId, ...path: string[]): Place => place(client, "project", join(cwd, ...path));

  const all: Place[] = [
    user("claude-code", claude),
    { ...place("claude-code", "local", claude), keys: ["projects", cwd, "mcpServers"] },
    ...desktopFolders(machine, support).map((folder) =>
      user("claude-desktop", join(folder, "claude_desktop_config.json"))
    ),
    user("cursor", join(home, ".cursor", "mcp.json")),
    user("vscode", join(support, "Code", "User", "mcp.json")),
    user("vscode", join(support, "Code - Insiders", "User", "mcp.json")),
    user("windsurf", join(home, ".codeium", "windsurf", "mcp_config.json")),
    user("windsurf", join(home, ".codeium", "mcp_config.json")),
    user("gemini", join(home, ".gemini", "settings.json")),
    user("codex", join(codex, "config.toml")),
    user("zed", join(zed, "settings.json")),
    project("claude-code", ".mcp.json"),
    project("cursor", ".cursor", "mcp.json"),
    project("vscode", ".vscode", "mcp.json"),
    project("gemini", ".gemini", "settings.json"),
    project("codex", ".codex", "config.toml"),
    project("zed", ".zed", "settings.json"),
  ];
  // In the home directory itself some of the project's files are the user's.
  const own = new Set(all.filter(({ scope }) => scope !== "project").map(({ path }) => path));
  return all.filter(({ scope, path }) => scope !== "project" || !own.has(path)).map((item) => Object.freeze(item));
}

function place(client: ClientId, scope: Place["scope"], path: string): Place {
  return { client, scope, path, keys: [serverKey(client)], format: client === "codex" ? "toml" : "json" };
}

/** The key under which a client keeps its servers. */
export function serverKey(client: ClientId): string {
  if (client === "vscode") return "servers";
  if (client === "codex") return "mcp_servers";
  return client === "zed" ? "context_servers" : "mcpServers";
}

function desktopFolders({ os, env }: Machine, support: string): string[] {
  if (os !== "windows") return [posix.join(support, "Claude")];
  const roaming = win32.join(support, "Claude");
  if (!env.LOCALAPPDATA) return [roaming];
  return [
    roaming,
    win32.join(env.LOCALAPPDATA, "Packages", "*Claude*", "LocalCache", "Roaming", "Claude"),
    win32.join(env.LOCALAPPDATA, "Claude-Data", "claude_*"),
  ];
}

/** The user's home directory, or "" when nobody says where it is. */
export function userHome({ env }: Machine): string {
  return env.HOME ?? env.USERPROFILE ?? "";
}

function claudeHome(machine: Machine): string {
  return machine.env.CLAUDE_CONFIG_DIR || userHome(machine);
}

/** Claude Code's settings, where permission rules and hooks are. */
export function claudeSettings(machine: Machine): readonly string[] {
  const { join } = machine.os === "windows" ? win32 : posix;
  const user = machine.env.CLAUDE_CONFIG_DIR || join(userHome(machine), ".claude");
  const project = join(machine.cwd, ".claude");
  return [
    ...new Set([user, project].flatMap((folder) => [
      join(folder, "settings.json"),
      ...(folder === project ? [join(folder, "settings.local.json")] : []),
    ])),
  ];
}

/** Where an administrator puts servers that exclude all others. */
export function managedPath(os: Machine["os"]): string {
  if (os === "darwin") return "/Library/Application Support/ClaudeCode/managed-mcp.json";
  if (os === "windows") return "C:\\Program Files\\ClaudeCode\\managed-mcp.json";
  return "/etc/claude-code/managed-mcp.json";
}
