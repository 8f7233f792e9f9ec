/** Arguments whose values are carried out by a shell. */
const COMMAND = /^(?:command|commands|cmd|cmdline|command_?line|script|shell|bash|sh|args|argv)$/i;
/** Arguments whose values are carried out by a database. */
const STATEMENT = /^(?:sql|query|statement|statements|stmt)$/i;
const BEGINS_AS_SQL = /^\s*(?:with|select|insert|update|delete|drop|alter|create|truncate|begin|explain|set)\b/i;
/** Longer commands are cut: what comes behind this is judged by nobody but the person. */
const LONGEST = 100_000;

/** The command lines and the statements among the arguments of a call. */
export interface Commands {
  readonly shell: readonly string[];
  readonly sql: readonly string[];
}

/** Finds the texts that a tool will carry out, by the names of its arguments. */
export function commandsIn(args: Readonly<Record<string, unknown>>): Commands {
  const shell: string[] = [];
  const sql: string[] = [];
  for (const [name, value] of Object.entries(args)) {
    const text = textOf(value)?.slice(0, LONGEST);
    if (text === undefined) continue;
    if (COMMAND.test(name)) shell.push(text);
    if (STATEMENT.test(name) && (BEGINS_AS_SQL.test(text) || /^(?:sql|statements?|stmt)$/i.test(name))) sql.push(text);
  }
  // A client of a database takes its statement on the command line.
  return { shell, sql: [...sql, ...shell] };
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.filter((one) => typeof one === "string").join(" ") : undefined;
}

/** A word where a shell begins a command, also behind `env`, `xargs`, `sudo` and the like. */
const AT = String.raw`(?:^|[\s;&|(){}\x60'"/$\\])`;
const END = String.raw`(?=$|[\s;&|)}\x60'"])`;
const word = (command: string) => new RegExp(`${AT}${command}${END}`, "i");

const RM = new RegExp(`${AT}rm((?:\\s+-{1,2}[\\w-]+(?:=\\S*)?)+)`, "gi");

/** True for `rm` with both its recursive and its force option, in any spelling. */
export function removesByForce(command: string): boolean {
  return [...command.matchAll(RM)].some(([, options = ""]) => {
    const words = options.trim().split(/\s+/);
    const has = (letter: RegExp, long: string) =>
      words.some((one) => one === long || (/^-[^-]/.test(one) && letter.test(one)));
    return has(/r/i, "--recursive") && has(/f/, "--force");
  });
}

const SUDO = word("(?:sudo|doas)");
export const asRoot = (command: string) => SUDO.test(command);

const CHMOD = new RegExp(`${AT}chmod(?:\\s+-[\\w-]+)*\\s+(?:0?777|a[+=]rwx|ugo[+=]rwx)${END}`, "i");
export const opensToAll = (command: string) => CHMOD.test(command);

const DROP = /\bdrop\s+(?:table|database|schema)\b/i;
export const dropsTable = (statement: string) => DROP.test(statement);

/** True for a `DELETE FROM` without a `WHERE` of its own. */
export function deletesAll(text: string): boolean {
  return text.split(";").some((statement) => {
    const at = /\bdelete\s+from\s+[\w."`[\]]+/i.exec(statement);
    return at !== null && !/\bwhere\b/i.test(statement.slice(at.index));
  });
}

const PUSH = new RegExp(`${AT}git(?:\\s+-{1,2}[^\\s;&|]+(?:\\s+[^\\s;&|-][^\\s;&|]*)?)*\\s+push${END}`, "i");
export const pushes = (command: string) => PUSH.test(command);

const APPLY = new RegExp(`${AT}kubectl(?:\\s+-{1,2}[^\\s;&|]+(?:\\s+[^\\s;&|-][^\\s;&|]*)?)*\\s+apply${END}`, "i");
export const applies = (command: string) => APPLY.test(command);

const RESTART = new RegExp(`${AT}systemctl(?:\\s+-{1,2}[^\\s;&|]+)*\\s+restart${END}`, "i");
export const restarts = (command: string) => RESTART.test(command);
