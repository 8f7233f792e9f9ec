/** The resources of the machine that a run may use. */
export interface UsageLimits {
  readonly memoryMb: number;
  readonly cpuMs: number;
}

export type Excess = "memory" | "cpu";

/** Looks at what a process and its children hold and use; a limit that the system cannot set is at least seen at once. */
export function watchUsage(
  pid: number,
  { memoryMb, cpuMs }: UsageLimits,
  onTooMuch: (what: Excess) => void,
): { stop(): number } {
  let peak = 0;
  const look = () => {
    const used = usageOf(pid);
    peak = Math.max(peak, used.memoryMb);
    if (used.memoryMb > memoryMb) onTooMuch("memory");
    else if (used.cpuMs > cpuMs) onTooMuch("cpu");
  };
  const timer = Deno.build.os === "linux" ? setInterval(look, LOOK_EVERY_MS) : undefined;
  return {
    stop() {
      clearInterval(timer);
      return Math.round(peak);
    },
  };
}

const LOOK_EVERY_MS = 20;
const MAX_CHILDREN = 16;
/** The unit of /proc/PID/stat, the same wherever Linux runs programs. */
const TICK_MS = 10;

function usageOf(pid: number): UsageLimits {
  let [kb, ticks] = [0, 0];
  const open = [pid];
  for (const one of open) {
    // The name in brackets may hold anything, brackets included.
    const fields = readProc(`/proc/${one}/stat`).split(") ").at(-1)!.split(" ");
    ticks += Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
    kb += Number(/^VmRSS:\s+(\d+)/m.exec(readProc(`/proc/${one}/status`))?.[1] ?? 0);
    if (open.length < MAX_CHILDREN) {
      open.push(...readProc(`/proc/${one}/task/${one}/children`).split(" ").filter(Boolean).map(Number));
    }
  }
  return { memoryMb: kb / 1_024, cpuMs: ticks * TICK_MS };
}

/** At once, not in turn: a few microseconds, and the moment matters. */
function readProc(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}
