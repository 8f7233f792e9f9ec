/** What stands in every file that `deno task setup` has written, so that no other file is taken for one. */
export const MARK = "agentcards launcher, written by `deno task setup`";

const FLAGS = ["run", "--allow-all", "--no-prompt", "--quiet", "--cached-only", "--frozen", "--config"];

/** The files that the command needs. */
export interface CommandFiles {
  readonly deno: string;
  readonly config: string;
  readonly main: string;
}

/** The command `agentcards` as a script for a POSIX shell. */
export function shellCommand({ deno, config, main }: CommandFiles): string {
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  return `#!/bin/sh
# ${MARK}
export DENO_NO_UPDATE_CHECK=1
exec ${[quoted(deno), ...FLAGS, quoted(config), quoted(main)].join(" ")} "$@"
`;
}

/** The command `agentcards` as a batch file. */
export function windowsCommand({ deno, config, main }: CommandFiles): string {
  // A percent sign begins a variable, also between quotes.
  const quoted = (text: string) => `"${text.replaceAll("%", "%%")}"`;
  return [
    "@echo off",
    `rem ${MARK}`,
    "set DENO_NO_UPDATE_CHECK=1",
    `${[quoted(deno), ...FLAGS, quoted(config), quoted(main)].join(" ")} %*`,
    "",
  ].join("\r\n");
}
