import type { InitIo } from "./io.ts";
import { ownCommand } from "./plan.ts";

/** The command line that takes everything back. */
export function undoCommand(io: InitIo): string {
  const { command, args, env = {} } = ownCommand(io);
  const variables = Object.entries(env).map(([name, value]) => `${name}=${quote(value)} `);
  const words = [command, ...args.at(-1) === "serve" ? args.slice(0, -1) : args, "init", "--undo"];
  return variables.join("") + words.map(quote).join(" ");
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
