/** What stands in every launcher, so that no other file is taken for one. */
export const MARK = "agentcards launcher, written by `deno task setup`";

const FLAGS = ["run", "--allow-all", "--no-prompt", "--quiet", "--cached-only", "--frozen", "--config"];

/** The files that a launcher needs, and the command that mends an installation. */
export interface LauncherFiles {
  readonly deno: string;
  readonly clone: string;
  readonly config: string;
  readonly main: string;
  /** The lock file of the code, and that of the packages that were installed: a `git pull` may change the first. */
  readonly locks: readonly [wanted: string, installed: string];
  readonly setup: string;
}

/** The command `agentcards` as a script for a POSIX shell. */
export function shellLauncher({ deno, clone, config, main, locks, setup }: LauncherFiles): string {
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  return `#!/bin/sh
# ${MARK}
if ! cmp -s ${locks.map(quoted).join(" ")}; then
  echo "AgentCards was updated, its packages were not. In" ${quoted(clone)} "run: ${setup}" >&2
  exit 1
fi
export DENO_NO_UPDATE_CHECK=1
exec ${[quoted(deno), ...FLAGS, quoted(config), quoted(main)].join(" ")} "$@"
`;
}

/** The command `agentcards` as a batch file. */
export function windowsLauncher({ deno, clone, config, main, locks, setup }: LauncherFiles): string {
  // A percent sign begins a variable, also between quotes.
  const quoted = (text: string) => `"${text.replaceAll("%", "%%")}"`;
  return [
    "@echo off",
    `rem ${MARK}`,
    `fc /b ${locks.map(quoted).join(" ")} >nul 2>nul`,
    // No block: a parenthesis in a path would end it.
    "if not errorlevel 1 goto start",
    `>&2 echo AgentCards was updated, its packages were not. In ${quoted(clone)} run: ${setup}`,
    "exit /b 1",
    ":start",
    "set DENO_NO_UPDATE_CHECK=1",
    `${[quoted(deno), ...FLAGS, quoted(config), quoted(main)].join(" ")} %*`,
    "",
  ].join("\r\n");
}
