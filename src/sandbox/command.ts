import { fileURLToPath } from "node:url";

/** How strong a cage is: 0 Deno alone, 1 with resource limits, 2 with namespaces, 3 with a control group. */
export type Level = 0 | 1 | 2 | 3;

export interface CageCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const RUNNER = fileURLToPath(new URL("./runner.ts", import.meta.url));
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
/** What V8 reserves for code counts as data, though it is never used up. */
const RESERVED_MB = 600;
const SCRATCH_BYTES = 32 * 1_048_576;

/** The program that becomes a cage of a level. `scratch` is a folder of its own, thrown away with it. */
export function cageCommand(level: Level, { memoryMb, scratch }: { memoryMb: number; scratch: string }): CageCommand {
  const heap = `--v8-flags=--max-old-space-size=${memoryMb}`;
  const env = { DENO_DIR: scratch, NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" };
  const deno = realDeno();
  if (level === 0) return { command: deno, args: [...FLAGS, heap, RUNNER], env };
  const limits = [
    `--data=${(memoryMb + RESERVED_MB) * 1_048_576}`,
    "--core=0",
    "--nofile=64",
    "--fsize=67108864",
  ];
  if (level === 1) return { command: "prlimit", args: [...limits, deno, ...FLAGS, heap, RUNNER], env };
  const inside = [...limits, "/cage/deno", ...FLAGS, heap, "/cage/runner.ts"];
  return { command: "bwrap", args: [...namespaces(deno), "prlimit", ...inside], env: {} };
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
    ...["DENO_DIR", "/scratch", "NO_COLOR", "1", "DENO_NO_UPDATE_CHECK", "1"].flatMap((word, i, all) =>
      i % 2 === 0 ? ["--setenv", word, all[i + 1]!] : []
    ),
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
    "/cage/runner.ts",
    "--chdir",
    "/cage",
    "--",
  ];
}
