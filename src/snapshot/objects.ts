import { AgentCardsError } from "../model/mod.ts";
import { git, type GitPlace } from "./git.ts";

/** Paths as lines, in quotes: a name may hold a line end. */
function lines(paths: readonly string[]): string {
  return paths.map((path) => `"${path.replace(ESCAPED, (character) => ESCAPES[character] ?? octal(character))}"\n`)
    .join("");
}

// deno-lint-ignore no-control-regex
const ESCAPED = /["\\\x00-\x1f\x7f]/g;
const ESCAPES: Readonly<Record<string, string>> = { '"': '\\"', "\\": "\\\\" };

function octal(character: string): string {
  return `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`;
}

/** The blobs of files as they lie there, by path; with `isKept` their bytes are kept among our objects. */
export async function hashFiles(
  place: GitPlace,
  paths: readonly string[],
  { isKept = true } = {},
): Promise<Map<string, string>> {
  if (paths.length === 0) return new Map();
  const args = ["hash-object", ...isKept ? ["-w"] : [], "--no-filters", "--stdin-paths"];
  const printed = new TextDecoder().decode(await git(place, { args, input: lines(paths) })).split("\n").filter(Boolean);
  if (printed.length !== paths.length) throw new AgentCardsError("SNAPSHOT_FAILED", "git did not read every file");
  return new Map(paths.map((path, i) => [path, printed[i]!]));
}

/** Keeps bytes among our objects; their blob. */
export async function keepBytes(place: GitPlace, bytes: string | Uint8Array): Promise<string> {
  const args = ["hash-object", "-w", "--no-filters", "--stdin"];
  return new TextDecoder().decode(await git(place, { args, input: bytes })).trim();
}

/** The sizes of blobs; one that is not there has none. */
export async function sizesOf(place: GitPlace, blobs: readonly string[]): Promise<Map<string, number>> {
  if (blobs.length === 0) return new Map();
  const args = ["cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)"];
  const printed = new TextDecoder().decode(await git(place, { args, input: blobs.join("\n") + "\n" }));
  const found = printed.split("\n").map((line) => line.split(" ")).filter(([, type]) => type === "blob");
  return new Map(found.map(([blob, , size]) => [blob!, Number(size)]));
}

/** The bytes of a blob. */
export async function readBlob(place: GitPlace, blob: string): Promise<Uint8Array> {
  return await git(place, { args: ["cat-file", "blob", blob] });
}
