import { parse, stringify } from "smol-toml";
import type { Item } from "./item.ts";

/** A header or a `key = value` of a TOML text, by the lines it covers (end excluded). */
interface Statement {
  readonly start: number;
  readonly end: number;
  readonly isHeader: boolean;
  readonly path: readonly string[];
}

/** The text without the tables and keys under some paths; all other lines stay byte for byte. */
export function removeTables(text: string, paths: readonly (readonly string[])[]): string {
  const lines = text.split(/(?<=\n)/);
  const isUnder = (path: readonly string[]) => paths.some((wanted) => wanted.every((key, at) => path[at] === key));
  const gone = new Set<number>();
  let lastGone = -1;
  for (const { start, end, path, isHeader } of statements(lines)) {
    if (isUnder(path)) {
      // Comments between two lines of a removed table belong to it; before a header they belong to what follows.
      const from = !isHeader && lastGone >= 0 ? lastGone : start;
      for (let line = from; line < end; line++) gone.add(line);
      lastGone = end;
    } else lastGone = -1;
  }
  for (const line of [...gone]) {
    if (gone.has(line + 1)) continue;
    for (let next = line + 1; next < lines.length && lines[next]!.trim() === ""; next++) gone.add(next);
  }
  return lines.filter((_, line) => !gone.has(line)).join("");
}

/** The text with tables for some entries at its end. */
export function appendTables(text: string, items: readonly Item[]): string {
  if (items.length === 0) return text;
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const blocks = items.map(({ keys, name, entry }) => {
    const nested = [...keys, name].reduceRight<unknown>((value, key) => ({ [key]: value }), entry);
    return stringify(nested as Parameters<typeof stringify>[0]).trimEnd().replaceAll("\n", eol) + eol;
  });
  const start = text === "" || text.endsWith("\n") ? text : text + eol;
  const gap = start === "" || start.endsWith(eol + eol) ? "" : eol;
  return start + gap + blocks.join(eol);
}

function* statements(lines: readonly string[]): Generator<Statement> {
  let table: readonly string[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at]!.trim();
    if (line === "" || line.startsWith("#")) {
      at++;
      continue;
    }
    const start = at;
    const header = /^\[\[?\s*(.*?)\s*\]\]?\s*(#.*)?$/.exec(line);
    if (header) {
      table = keyPath(header[1]!);
      at++;
    } else at = endOfValue(lines, start);
    const path = header ? table : [...table, ...keyPath(keyOf(line))];
    yield { start, end: at, isHeader: header !== null, path };
  }
}

/** A value may go on over lines: it ends where its text is TOML by itself. */
function endOfValue(lines: readonly string[], start: number): number {
  let text = "";
  for (let end = start; end < lines.length; end++) {
    text += lines[end];
    const mayEnd = end === start || /"""|'''|[\]}]/.test(lines[end]!);
    if (mayEnd && isToml(text)) return end + 1;
  }
  return lines.length;
}

function isToml(text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The key before the `=`, quotes included. */
function keyOf(line: string): string {
  return /^(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^="'])+/.exec(line)?.[0].trim() ?? "";
}

/** `mcp_servers."my server".env` → its parts. */
function keyPath(key: string): string[] {
  const path: string[] = [];
  try {
    let at: unknown = parse(`${key} = 0`);
    while (typeof at === "object" && at !== null) {
      const [name] = Object.keys(at);
      path.push(name!);
      at = (at as Record<string, unknown>)[name!];
    }
  } catch {
    return [];
  }
  return path;
}
