/** Looks at what a process and its children hold; a limit that the system cannot set is at least seen at once. */
export function peakMemory(pid: number, limitMb: number, onTooMuch: () => void): { stop(): number } {
  let peak = 0;
  const look = () => {
    const mb = residentMb(pid);
    peak = Math.max(peak, mb);
    if (mb > limitMb) onTooMuch();
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

function residentMb(pid: number): number {
  let sum = 0;
  const open = [pid];
  for (const one of open) {
    const status = readProc(`/proc/${one}/status`);
    sum += Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1_024;
    if (open.length < MAX_CHILDREN) {
      open.push(...readProc(`/proc/${one}/task/${one}/children`).split(" ").filter(Boolean).map(Number));
    }
  }
  return sum;
}

/** At once, not in turn: a few microseconds, and the moment matters. */
function readProc(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}
