/**
 * One tiny `sh` that outlives us for a moment: it holds a pipe from the engine, and when the pipe ends, whatever the way
 * the engine went, it kills every process group it was told of, and everything that still carries our marker in its
 * environment (a server that made itself a session of its own).
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
  if [ -d /proc/self ]; then
    for file in /proc/[0-9]*/environ; do
      if grep -qsF "${MARKER}=$1" "$file"; then file=\${file#/proc/}; kill -9 "\${file%/environ}" 2>/dev/null; fi
    done
  else
    ps -Aeww -o pid=,command= | grep -F "${MARKER}=$1" | grep -v grep | while read -r pid _; do kill -9 "$pid" 2>/dev/null; done
  fi
}
while read -r op group marker; do
  case $op in
    +) groups="$groups$group " ;;
    -) groups="\${groups%% $group *} \${groups#* $group }" ;;
    k) kill -9 "-$group" 2>/dev/null; marked "$marker" ;;
  esac
done
for group in $groups; do kill -9 "-$group" 2>/dev/null; done
marked "$1"
`;

/** Starts the reaper; cheap (2 MB, 7 ms), so it is started with the first server. */
export function startReaper(): Reaper {
  const id = crypto.randomUUID();
  const child = new Deno.Command("sh", {
    args: ["-c", SCRIPT, "agentcards-reaper", id],
    stdin: "piped",
    stdout: "null",
    stderr: "null",
    clearEnv: true,
    env: { PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin" },
    cwd: "/",
    detached: true,
  }).spawn();
  child.unref();
  const writer = child.stdin.getWriter();
  const encoder = new TextEncoder();
  const tell = (line: string) => void writer.write(encoder.encode(line + "\n")).catch(() => {});
  return {
    marker: { name: MARKER, value: id },
    watch: (pid) => tell(`+ ${pid}`),
    forget: (pid) => tell(`- ${pid}`),
    kill: (pid, marker) => tell(`k ${pid} ${marker}`),
    async close() {
      await writer.close().catch(() => {});
      await child.status;
    },
  };
}
