// All processes of one folder of trials. Each carries the folder in its environment: see `faultHome`.
import { isAlive, sleep } from "../../fixtures/gateway.ts";

export interface Process {
  readonly pid: number;
  readonly parent: number;
  /** Ticks since boot: a process id may be used again, the pair is unique. */
  readonly start: string;
  readonly command: string;
}

/** The reason why processes cannot be found, if there is one. */
export function whyNoProcesses(): Promise<string | undefined> {
  return Promise.resolve(Deno.build.os === "linux" ? undefined : "processes are found in /proc, which Linux has");
}

/** Every process that carries the folder in its environment, with all descendants; ourselves left out. */
export function processesUnder(root: string): Process[] {
  const all = [...Deno.readDirSync("/proc")].flatMap(({ name }) => /^\d+$/.test(name) ? read(Number(name)) ?? [] : []);
  const found = new Set(all.filter(({ pid }) => pid !== Deno.pid && readText(`/proc/${pid}/environ`).includes(root)));
  for (let before = -1; before !== found.size;) {
    before = found.size;
    const pids = new Set([...found].map(({ pid }) => pid));
    for (const one of all) if (pids.has(one.parent)) found.add(one);
  }
  return [...found].filter(({ pid }) => isAlive(pid));
}

export function isEngine({ command }: Process): boolean {
  return / engine run$/.test(command) && !command.startsWith("sh ");
}

export function isServe({ command }: Process): boolean {
  return / serve$/.test(command);
}

export function isReaper({ command }: Process): boolean {
  return command.includes("agentcards-reaper");
}

/** Tells a process from a later one with the same id. */
export function isStill({ pid, start }: Process): boolean {
  return isAlive(pid) && read(pid)?.start === start;
}

/** Stops every process at one moment, engines first, so that nothing happens after it. */
export function freeze(root: string): void {
  const stopped = new Set<number>();
  for (;;) {
    const found = processesUnder(root).filter(({ pid }) => !stopped.has(pid));
    if (found.length === 0) return;
    for (const one of found.toSorted((a, b) => Number(isEngine(b)) - Number(isEngine(a)))) {
      signal(one.pid, "SIGSTOP");
      stopped.add(one.pid);
    }
  }
}

/** Kills everything and waits for its end. */
export async function killAll(root: string): Promise<void> {
  const deadline = performance.now() + 15_000;
  for (let quiet = 0; quiet < 3; quiet++) {
    for (const { pid } of processesUnder(root)) {
      signal(pid, "SIGKILL");
      quiet = 0;
    }
    if (performance.now() > deadline) throw new Error(`cannot end the processes of ${root}`);
    await sleep(10);
  }
}

export function signal(pid: number, name: Deno.Signal): void {
  try {
    Deno.kill(pid, name);
  } catch {
    // It is gone.
  }
}

function read(pid: number): Process | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  // The name in brackets may hold anything, so the fields are counted from its end.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields.length < 20) return undefined;
  const command = readText(`/proc/${pid}/cmdline`).split("\0").filter(Boolean).join(" ");
  return { pid, parent: Number(fields[1]), start: fields[19]!, command };
}

function readText(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}
