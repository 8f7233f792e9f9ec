// Errors and delays of system calls, injected into a running process by strace.
import { isAlive, sleep } from "../../fixtures/gateway.ts";

export interface Injection {
  /** Names of system calls. */
  readonly calls: readonly string[];
  /** As after `inject=CALLS:` on strace's command line. */
  readonly effect: string;
  /** Only calls that touch these files; without it all. */
  readonly paths?: readonly string[];
}

/** Begins an injection into all threads of a process; returns the function that ends it. */
export async function inject(pid: number, { calls, effect, paths = [] }: Injection): Promise<() => Promise<void>> {
  const names = calls.join(",");
  const child = new Deno.Command("strace", {
    args: [
      ...["-f", "-qq", "-o", "/dev/null", "-p", String(pid)],
      ...["-e", `trace=${names}`, "-e", "signal=none", "-e", `inject=${names}:${effect}`],
      ...paths.flatMap((path) => ["-P", path]),
    ],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  let hasEnded = false;
  const ended = child.status.then(() => hasEnded = true);
  while (!hasEnded && isAlive(pid) && !await isTraced(pid)) await sleep(5);
  return async () => {
    if (hasEnded) return;
    // The first signal detaches; the second is for a strace that waits with a delayed call.
    child.kill("SIGTERM");
    const killing = setTimeout(() => child.kill("SIGKILL"), 2_000);
    await ended;
    clearTimeout(killing);
  };
}

async function isTraced(pid: number): Promise<boolean> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => "");
  return /^TracerPid:\s+[1-9]/m.test(status);
}

/** The reason why nothing can be injected, if there is one. */
export async function whyNoStrace(): Promise<string | undefined> {
  if (Deno.build.os !== "linux") return "strace needs Linux";
  const sleeper = new Deno.Command("sleep", { args: ["20"] }).spawn();
  try {
    const end = await inject(sleeper.pid, { calls: ["pwrite64"], effect: "error=EIO" });
    const isOn = await isTraced(sleeper.pid);
    await end();
    return isOn ? undefined : "strace may not attach to a process";
  } catch (error) {
    return `no strace: ${(error as Error).message}`;
  } finally {
    sleeper.kill("SIGKILL");
    await sleeper.status;
  }
}
