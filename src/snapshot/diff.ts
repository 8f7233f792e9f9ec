import { fs } from "../platform/start.ts";
import { join } from "node:path";
import { git, type GitPlace } from "./git.ts";
import type { Entry } from "./manifest.ts";
import { keepBytes } from "./objects.ts";
import type { Step } from "./undo_plan.ts";

const LONGEST = 200_000;

/** The steps as a patch from the files as they are to the files as they are to be, cut where it is too long to be read. */
export async function patchOf(place: GitPlace, steps: readonly Step[]): Promise<string> {
  if (steps.length === 0) return "";
  const from = await treeOf(place, steps.map(({ path, from }) => [path, from]));
  const to = await treeOf(place, steps.map(({ path, to }) => [path, to]));
  const args = ["diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", from, to];
  const text = new TextDecoder().decode(await git(place, { args }));
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}\n… ${text.length - LONGEST} characters more\n`;
}

async function treeOf(place: GitPlace, entries: readonly (readonly [string, Entry | undefined])[]): Promise<string> {
  const index = join(place.gitDir, `diff-${crypto.randomUUID()}`);
  try {
    const rows = [];
    for (const [path, entry] of entries) {
      if (entry?.kind === "file") {
        rows.push(`${(entry.mode & 0o111) === 0 ? "100644" : "100755"} ${entry.blob}\t${path}\0`);
      } else if (entry) rows.push(`120000 ${await keepBytes(place, entry.target)}\t${path}\0`);
    }
    await git(place, { args: ["update-index", "-z", "--index-info"], index, input: rows.join("") });
    return new TextDecoder().decode(await git(place, { args: ["write-tree"], index })).trim();
  } finally {
    await fs.remove(index).catch(() => {});
  }
}
