import { SYSTEM_PATH, systemProgram } from "../platform/mod.ts";
import { log } from "../telemetry/mod.ts";
import { type ChildProcess, Command, fs, unrefTimer } from "../platform/start.ts";

/**
 * Two tiny `sh` that outlive us for a moment: each holds a pipe from the engine, and when the pipe ends, whatever the way
 * the engine went, it kills every process group it was told of, and everything that still carries our marker in its
 * environment (a server that made itself a session of its own). Either is enough; one that dies is started anew.
 */
export interface Reaper {
  /** The variable that every child must carry, `NAME=value`. */
  readonly marker: { readonly name: string; readonly value: string };
  watch(pid: number): void;
  /** Kills a group at once, and what carries `marker`. */
  kill(pid: number, marker: string): void;
  forget(pid: number): void;
  close(): Promise<void>;
}

const MARKER = "AGENTCARDS_CHILD";

const SCRIPT = `
trap '' INT TERM HUP
groups=' '
marked() {
  # What was just starting another process is found in the next round.
  for round in 1 2 3; do
    if [ -d /proc/self ]; then
      found=$(grep -lsF "${MARKER}=$1" /proc/[0-9]*/environ)
    else
      found=$(ps -Aeww -o pid=,command= | grep -F "${MARKER}=$1" | grep -v grep | while read -r pid _; do echo "/$pid/"; done)
    fi
    [ -n "$found" ] || return
    for file in $found; do file=\${file#/proc}; file=\${file#/}; kill -9 "\${file%%/*}" 2>/dev/null; done
  done
}
while read -r op group marker; do
  case $op in
    +) groups="$groups$group " ;;
    -) case $groups in *" $group "*) groups="\${groups%% $group *} \${groups#* $group }" ;; esac ;;
    k) kill -9 "-$group" 2>/dev/null; marked "$marker" ;;
    m) marked "$marker" ;;
  esac
done
for group in $groups; do kill -9 "-$group" 2>/dev/null; done
marked "$1"
`;

/** Of different names: whoever ends all processes of one name leaves the other. */
const NAMES = ["agentcards-reaper", "agentcards-second"];
/** The second is not in the way of the first server's start. */
const SECOND_AFTER_MS = 100;
/** One that ends again and again must not keep us busy. */
const AGAIN_AFTER_MS = 1_000;
/** A kill may have been on its way to a reaper that died; after this it was surely done. */
const KILLS_KEPT_MS = 10_000;

/**
 * Starts the reapers; cheap (2 MB, 7 ms), so they are started with the first server. `note` is a file of the home that
 * keeps the marker: what outlived an engine and both of its reapers is ended by the next engine.
 */
export function startReaper(note?: string): Reaper {
  const id = crypto.randomUUID();
  const groups = new Set<number>();
  /** Markers whose processes were killed of late, or must be. */
  const killed = new Set<string>(note ? replaceNote(note, id) : []);
  const told = () => [...[...groups].map((pid) => `+ ${pid}`), ...[...killed].map((marker) => `m - ${marker}`)];
  const [first, second] = NAMES.map((name) => keepOne(name, id, told)) as [Kept, Kept];
  first.start();
  const later = setTimeout(second.startAgain, SECOND_AFTER_MS);
  unrefTimer(later);
  const tell = (line: string) => {
    first.tell(line);
    second.tell(line);
  };
  return {
    marker: { name: MARKER, value: id },
    watch(pid) {
      groups.add(pid);
      tell(`+ ${pid}`);
    },
    forget(pid) {
      groups.delete(pid);
      tell(`- ${pid}`);
    },
    kill(pid, marker) {
      killed.add(marker);
      unrefTimer(setTimeout(() => killed.delete(marker), KILLS_KEPT_MS));
      first.tell(`k ${pid} ${marker}`);
    },
    async close() {
      clearTimeout(later);
      await Promise.all([first.close(), second.close()]);
    },
  };
}

/** Writes down the marker of this engine; gives that of the one before. */
function replaceNote(path: string, id: string): string[] {
  let before = "";
  try {
    before = fs.readTextFileSync(path).trim();
  } catch {
    // The first engine of this home.
  }
  try {
    fs.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true, mode: 0o700 });
    fs.writeTextFileSync(path, `${id}\n`, { mode: 0o600 });
  } catch (error) {
    log("warning", "reaper_not_noted", { path, reason: String(error) });
  }
  return UUID.test(before) ? [before] : [];
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

interface Kept {
  start(): void;
  /** Starts it as often as it takes. */
  startAgain(): void;
  tell(line: string): void;
  close(): Promise<void>;
}

/** Keeps one reaper alive; a new one is told all that it must know. */
function keepOne(name: string, id: string, told: () => string[]): Kept {
  const encoder = new TextEncoder();
  let running: { child: ChildProcess; writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>> } | undefined;
  let again: ReturnType<typeof setTimeout> | undefined;
  let isClosing = false;

  const tell = (line: string) => void running?.writer.write(encoder.encode(`${line}\n`)).catch(() => {});

  function start(): void {
    const began = performance.now();
    const child = spawn(name, id);
    const writer = child.stdin.getWriter();
    writer.closed.catch(() => {});
    running = { child, writer };
    for (const line of told()) tell(line);
    child.status.then(({ code, signal }) => {
      if (isClosing) return;
      running = undefined;
      log("warning", "reaper_ended", { name, code, signal });
      again = setTimeout(startAgain, performance.now() - began < AGAIN_AFTER_MS ? AGAIN_AFTER_MS : 0);
      unrefTimer(again);
    });
  }

  function startAgain(): void {
    try {
      start();
    } catch (error) {
      log("error", "reaper_not_started", { name, reason: String(error) });
      again = setTimeout(startAgain, AGAIN_AFTER_MS);
      unrefTimer(again);
    }
  }

  return {
    start,
    startAgain,
    tell,
    async close() {
      isClosing = true;
      clearTimeout(again);
      // Whoever closes it waits for it.
      running?.child.ref();
      await running?.writer.close().catch(() => {});
      await running?.child.status;
    },
  };
}

function spawn(name: string, id: string): ChildProcess {
  const child = new Command(systemProgram("sh"), {
    args: ["-c", SCRIPT, name, id],
    stdin: "piped",
    stdout: "null",
    stderr: "null",
    clearEnv: true,
    env: { PATH: SYSTEM_PATH },
    cwd: "/",
    detached: true,
  }).spawn();
  child.unref();
  return child;
}
