import { isAbsolute, join, normalize } from "node:path";
import { isPlaceWord, type ServerConfig } from "./schema.ts";

/** Runners of packages: the words between them and the package, and the flags that are followed by a value. */
export const RUNNERS: Readonly<Record<string, { readonly words: readonly string[]; readonly values: RegExp }>> = {
  npx: { words: [], values: /^(?:-c|--call|--registry|--cache|--prefix|-w|--workspace|--loglevel)$/ },
  bunx: { words: [], values: /^$/ },
  pnpx: { words: [], values: /^$/ },
  uvx: { words: [], values: /^(?:-p|--python|--with|--with-editable|--index|--index-url|--directory|--env-file)$/ },
  pipx: { words: ["run"], values: /^(?:--python|--pip-args|--index-url)$/ },
  npm: { words: ["exec", "x"], values: /^(?:--prefix|--registry|--cache|-w|--workspace)$/ },
  pnpm: { words: ["dlx", "exec"], values: /^(?:-C|--dir|--registry)$/ },
  yarn: { words: ["dlx"], values: /^(?:--cwd)$/ },
  bun: { words: ["x"], values: /^$/ },
};
/** Flags that name the package where the first word names a program in it. */
const PACKAGE_FLAG: Readonly<Record<string, RegExp>> = {
  npx: /^(?:-p|--package)$/,
  npm: /^(?:-p|--package)$/,
  bunx: /^(?:-p|--package)$/,
  uvx: /^--from$/,
  pipx: /^--spec$/,
};
/** Interpreters of files, and their flags that are followed by a value. */
export const INTERPRETERS: Readonly<Record<string, RegExp>> = {
  node: /^(?:-r|--require|--import|--loader|--experimental-loader|-C|--conditions|--env-file|--max-old-space-size)$/,
  deno: /^(?:-c|--config|--import-map|--lock|--location|--cert|--env-file)$/,
  bun: /^(?:-r|--preload|--cwd|--env-file)$/,
  tsx: /^(?:-r|--require|--import|--tsconfig)$/,
  python: /^(?:-W|-X)$/,
  ruby: /^(?:-I|-r)$/,
};
/** Programs that stand for a remote server: what they are told to reach is the program. */
const PROXY = /^(?:mcp-remote|mcp-proxy|supergateway)$/;
const CONTAINER_VALUES =
  /^(?:-[evpwulm]|--(?:env|env-file|volume|mount|name|network|user|workdir|publish|entrypoint|label|platform|pull|add-host|memory|cpus|gpus|ulimit|device|tmpfs|hostname|dns|restart|log-driver))$/;

type Definition = Pick<ServerConfig, "command" | "args" | "url" | "cwd">;

/**
 * The program that an entry starts, whatever its variables, versions and further arguments: two accounts of one program
 * have one. Where that cannot be told, an entry has the program of another one only if it starts the very same command.
 */
export function programOf(definition: Definition): string {
  if (definition.url !== undefined) return `url ${addressOf(definition.url)}`;
  const { command, args } = unwrapped(definition);
  const cwd = isPlaceWord(definition.cwd) ? undefined : definition.cwd;
  const name = nameOf(command);
  const inPackage = packageOf(name, args);
  if (inPackage) return inPackage;
  const script = startedBy(name, args, cwd);
  if (script) return script;
  if (name === "docker" || name === "podman") {
    const image = args[0] === "run" ? firstWord(args.slice(1), CONTAINER_VALUES) : undefined;
    if (image) return `image ${image.word.replace(/@sha256:[0-9a-f]+$/, "").replace(/:[\w.-]+$/, "")}`;
  }
  // A program of its own is known by its name; one that runs others, by all of its command.
  return isWrapper(name) ? `command ${JSON.stringify([name, ...args, cwd ?? ""])}` : `program ${name}`;
}

function isWrapper(name: string): boolean {
  return Object.hasOwn(RUNNERS, name) || Object.hasOwn(INTERPRETERS, name) ||
    /^(?:docker|podman|uv|go|cargo|java|php|perl|sh|bash|zsh|cmd|powershell|pwsh|env|sudo|nix|make|ssh|wsl|dotnet)$/
      .test(name);
}

/** The command inside `cmd /c …` and `env NAME=value …`. */
function unwrapped({ command = "", args = [] }: Definition): { command: string; args: readonly string[] } {
  const name = nameOf(command);
  if (name === "cmd" && /^\/c$/i.test(args[0] ?? "") && args[1]) {
    return unwrapped({ command: args[1], args: args.slice(2) });
  }
  if (name === "env") {
    const at = args.findIndex((arg) => !/^(?:-i|-S|[A-Za-z_]\w*=.*)$/s.test(arg));
    if (at >= 0) return unwrapped({ command: args[at]!, args: args.slice(at + 1) });
  }
  return { command, args };
}

/** The name of a program without folder and ending; every Python is `python`. */
export function nameOf(command: string): string {
  const name = command.split(/[\\/]/).at(-1)!.replace(/\.(?:exe|cmd|bat|ps1)$/i, "").toLowerCase();
  return /^python[\d.]*$/.test(name) ? "python" : name;
}

function packageOf(name: string, args: readonly string[]): string | undefined {
  const runner = Object.hasOwn(RUNNERS, name) ? RUNNERS[name]! : undefined;
  if (!runner) return undefined;
  const flag = PACKAGE_FLAG[name];
  const at = flag ? args.findIndex((arg) => flag.test(arg.split("=")[0]!)) : -1;
  const joined = at >= 0 && args[at]!.includes("=") ? args[at]!.slice(args[at]!.indexOf("=") + 1) : undefined;
  const named = joined ?? (at >= 0 ? args[at + 1] : undefined);
  if (named) return `package ${withoutVersion(named)}`;
  if (runner.words.length > 0 && !runner.words.includes(args[0] ?? "")) return undefined;
  const found = firstWord(runner.words.length > 0 ? args.slice(1) : args, runner.values);
  if (!found) return undefined;
  const spec = withoutVersion(found.word);
  const address = PROXY.test(spec) ? found.rest.find((arg) => /^https?:/i.test(arg)) : undefined;
  return address ? `url ${addressOf(address)}` : `package ${spec}`;
}

/** The file that an entry has an interpreter run; undefined where none can be told. */
export function scriptOf(definition: Definition): string | undefined {
  const { command, args } = unwrapped(definition);
  return /^file (.*)/s.exec(startedBy(nameOf(command), args, definition.cwd) ?? "")?.[1];
}

function startedBy(name: string, args: readonly string[], cwd = ""): string | undefined {
  const values = Object.hasOwn(INTERPRETERS, name) ? INTERPRETERS[name]! : undefined;
  if (!values) return undefined;
  const module = name === "python" ? args.indexOf("-m") : -1;
  if (module >= 0 && args[module + 1]) return `module ${args[module + 1]}`;
  const words = (name === "deno" || name === "bun") && args[0] === "run" ? args.slice(1) : args;
  const found = firstWord(words, values);
  if (!found) return undefined;
  if (/^(?:npm|jsr):/.test(found.word)) return `package ${withoutVersion(found.word)}`;
  // A file of some folder is another file in another folder.
  return `file ${isAbsolute(found.word) ? normalize(found.word) : normalize(join(cwd || "?", found.word))}`;
}

/** The first argument that is no flag and no flag's value. */
export function firstWord(
  args: readonly string[],
  values: RegExp,
): { word: string; rest: readonly string[] } | undefined {
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (values.test(arg)) at++;
    else if (!arg.startsWith("-")) return { word: arg, rest: args.slice(at + 1) };
  }
  return undefined;
}

function withoutVersion(spec: string): string {
  return spec.replace(/^(?:npm|jsr):/, "").replace(/(?<=.)@[^@/]*$/, "").replace(/\[[^\]]*\]$/, "").replace(
    /\s*(?:==|>=|<=|~=).*$/,
    "",
  );
}

function addressOf(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol}//${host}${pathname.replace(/\/+$/, "")}`;
  } catch {
    return url;
  }
}

/** For each entry the names of the others that start the same program. */
export function twinsOf(servers: Readonly<Record<string, Definition>>): Record<string, string[]> {
  const byProgram = Map.groupBy(Object.keys(servers), (name) => programOf(servers[name]!));
  const groups = [...byProgram.values()].filter(({ length }) => length > 1);
  return Object.fromEntries(
    groups.flatMap((names) => names.map((name) => [name, names.filter((other) => other !== name)])),
  );
}
