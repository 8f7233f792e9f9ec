import { isAbsolute, join } from "node:path";
import { firstWord, INTERPRETERS, nameOf, RUNNERS } from "./program.ts";

/** A command with its arguments, variables filled in. */
export interface CommandLine {
  readonly command?: string | undefined;
  readonly args?: readonly string[] | undefined;
}

/** Programs that look for a package in the folder they are started in before they look anywhere else. */
const LOOKING = new Set(["npx", "pnpx", "bunx", "uvx", "uv", "pipx", "dx"]);
/** Programs that do so under one of these words only. */
const VERBS: Readonly<Record<string, readonly string[]>> = {
  npm: ["exec", "x"],
  pnpm: ["dlx", "exec", "x"],
  yarn: ["dlx", "exec"],
  bun: ["x"],
  deno: ["x"],
};
const SHELLS = new Set(["sh", "bash", "zsh", "dash", "ksh", "fish", "cmd", "powershell", "pwsh"]);
const REMOTE = /^(?:npm|jsr|https?|node|data):/;
/** `.`, `..`, `./x`, `../x`, also as the value of a flag, `--root=./x`, or as the default of a variable, `${DIR:-.}`. */
const RELATIVE = /^(--?[\w.-]+=)?((?:\$\{\w+:-)?\.{1,2}(?:[\\/}].*)?)$/s;
/** Flags that name what a runner runs, or the folder it looks in. */
const WHERE_TO_LOOK =
  /^(?:--prefix|--directory|--project|--dir|--cwd|-C|--from|-p|--package|--spec|--with|--with-editable|-w|--workspace)$/;
const SCRIPT = /[\\/]|\.(?:[cm]?[jt]sx?|py|rb|php|pl|sh|jar)$/;
const OTHER_INTERPRETERS: Readonly<Record<string, RegExp>> = {
  "ts-node": /^(?:-r|--require|-P|--project)$/,
  php: /^(?:-c|-d)$/,
  perl: /^-I$/,
  java: /^(?:-cp|-classpath|--class-path)$/,
};

/**
 * True if a command looks for packages or modules by name, starting from its own folder: `npx`, `uvx`, `python -m` and
 * the like, also behind a shell or a wrapper. A doubtful word counts.
 */
export function isPackageRunner(line: CommandLine): boolean {
  const words = wordsOf(line);
  return words.some((word, at) => {
    const name = nameOf(word);
    const rest = words.slice(at + 1);
    if (LOOKING.has(name)) return true;
    if (Object.hasOwn(VERBS, name) && rest.some((next) => VERBS[name]!.includes(next))) return true;
    if (name === "deno") return REMOTE.test(scriptAfter(name, rest)?.word ?? "");
    return name === "python" && hasModule(rest);
  });
}

/** `-m mod`, `-mmod`, `-c code`, also with other letters before. */
function hasModule(args: readonly string[]): boolean {
  for (let at = 0; at < args.length && args[at]!.startsWith("-"); at++) {
    if (/^-[WX]/.test(args[at]!)) at += args[at]!.length === 2 ? 1 : 0;
    else if (/^-[A-Za-z]*[mc]/.test(args[at]!)) return true;
  }
  return false;
}

/** The words of a command; a shell's script is split like the shell would, roughly. */
function wordsOf({ command = "", args = [] }: CommandLine): string[] {
  const isShell = SHELLS.has(nameOf(command));
  return [command, ...isShell ? args.flatMap((arg) => arg.split(/[\s;&|()<>"'`]+/).filter(Boolean)) : args];
}

/** True for a program that is named by a path without a beginning, such as `./server` or `bin/server`. */
export function isRelativeCommand(command = ""): boolean {
  return /[\\/]/.test(command) && !isAbsolute(command);
}

interface RelativeWord {
  /** The place among the arguments. */
  readonly at: number;
  readonly flag: string;
  readonly path: string;
}

/** The first word of a command that means another file in another folder. */
export function relativeWord({ command, args = [] }: CommandLine): string | undefined {
  if (isRelativeCommand(command)) return command;
  const [first] = relativeArguments({ command, args });
  return first && args[first.at];
}

/** The arguments of a package runner with their relative paths in a folder; undefined where the package itself is one. */
export function argumentsIn(folder: string, { command, args = [] }: CommandLine): string[] | undefined {
  const found = relativeArguments({ command, args });
  const named = packageAt({ command, args });
  const isLookedUp = ({ at, flag }: RelativeWord) =>
    at === named || WHERE_TO_LOOK.test(flag.replace(/=$/, "")) || WHERE_TO_LOOK.test(args[at - 1] ?? "");
  if (found.some(isLookedUp)) return undefined;
  const placed = [...args];
  for (const { at, flag, path } of found) placed[at] = flag + join(folder, path);
  return placed;
}

function relativeArguments({ command, args = [] }: CommandLine): RelativeWord[] {
  const scripts = scriptsIn({ command, args });
  return args.flatMap((arg, at) => {
    const [, flag = "", path] = RELATIVE.exec(arg) ?? [];
    if (path !== undefined) return [{ at, flag, path }];
    return scripts.has(at) ? [{ at, flag: "", path: arg }] : [];
  });
}

/** The places of scripts that are given to an interpreter by a path without a beginning. */
function scriptsIn({ command = "", args = [] }: CommandLine): Set<number> {
  const places = new Set<number>();
  [command, ...args].forEach((word, at) => {
    const found = scriptAfter(nameOf(word), args.slice(at));
    if (found && SCRIPT.test(found.word) && !isAbsolute(found.word) && !REMOTE.test(found.word)) {
      places.add(args.length - found.rest.length - 1);
    }
  });
  return places;
}

/** The script among an interpreter's arguments. */
function scriptAfter(name: string, args: readonly string[]): ReturnType<typeof firstWord> {
  const values = [INTERPRETERS, OTHER_INTERPRETERS].find((known) => Object.hasOwn(known, name))?.[name] ??
    (SHELLS.has(name) ? /^$/ : undefined);
  if (!values) return undefined;
  if (name === "python" && hasModule(args) || SHELLS.has(name) && args.some((arg) => /^-[a-z]*c$|^\/c$/i.test(arg))) {
    return undefined;
  }
  return firstWord((name === "deno" || name === "bun") && args[0] === "run" ? args.slice(1) : args, values);
}

/** The place of the word that names the package of a runner; a script for `uv run` is none. */
function packageAt({ command = "", args = [] }: CommandLine): number | undefined {
  const words = [command, ...args];
  const runner = words.findIndex((word) => LOOKING.has(nameOf(word)) || Object.hasOwn(VERBS, nameOf(word)));
  if (runner < 0) return undefined;
  const name = nameOf(words[runner]!);
  const verbs = ["run", "tool", ...VERBS[name] ?? []];
  const values = Object.hasOwn(RUNNERS, name) ? RUNNERS[name]!.values : /^$/;
  for (let at = runner; at < args.length; at++) {
    if (values.test(args[at]!)) at++;
    else if (args[at]!.startsWith("-") || verbs.includes(args[at]!)) continue;
    else return name === "uv" && args[at]!.endsWith(".py") ? undefined : at;
  }
}
