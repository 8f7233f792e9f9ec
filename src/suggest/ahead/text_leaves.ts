import { leavesOf, type Remembered } from "../../graphrag/mod.ts";

type Leaf = NonNullable<Remembered["leaves"]>[number];

const MOST_TEXT = 40_000;
const MOST = 400;
const LONGEST = 300;
/** A text of so many characters is a value itself, and holds no others. */
const SHORT = 60;
const PAIR =
  /["']?([A-Za-z_][\w .-]{0,40}?)["']?\s*[:=]\s*(?:"([^"\n]{1,300})"|'([^'\n]{1,300})'|([^\s,;{}[\]"']{1,300}))/g;
const TOKEN =
  /https?:\/\/[^\s"'<>)\]}]{1,280}|\/?[\w.-]+(?:\/[\w.-]+)+|[\w.+-]+@[\w-]+\.[\w.-]+|\b[\w-]+\.[a-z]{2,4}\b/g;

/**
 * The values of an output. A text that is no JSON gives the values of its `key: value` pairs, numbered by key, and the
 * addresses, paths and names of files that stand in it.
 */
export function valuesOf(output: unknown): Leaf[] {
  const leaves = leavesOf(output);
  const texts = typeof output === "string" ? [output] : Array.isArray(output) ? output.filter(isText) : [];
  for (const text of texts) if (text.length > SHORT) leaves.push(...leavesOfText(text.slice(0, MOST_TEXT)));
  return leaves.slice(0, MOST);
}

const isText = (value: unknown): value is string => typeof value === "string";

function leavesOfText(text: string): Leaf[] {
  const counts = new Map<string, number>();
  const next = (key: string) => {
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    return count;
  };
  const leaves: Leaf[] = [];
  for (const [, key, double, single, plain] of text.matchAll(PAIR)) {
    const value = double ?? single ?? plain!;
    if (value.length > LONGEST || leaves.length >= MOST) continue;
    leaves.push({ path: [key!, next(key!)], value });
  }
  for (const [token] of text.matchAll(TOKEN)) {
    if (leaves.length >= MOST) break;
    const kind = token.includes("://") ? "url" : token.includes("@") ? "mail" : token.includes("/") ? "path" : "file";
    leaves.push({ path: [kind, next(kind)], value: token.replace(/[.:]+$/, "") });
  }
  return leaves;
}
