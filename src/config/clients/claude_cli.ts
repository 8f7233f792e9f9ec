import { AgentCardsError, messageOf, oneLine } from "../../model/mod.ts";
import { Command, type CommandOutput, fs, system } from "../../platform/start.ts";
import { basename, delimiter, join } from "node:path";
import type { Item } from "./item.ts";
import { entryAt, type FileEdit } from "./rewrite.ts";

/** Whether a Claude Code of this user is running: it rewrites its own file while it does. */
export async function isClaudeRunning(os: typeof system.os = system.os, proc = "/proc"): Promise<boolean> {
  if (os === "windows") return false;
  if (os !== "linux") {
    const pgrep = new Command("pgrep", {
      args: ["-x", "-u", String(system.uid()), "claude"],
      stdout: "null",
      stderr: "null",
    });
    return await pgrep.output().then(({ success }) => success, () => false);
  }
  for await (const { name } of fs.readDir(proc)) {
    if (/^\d+$/.test(name) && await isClaude(join(proc, name))) return true;
  }
  return false;
}

async function isClaude(dir: string): Promise<boolean> {
  try {
    if ((await fs.stat(dir)).uid !== system.uid()) return false;
    if ((await fs.readTextFile(join(dir, "comm"))).trim() === "claude") return true;
    const [program = "", script = ""] = (await fs.readTextFile(join(dir, "cmdline"))).split("\0");
    if (basename(program) === "claude") return true;
    return /^(node|bun|deno)$/.test(basename(program)) &&
      (basename(script) === "claude" || /claude-code\/cli\.m?js$/.test(script));
  } catch {
    // Processes come and go while the list is read.
    return false;
  }
}

/** The `claude` program of a PATH. */
export async function findClaude(env: Readonly<Record<string, string | undefined>>): Promise<string | undefined> {
  for (const dir of (env.PATH ?? "").split(delimiter).filter(Boolean)) {
    const path = join(dir, "claude");
    const info = await fs.stat(path).catch(() => undefined);
    if (info?.isFile && ((info.mode ?? 0o111) & 0o111) !== 0) return path;
  }
}

/** How to run the `claude` program. */
export interface ClaudeCli {
  readonly program: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The commands that make an edit of Claude's file as it is now. What goes in comes before what goes out. */
export function claudeCommands({ remove, add }: FileEdit, now: unknown): string[][] {
  const scope = ({ keys }: Item) => keys.length > 1 ? "local" : "user";
  const adding = add.flatMap((item) => [
    // It refuses a name that is there.
    ...(entryAt(now, item) !== undefined ? [["mcp", "remove", "-s", scope(item), item.name]] : []),
    ["mcp", "add-json", "-s", scope(item), item.name, JSON.stringify(item.entry)],
  ]);
  return [...adding, ...remove.map((item) => ["mcp", "remove", "-s", scope(item), item.name])];
}

const TIMEOUT = 60_000;

/** Runs the commands one after the other; the first that fails is an error that shows what Claude said. */
export async function runClaude(commands: readonly string[][], { program, cwd, env }: ClaudeCli): Promise<void> {
  const variables = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >;
  for (const args of commands) {
    // The last argument of add-json is a definition, which may hold credentials.
    const shown = `claude ${args.slice(0, 5).join(" ")}`;
    let output: CommandOutput;
    try {
      output = await new Command(program, {
        args,
        cwd,
        env: variables,
        clearEnv: true,
        stdin: "null",
        signal: AbortSignal.timeout(TIMEOUT),
      }).output();
    } catch (cause) {
      throw new AgentCardsError("CONFIG_INVALID", `Cannot run ${shown}: ${messageOf(cause)}`, { cause });
    }
    if (!output.success) {
      const said = oneLine(new TextDecoder().decode(output.stderr) || new TextDecoder().decode(output.stdout), 300);
      throw new AgentCardsError("CONFIG_INVALID", `Cannot change Claude Code's file: ${shown} said: ${said}`, {
        hint: "Close Claude Code and run `agentcards init` again; the file is then edited directly.",
      });
    }
  }
}
