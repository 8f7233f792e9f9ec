import { AgentCardsError, messageOf, oneLine } from "../model/mod.ts";
import { SYSTEM_PATH, systemProgram } from "../platform/mod.ts";
import { Command } from "../platform/start.ts";

/** The folders that git works with: all of them our own, but for the work tree and the objects that it may read. */
export interface GitPlace {
  /** A repository of ours with no configuration but its format: the user's own is never read by a command. */
  readonly gitDir: string;
  readonly workTree: string;
  readonly index: string;
  readonly objects: string;
  /** The objects of the user's repository, to be read. */
  readonly alternates: string;
  /** Settings of the user's that say which files are ignored; none of them names a program. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface GitRequest {
  readonly args: readonly string[];
  readonly input?: string | Uint8Array;
  /** Another index than that of the place. */
  readonly index?: string;
}

const DEADLINE_MS = 60_000;
const MOST_OUTPUT = 128 * 1024 * 1024;

/**
 * A repository may have been written by anybody, and its configuration, hooks and attributes name programs. So commands
 * run with a repository of ours around the user's files and objects: there is no hook, no filter, no monitor to be run.
 * What is set here holds should a command look elsewhere all the same.
 */
const SAFE: Readonly<Record<string, string>> = {
  "core.fsmonitor": "false",
  "core.hooksPath": "/dev/null",
  "core.untrackedCache": "false",
  "core.looseCompression": "1",
  "core.quotePath": "false",
  "core.attributesFile": "/dev/null",
  "core.excludesFile": "/dev/null",
  "gc.auto": "0",
};

/** True if this machine has git. */
export async function hasGit(): Promise<boolean> {
  return await new Command(systemProgram("git"), { args: ["--version"], stdout: "null", stderr: "null" }).output()
    .then(({ success }) => success, () => false);
}

/** Runs one git command over a user's files; the text or bytes that it printed. */
export async function git(place: GitPlace, { args, input, index }: GitRequest): Promise<Uint8Array> {
  const settings = Object.entries({ ...SAFE, ...place.settings }).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
  return await runGit(["--literal-pathspecs", ...settings, ...args], {
    cwd: place.workTree,
    input,
    env: {
      GIT_DIR: place.gitDir,
      GIT_WORK_TREE: place.workTree,
      GIT_INDEX_FILE: index ?? place.index,
      GIT_OBJECT_DIRECTORY: place.objects,
      // In quotes: a colon would divide it.
      GIT_ALTERNATE_OBJECT_DIRECTORIES: `"${place.alternates.replaceAll(/["\\]/g, "\\$&")}"`,
    },
  });
}

interface RunOptions {
  readonly cwd: string;
  readonly input?: string | Uint8Array | undefined;
  readonly env?: Readonly<Record<string, string>>;
}

/** The settings of a file as pairs of key and value; reading them runs nothing, and follows no `include`. */
export async function settingsIn(file: string): Promise<[string, string][]> {
  const bytes = await runGit(["config", "--file", file, "--no-includes", "-z", "--list"], { cwd: "/" });
  return parseSettings(bytes);
}

/** The user's own settings and those of the machine. */
export async function settingsOfUser(home: string): Promise<[string, string][]> {
  const env = { HOME: home, GIT_CONFIG_NOSYSTEM: "", GIT_CONFIG_GLOBAL: "", GIT_CEILING_DIRECTORIES: "/" };
  return parseSettings(await runGit(["config", "--includes", "-z", "--list"], { cwd: "/", env }));
}

function parseSettings(bytes: Uint8Array): [string, string][] {
  return new TextDecoder().decode(bytes).split("\0").filter(Boolean).map((line) => {
    const at = line.indexOf("\n");
    // A key alone means true.
    return at < 0 ? [line.toLowerCase(), "true"] : [line.slice(0, at).toLowerCase(), line.slice(at + 1)];
  });
}

async function runGit(args: readonly string[], { cwd, input, env }: RunOptions): Promise<Uint8Array> {
  const given = {
    PATH: SYSTEM_PATH,
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_NO_REPLACE_OBJECTS: "1",
    ...env,
  };
  // An empty word stands for a variable that is not to be there at all.
  const whole = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ""));
  const child = new Command(systemProgram("git"), {
    args: [...args],
    cwd,
    env: whole,
    clearEnv: true,
    stdin: input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout(DEADLINE_MS),
  }).spawn();
  const [, stdout, stderr, { success, code, signal }] = await Promise.all([
    input === undefined ? undefined : feed(child.stdin, input),
    readAll(child.stdout, () => child.kill("SIGKILL")),
    readAll(child.stderr, () => {}),
    child.status,
  ]);
  if (success) return stdout;
  const words = oneLine(new TextDecoder().decode(stderr), 500) || `it ended with ${signal ?? `code ${code}`}`;
  throw new AgentCardsError("SNAPSHOT_FAILED", `git ${args.findLast((arg) => /^[a-z-]+$/.test(arg))}: ${words}`);
}

async function feed(stdin: WritableStream<Uint8Array>, input: string | Uint8Array): Promise<void> {
  const writer = stdin.getWriter();
  try {
    await writer.write(typeof input === "string" ? new TextEncoder().encode(input) : input);
    await writer.close();
  } catch (error) {
    // It ended before it had read all: its status says why.
    if (!/pipe|closed/i.test(messageOf(error))) throw error;
  }
}

async function readAll(stream: ReadableStream<Uint8Array>, onTooMuch: () => void): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > MOST_OUTPUT) {
      onTooMuch();
      throw new AgentCardsError("SNAPSHOT_FAILED", "git printed more than 128 MB");
    }
    chunks.push(chunk);
  }
  if (chunks.length === 1) return chunks[0]!;
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
