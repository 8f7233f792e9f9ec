// Random workflows that change the files of a repository in every way there is.
import type { Random } from "../model/random.ts";

/** One change, as the tool of the files server takes it. */
export type Change = Readonly<Record<string, unknown>>;

export interface ChangingTask {
  readonly id: string;
  readonly depends_on: readonly string[];
  readonly [field: string]: unknown;
}

const MOST_TASKS = 6;
const MOST_STEPS = 6;
const LARGE = 2_000_000;
const MODES = [0o600, 0o644, 0o700, 0o755, 0o444];

/** Tasks of both kinds, some at the same time, with steps over files that are there or not. */
export function changingTasks(random: Random, files: readonly string[], ignored: readonly string[]): ChangingTask[] {
  const count = 1 + random.below(MOST_TASKS);
  return Array.from({ length: count }, (_, i): ChangingTask => {
    const id = `t${i}`;
    const depends_on = i > 0 && random.below(3) > 0 ? [`t${random.below(i)}`] : [];
    const steps = Array.from({ length: 1 + random.below(MOST_STEPS) }, () => change(random, files, ignored));
    if (random.below(3) > 0) return { id, tool: "files:change", arguments: { steps }, depends_on };
    const half = Math.ceil(steps.length / 2);
    return {
      id,
      type: "code_execution",
      context: { first: steps.slice(0, half), second: steps.slice(half) },
      code: `for (const steps of [context.first, context.second]) {
  try { await files.change({ steps }) } catch { /* A file that is not there any more. */ }
}
return "changed"`,
      side_effects: true,
      depends_on,
    };
  });
}

function change(random: Random, files: readonly string[], ignored: readonly string[]): Change {
  const path = files[random.below(files.length)]!;
  const fresh = `${["", "new/", "deep/er/", "ä ö/", "a b/"][random.below(5)]}made-${random.below(1_000)}.txt`;
  const folder = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : path;
  const text = `text ${random.below(1e6)}\r\n`.repeat(1 + random.below(20));
  switch (random.below(13)) {
    case 0:
    case 1:
      return { do: "write", path, text };
    case 2:
      return { do: "append", path, text };
    case 3:
    case 4:
      return { do: "write", path: fresh, text };
    case 5:
      return { do: "remove", path };
    case 6:
      return random.below(4) === 0 ? { do: "remove", path: folder } : { do: "remove", path: fresh };
    case 7:
      return { do: "rename", path, to: fresh };
    case 8:
      return { do: "mode", path, mode: MODES[random.below(MODES.length)] };
    case 9:
      return { do: "link", path: `${fresh}.link`, to: random.below(2) === 0 ? path : "nowhere/at all" };
    case 10:
      // A file becomes a folder, or another file below one that is a file.
      return { do: "replace", path, to: `${path}/inside.txt`, text };
    case 11:
      return { do: "write", path: random.below(2) === 0 ? path : fresh, bytes: binary(random) };
    default:
      return ignored.length > 0
        ? { do: "write", path: ignored[random.below(ignored.length)]!, text }
        : { do: "write", path: fresh, text: "x".repeat(LARGE) };
  }
}

function binary(random: Random): string {
  const size = random.below(20) === 0 ? LARGE : 1 + random.below(2_000);
  const bytes = new Uint8Array(size);
  for (let i = 0; i < size; i += 7) bytes[i] = random.below(256);
  return bytes.toBase64();
}
