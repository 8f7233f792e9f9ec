import { isObject, type Json, type JsonObject, spelledOut } from "../../model/mod.ts";

/** A run of words that stayed, went or came. */
export interface DiffPart {
  readonly op: "same" | "removed" | "added";
  readonly text: string;
}

/** The change of one member of a definition; invisible characters are written as escapes. */
export interface FieldDiff {
  readonly field: string;
  readonly parts: readonly DiffPart[];
}

const MOST_FIELDS = 200;
/** Longer texts are shown whole, the old one and the new one: the comparison takes the product of their words. */
const MOST_WORDS = 1_500;
const MOST_LEAVES = 20_000;

/** The members that differ between two definitions, word by word. */
export function diffDefinitions(before: JsonObject | null, after: JsonObject | null): FieldDiff[] {
  const [then, now] = [leavesOf(before ?? {}), leavesOf(after ?? {})];
  const fields = [...new Set([...then.keys(), ...now.keys()])];
  return fields.filter((field) => then.get(field) !== now.get(field)).slice(0, MOST_FIELDS).map((field) => ({
    field: spelledOut(field),
    parts: diffWords(then.get(field), now.get(field)),
  }));
}

/** Every text, number and truth value of a definition under its path. */
function leavesOf(definition: JsonObject): Map<string, string> {
  const leaves = new Map<string, string>();
  const visit = (value: Json, path: string): void => {
    if (leaves.size >= MOST_LEAVES) return;
    if (Array.isArray(value) && value.length > 0) value.forEach((item, i) => visit(item, `${path}[${i}]`));
    else if (isObject(value) && Object.keys(value).length > 0) {
      for (const [key, item] of Object.entries(value)) visit(item as Json, path === "" ? key : `${path}.${key}`);
    } else leaves.set(path, typeof value === "string" ? value : JSON.stringify(value));
  };
  visit(definition, "");
  return leaves;
}

/** Words with the white space behind them, so that joined they are the text again. */
const wordsOf = (text: string): readonly string[] => text.match(/\s*\S+\s*|\s+/g) ?? [];

function diffWords(before: string | undefined, after: string | undefined): DiffPart[] {
  const [old, fresh] = [wordsOf(before ?? ""), wordsOf(after ?? "")];
  if (old.length > MOST_WORDS || fresh.length > MOST_WORDS) {
    return [{ op: "removed", text: spelledOut(before ?? "") }, { op: "added", text: spelledOut(after ?? "") }];
  }
  return joined(steps(old, fresh));
}

/** The longest common subsequence of two lists of words, as steps. */
function steps(old: readonly string[], fresh: readonly string[]): DiffPart[] {
  const width = fresh.length + 1;
  const lengths = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = fresh.length - 1; j >= 0; j--) {
      lengths[i * width + j] = old[i] === fresh[j]
        ? lengths[(i + 1) * width + j + 1]! + 1
        : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    }
  }
  const parts: DiffPart[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      parts.push({ op: "same", text: old[i++]! });
      j++;
    } else if (i < old.length && (j === fresh.length || lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)) {
      parts.push({ op: "removed", text: old[i++]! });
    } else parts.push({ op: "added", text: fresh[j++]! });
  }
  return parts;
}

function joined(parts: readonly DiffPart[]): DiffPart[] {
  const runs: { op: DiffPart["op"]; text: string }[] = [];
  for (const { op, text } of parts) {
    const last = runs.at(-1);
    if (last?.op === op) last.text += text;
    else runs.push({ op, text });
  }
  return runs.map(({ op, text }) => ({ op, text: spelledOut(text) }));
}
