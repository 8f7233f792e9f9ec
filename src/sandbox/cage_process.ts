import { AgentCardsError, messageOf, oneLine } from "../model/mod.ts";
import type { Cgroup, Cgroups } from "./cgroup.ts";
import { cageCommand, type Level, MAX_THREADS } from "./command.ts";

/** A process that waits for code, from outside. */
export interface CageProcess {
  readonly pid: number;
  readonly exited: Promise<Deno.CommandStatus>;
  /** Resolves when it has said all it will ever say. */
  readonly silent: Promise<unknown>;
  /** One frame after another, so that parts of values never mix; resolves when it has gone out. */
  send(frame: unknown): Promise<void>;
  isGone(): boolean;
  /** From now on this hears what it says. */
  listen(listener: CageListener): void;
  kill(): void;
}

/** Hears bytes as they come; whoever answers false wants no more. */
export interface CageListener {
  out(chunk: Uint8Array): boolean;
  err(chunk: Uint8Array): boolean;
}

export interface CageProcessOptions {
  readonly level: Level;
  readonly memoryMb: number;
  readonly cpuMs: number;
  /** The program that makes it die with us, where there is one. */
  readonly setpriv?: string | undefined;
  /** Needed for level 3. */
  readonly groups?: Cgroups;
  /** The folder in which its own folder is made. */
  readonly folder?: string;
  readonly startMs?: number;
  /** Tells who kills what is left when we die. */
  watch(pid: number): void;
  forget(pid: number): void;
}

const KEPT_WORDS = 2_000;
const START_MS = 10_000;
const encoder = new TextEncoder();

/** Starts a process and waits until it is up: reading and writing have been done once, on both sides. */
export async function startProcess(options: CageProcessOptions): Promise<CageProcess> {
  const { level, memoryMb, cpuMs, setpriv } = options;
  const scratch = await Deno.makeTempDir({ prefix: "agentcards-cage-", ...options.folder && { dir: options.folder } });
  // Where a thread of its own would find a cache without bounds, there is a file.
  await Deno.writeTextFile(`${scratch}/location_data`, "");
  let group: Cgroup | undefined;
  const clean = () => Promise.allSettled([Deno.remove(scratch, { recursive: true }), group?.remove()]);
  let child: Deno.ChildProcess;
  try {
    group = level === 3 ? await options.groups?.make({ memoryMb, threads: MAX_THREADS }) : undefined;
    const { command, args, env } = cageCommand(level, {
      memoryMb,
      cpuMs,
      setpriv,
      scratch,
      ...group && { group: group.directory },
    });
    child = new Deno.Command(command, {
      args: [...args],
      env: { ...env },
      clearEnv: true,
      cwd: scratch,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      detached: true,
    }).spawn();
  } catch (error) {
    await clean();
    throw notStarted(level, messageOf(error));
  }
  options.watch(child.pid);
  const stdin = child.stdin.getWriter();
  stdin.closed.catch(() => {});
  let isGone = false;
  const exited = child.status.then(async (status) => {
    isGone = true;
    options.forget(child.pid);
    // Nobody reads there any more, and an open end would stay open.
    await stdin.abort().catch(() => {});
    await clean();
    return status;
  });
  const up = Promise.withResolvers<"up">();
  let words = "";
  let listener: CageListener = {
    out: () => (up.resolve("up"), true),
    err: (chunk) => (words = (words + new TextDecoder().decode(chunk)).slice(-KEPT_WORDS), true),
  };
  const hear = async (stream: ReadableStream<Uint8Array>, which: keyof CageListener) => {
    for await (const chunk of stream) if (!listener[which](chunk)) return;
  };
  const silent = Promise.allSettled([hear(child.stdout, "out"), hear(child.stderr, "err")]);
  const send = (frame: unknown) => stdin.write(encoder.encode(`${JSON.stringify(frame)}\n`)).catch(() => {});
  void send("hello");
  const kill = () => {
    try {
      Deno.kill(Deno.build.os === "windows" ? child.pid : -child.pid, "SIGKILL");
    } catch {
      // It is gone already.
    }
  };
  const timer = setTimeout(kill, options.startMs ?? START_MS);
  const came = await Promise.race([up.promise, exited]);
  clearTimeout(timer);
  if (came !== "up") {
    await silent;
    throw notStarted(level, oneLine(words, 300) || "its process ended, or did not come up in time");
  }
  return {
    pid: child.pid,
    exited,
    silent,
    send,
    listen: (heard) => listener = heard,
    isGone: () => isGone,
    kill,
  };
}

function notStarted(level: Level, why: string): AgentCardsError {
  return new AgentCardsError("SANDBOX_TOO_WEAK", `A cage of level ${level} did not start: ${why}`, {
    hint: "`agentcards engine restart` looks anew at what this machine can do.",
  });
}
