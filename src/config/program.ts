import type { ServerConfig } from "./schema.ts";

/** Programs that run another one: of a registry, of a file, of an image. */
const RUNNERS = new Set(["npx", "bunx", "pnpx", "uvx", "pipx", "npm", "pnpm", "yarn", "bun", "uv"]);
const INTERPRETERS = new Set(["node", "deno", "python", "python3", "ruby", "tsx", "ts-node", "sh", "bash", "java"]);
const CONTAINERS = new Set(["docker", "podman"]);
/** Words between a runner and what it runs. */
const SUBCOMMANDS = new Set(["run", "exec", "dlx", "x", "tool"]);
/** Flags whose value is the program. */
const NAMES_PROGRAM = new Set(["-m", "-p", "--package", "--from", "-jar"]);
/** Flags of containers that are followed by a value. */
const WITH_VALUE = /^(?:-[evpwu]|--(?:env|env-file|volume|mount|name|network|user|workdir|publish|entrypoint|label))$/;

type Definition = Pick<ServerConfig, "command" | "args" | "url">;

/** The program that an entry starts, whatever its variables, folders and versions: two accounts of one program have one. */
export function programOf({ command = "", args = [], url }: Definition): string {
  if (url !== undefined) return `url ${url.replace(/[?#].*$/s, "").replace(/\/+$/, "")}`;
  const name = command.split(/[\\/]/).at(-1)!.replace(/\.(?:exe|cmd|bat)$/i, "").toLowerCase();
  const isContainer = CONTAINERS.has(name);
  if (!isContainer && !RUNNERS.has(name) && !INTERPRETERS.has(name)) return `program ${name}`;
  const what = ranBy(args, isContainer);
  if (what === undefined) return `program ${name}`;
  return INTERPRETERS.has(name) || isContainer
    ? `${name} ${withoutTag(what, isContainer)}`
    : `package ${withoutVersion(what)}`;
}

function ranBy(args: readonly string[], isContainer: boolean): string | undefined {
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (NAMES_PROGRAM.has(arg) && !isContainer) return args[at + 1];
    if (isContainer && WITH_VALUE.test(arg)) at++;
    else if (!arg.startsWith("-") && !SUBCOMMANDS.has(arg)) return arg;
  }
  return undefined;
}

function withoutVersion(spec: string): string {
  return spec.replace(/^npm:/, "").replace(/(?<=.)@[^@/]*$/, "").replace(/(?:==|>=|~=)[^/]*$/, "");
}

function withoutTag(what: string, isContainer: boolean): string {
  return isContainer ? what.replace(/@sha256:[0-9a-f]+$/, "").replace(/:[\w.-]+$/, "") : what;
}

/** For each entry the names of the others that start the same program. */
export function twinsOf(servers: Readonly<Record<string, Definition>>): Record<string, string[]> {
  const byProgram = Map.groupBy(Object.keys(servers), (name) => programOf(servers[name]!));
  const groups = [...byProgram.values()].filter(({ length }) => length > 1);
  return Object.fromEntries(
    groups.flatMap((names) => names.map((name) => [name, names.filter((other) => other !== name)])),
  );
}
