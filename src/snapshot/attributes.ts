import { git } from "./git.ts";
import { sizesOf } from "./objects.ts";
import type { Repository } from "./repository.ts";

interface About {
  blobOf(path: string): string;
  sizeOf(path: string): number;
  readonly isAnyAttributes: boolean;
}

/** Attributes by which the bytes of a file are others than those of its blob. */
const REWRITES = ["filter", "ident", "working-tree-encoding"];
/** Attributes by which line ends may be others; a file of the same size has the same ones. */
const LINE_ENDS = ["text", "eol", "crlf"];
const OFF = new Set(["unspecified", "unset"]);

/** The clean files among these that may have other bytes than their blobs in the index. */
export async function convertedAmong(
  { place, changesLineEnds }: Repository,
  paths: readonly string[],
  { blobOf, sizeOf, isAnyAttributes }: About,
): Promise<Set<string>> {
  const converted = new Set<string>();
  const byLineEnds = new Set(changesLineEnds ? paths : []);
  if (isAnyAttributes) {
    const args = ["check-attr", "--stdin", "-z", ...REWRITES, ...LINE_ENDS];
    const printed = new TextDecoder().decode(await git(place, { args, input: paths.join("\0") + "\0" })).split("\0");
    for (let i = 0; i + 2 < printed.length; i += 3) {
      const [path, name, value] = printed.slice(i, i + 3) as [string, string, string];
      if (OFF.has(value)) continue;
      if (REWRITES.includes(name)) converted.add(path);
      else byLineEnds.add(path);
    }
  }
  const open = [...byLineEnds].filter((path) => !converted.has(path));
  const sizes = await sizesOf(place, open.map(blobOf));
  for (const path of open) if (sizes.get(blobOf(path)) !== sizeOf(path)) converted.add(path);
  return converted;
}
