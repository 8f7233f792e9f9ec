import { isInherited, type PlacedServer } from "../config/mod.ts";
import { AgentCardsError, messageOf, sanitise } from "../model/mod.ts";
import { log } from "../telemetry/mod.ts";
import { type ChildProcess, Command, type CommandStatus, fs, type Signal, system } from "../platform/start.ts";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import type { Reaper } from "./reaper.ts";

/** A server's process, its own process group. */
export interface ServerProcess {
  readonly pid: number;
  readonly stdin: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly stdout: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly exited: Promise<CommandStatus>;
  /** The last lines it wrote to stderr; of a process that has ended, all of them. */
  lastWords(): Promise<string>;
  /** Ends the whole tree: EOF, SIGTERM, after a short grace SIGKILL. */
  stop(graceMs?: number): Promise<void>;
}

/** The environment of a server: the allow list, locale settings, and its own variables. */
export function childEnvironment(
  { env: caller, cwd: session }: Pick<SpawnContext, "env" | "cwd">,
  { env: own = {}, isNeutral }: Pick<PlacedServer, "env" | "isNeutral">,
): Record<string, string> {
  const inherited = Object.entries(caller).filter(([name]) => isInherited(name));
  const given = Object.fromEntries(inherited);
  const path = isNeutral && given.PATH !== undefined && { PATH: pathWithout(session, given.PATH) };
  return { ...given, ...path, ...own };
}

/**
 * A search path without a folder that its programs are not to come from. A session that was started by `npx` has the
 * `node_modules/.bin` of its folder, and of those above, in front of everything else.
 */
function pathWithout(session: string, path: string): string {
  const project = projectAround(session);
  // All programs lie below the root of the file system, where some clients start: it is nobody's project.
  const isRoot = dirname(project) === project;
  const isBelow = (entry: string) =>
    !isRoot && [entry, realPath(entry)].some((one) => `${one}/`.startsWith(join(project, "/")));
  const isAround = (entry: string) => {
    const [project] = entry.split(/[\\/]node_modules[\\/]\.bin/);
    return project !== entry && join(session, "/").startsWith(join(project || "/", "/"));
  };
  return path.split(delimiter).filter((entry) => isAbsolute(entry) && !isBelow(entry) && !isAround(entry))
    .join(delimiter);
}

/** The repository around a folder, else the folder itself, without links. */
function projectAround(session: string): string {
  const folder = realPath(session);
  for (let dir = folder; dirname(dir) !== dir; dir = dirname(dir)) {
    try {
      fs.lstatSync(join(dir, ".git"));
      return dir;
    } catch {
      // Further up, perhaps.
    }
  }
  return folder;
}

function realPath(path: string): string {
  try {
    return fs.realPathSync(path);
  } catch {
    return path;
  }
}

export interface SpawnContext {
  /** The session's folder. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly reaper: Reaper;
  /** Told each line that it writes to stderr. */
  onWords?(line: string): void;
}

/** Makes the folder; on a full disk the root of the file system takes its place, which holds no project either. */
async function neutralFolder(path: string): Promise<string> {
  try {
    await fs.mkdir(path, { recursive: true, mode: 0o700 });
    return path;
  } catch (error) {
    if (system.os === "windows") throw error;
    log("warning", "neutral_folder_not_made", { path, reason: messageOf(error) });
    return "/";
  }
}

let spawned = 0;

/** Starts a server's program. */
export async function spawnServer(server: PlacedServer, context: SpawnContext): Promise<ServerProcess> {
  const { reaper } = context;
  // The full stop at the end keeps number 1 from being found in number 10.
  const marker = `${reaper.marker.value}.${++spawned}.`;
  const cwd = server.isNeutral ? await neutralFolder(server.cwd!) : server.cwd ?? context.cwd;
  await requireFolder(server.name, cwd);
  let child: ChildProcess;
  try {
    child = new Command(server.command!, {
      args: [...server.args ?? []],
      cwd,
      clearEnv: true,
      env: { ...childEnvironment(context, server), [reaper.marker.name]: marker },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      detached: true,
    }).spawn();
  } catch (cause) {
    const isMissing = fs.isNotFound(cause);
    const reason = isMissing ? `there is no program "${server.command}"` : messageOf(cause);
    throw new AgentCardsError("SERVER_UNREACHABLE", `Cannot start server "${server.name}": ${reason}`, {
      cause,
      hint: isMissing ? "Is it installed, and in the PATH of the shell that started this session?" : undefined,
    });
  }
  reaper.watch(child.pid);
  const words = keepLastWords(child.stderr, context.onWords);
  const exited = child.status;
  exited.then(() => {
    // What the server left behind when it went by itself goes too.
    reaper.kill(child.pid, marker);
    reaper.forget(child.pid);
  });
  const stdin = child.stdin.getWriter();
  stdin.closed.catch(() => {});
  return {
    pid: child.pid,
    stdin,
    stdout: child.stdout,
    exited,
    lastWords: words,
    async stop(graceMs = 1_000) {
      stdin.close().catch(() => {});
      signalGroup(child.pid, "SIGTERM");
      let timer: ReturnType<typeof setTimeout> | undefined;
      const grace = new Promise((resolve) => timer = setTimeout(resolve, graceMs));
      await Promise.race([exited, grace]);
      clearTimeout(timer);
      signalGroup(child.pid, "SIGKILL");
      await exited;
    },
  };
}

/** Deno reports a missing folder as a missing program; tell them apart. */
async function requireFolder(server: string, cwd: string): Promise<void> {
  const info = await fs.stat(cwd).catch(() => undefined);
  if (!info?.isDirectory) {
    throw new AgentCardsError("SERVER_UNREACHABLE", `Cannot start server "${server}": there is no folder ${cwd}`);
  }
}

function signalGroup(pid: number, signal: Signal): void {
  try {
    system.kill(system.os === "windows" ? pid : -pid, signal);
  } catch {
    // It is gone already.
  }
}

const KEPT_BYTES = 4_096;
const LAST_WORDS_MS = 300;

/** Reads a stream to its end so that its writer never blocks, remembering only the last few kilobytes. */
function keepLastWords(stream: ReadableStream<Uint8Array>, onLine: SpawnContext["onWords"]): () => Promise<string> {
  let kept = new Uint8Array();
  let isCut = false;
  let rest = "";
  const decoder = new TextDecoder();
  const tell = (text: string) => {
    const lines = (rest + text).split("\n");
    // A line without an end must not grow for ever.
    rest = lines.pop()!.slice(-KEPT_BYTES);
    for (const line of lines) if (line.trim() !== "") onLine?.(line.slice(0, KEPT_BYTES));
  };
  const reading = (async () => {
    for await (const chunk of stream) {
      if (onLine) tell(decoder.decode(chunk, { stream: true }));
      const tail = chunk.subarray(-KEPT_BYTES);
      const joined = new Uint8Array(kept.length + tail.length);
      joined.set(kept);
      joined.set(tail, kept.length);
      isCut ||= chunk.length > tail.length || joined.length > KEPT_BYTES;
      kept = joined.slice(-KEPT_BYTES);
    }
  })().catch(() => {});
  return async () => {
    // A process ends before its last words have been read; one that left its stderr to a child says no more.
    let timer: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([reading, new Promise((resolve) => timer = setTimeout(resolve, LAST_WORDS_MS))]);
    clearTimeout(timer);
    const text = new TextDecoder().decode(kept);
    // The end of a secret would not be known for one.
    return sanitise(isCut ? text.replace(/^\S*/, "") : text).trim().split("\n").slice(-5).join("\n");
  };
}
