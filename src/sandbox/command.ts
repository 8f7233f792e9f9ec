import { systemProgram } from "../platform/start.ts";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

/** The level of a cage: 0 Deno alone, 1 with resource limits, 2 with namespaces, 3 with a control group. */
export type Level = 0 | 1 | 2 | 3;

export interface CageCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const RUNNER = fileURLToPath(new URL("./runner.ts", import.meta.url));
/** Its place in a cage with namespaces; the name tells Deno its language. */
const RUNNER_INSIDE = `/cage/${basename(RUNNER)}`;
const FLAGS = [
  "run",
  "--no-prompt",
  "--no-remote",
  "--no-npm",
  "--no-config",
  "--no-lock",
  "--quiet",
  "--no-code-cache",
];
/** The memory that V8 reserves for code counts as data, though it is never used up. */
const RESERVED_MB = 600;
export const MAX_THREADS = 64;
/** A shell without one looks in fewer places than we do. */
const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin";
const SCRATCH_BYTES = 32 * 1_048_576;

export interface CageOptions {
  readonly memoryMb: number;
  /** Of all its threads together, for the system to hold it to when we are gone. */
  readonly cpuMs: number;
  /** The program that makes a process die with the one that started it, where there is one. */
  readonly setpriv?: string | undefined;
  /** A folder of its own, thrown away with it. */
  readonly scratch: string;
  /** The control group it enters before anything else. */
  readonly group?: string;
}

/** The whole environment of a cage. */
function environment(scratch: string): Record<string, string> {
  return {
    DENO_DIR: scratch,
    NO_COLOR: "1",
    DENO_NO_UPDATE_CHECK: "1",
    // Libraries without HOME ask the system for the user's home, and Mesa asks it even with HOME.
    HOME: scratch,
    TMPDIR: scratch,
    XDG_CACHE_HOME: scratch,
    // WebGPU needs no permission. With no backend it finds no adapter and loads no driver.
    DENO_WEBGPU_BACKEND: "none",
    // In case a version of Deno ignores the line above: no driver is found, and no shader is stored.
    VK_DRIVER_FILES: "/dev/null",
    VK_ICD_FILENAMES: "/dev/null",
    LIBGL_DRIVERS_PATH: "/dev/null",
    MESA_SHADER_CACHE_DISABLE: "true",
  };
}

/** Enters a group, then becomes the program; where it may not enter, nothing runs. */
export const ENTER = 'echo $$ > "$0/cgroup.procs" && exec "$@"';

/** Above what we allow ourselves: we end a run, and tell why. */
const CPU_SLACK_S = 5;
/** A process may catch the signal at its soft limit, nothing catches the one at its hard limit. */
const CPU_HARD_S = 2;

/** Sets a limit where there is no `prlimit`, then becomes the program. */
const LIMIT = 'ulimit -t "$0" && exec "$@"';

/** A program as one that the kernel kills when the thread that started it ends, whatever the way. */
export function dyingWithUs(setpriv: string | undefined, program: readonly string[]): readonly string[] {
  return setpriv ? [setpriv, "--pdeathsig", "KILL", ...program] : program;
}

/** The program that becomes a cage of a level. */
export function cageCommand(level: Level, options: CageOptions): CageCommand {
  const { memoryMb, cpuMs, setpriv, scratch, group } = options;
  const cpu = Math.ceil(cpuMs / 1_000) + CPU_SLACK_S;
  const heap = `--v8-flags=--max-old-space-size=${memoryMb}`;
  const env = environment(scratch);
  const deno = realDeno();
  const runner = dyingWithUs(setpriv, [deno, ...FLAGS, heap, RUNNER]);
  if (level === 0) {
    // Each program on the way costs half a millisecond: the stronger of the two.
    const isBound = setpriv !== undefined || Deno.build.os === "windows";
    const [command, ...args] = isBound ? runner : [systemProgram("sh"), "-c", LIMIT, String(cpu), ...runner];
    return { command: command!, args, env };
  }
  const limits = [
    `--cpu=${cpu}:${cpu + CPU_HARD_S}`,
    `--data=${(memoryMb + RESERVED_MB) * 1_048_576}`,
    "--core=0",
    "--nofile=64",
    "--fsize=67108864",
  ];
  if (level === 1) return { command: systemProgram("prlimit"), args: [...limits, ...runner], env };
  // Counted for the whole user outside of a namespace of its own, so it is set inside only.
  const inside = [...limits, `--nproc=${MAX_THREADS}`, "/cage/deno", ...FLAGS, heap, RUNNER_INSIDE];
  const isolated = [...namespaces(deno), "prlimit", ...inside];
  if (level === 2) return { command: systemProgram("bwrap"), args: isolated, env: {} };
  if (group === undefined) throw new TypeError("A cage of level 3 has a group");
  const entering = ["-c", ENTER, group, systemProgram("bwrap"), ...isolated];
  return { command: systemProgram("sh"), args: entering, env: { PATH: SYSTEM_PATH } };
}

/** The program itself: a cage may not have what a link leads through. */
function realDeno(): string {
  return Deno.realPathSync(Deno.execPath());
}

/** Nothing of the machine but the libraries a program needs; no network, no other process, no way back. */
function namespaces(deno: string): string[] {
  return [
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    ...Object.entries(environment("/scratch")).flatMap(([name, value]) => ["--setenv", name, value]),
    ...["/usr"].flatMap((path) => ["--ro-bind", path, path]),
    ...["lib", "lib64", "bin"].flatMap((name) => ["--symlink", `usr/${name}`, `/${name}`]),
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--size",
    String(SCRATCH_BYTES),
    "--tmpfs",
    "/scratch",
    "--ro-bind",
    deno,
    "/cage/deno",
    "--ro-bind",
    RUNNER,
    RUNNER_INSIDE,
    "--chdir",
    "/cage",
    "--",
  ];
}
