import { isObject, type Json, type JsonObject, terms } from "../../model/mod.ts";
import { literalsIn } from "../english/literals.ts";

/** A task whose arguments are said anew. */
export interface EpisodeTask {
  readonly id: string;
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly depends_on?: readonly string[];
}

export interface Rebound {
  readonly tasks: readonly EpisodeTask[];
  /** Values that the earlier request had said and the new one does not, or not plainly. */
  readonly missing: readonly { readonly task: string; readonly parameter: string; readonly was: string }[];
  readonly explanation: readonly string[];
}

/** The value that the words of the request give a parameter by themselves, where they do. */
export type BoundValue = (request: string, task: number, parameter: string) => Json | undefined;

/** A value that stands in a request, with the words around it. */
interface Said {
  readonly text: string;
  /** The kind of a literal; `name` for words with a capital, `word` for others. */
  readonly kind: string;
  readonly list?: readonly string[];
  readonly before: readonly string[];
  readonly after: string | undefined;
  readonly at: number;
}

/** The least that must speak for a value: a wrong value is worse than a missing one. */
const SURE = 3;
const SHORTEST_PART = 3;
const WORD = /[\p{L}\p{N}][\p{L}\p{N}'-]*/gu;

/** The tasks of an earlier request for a new one: values that came out of the words come out of the new words. */
export function rebind(
  earlier: string,
  now: string,
  { tasks, bound }: { readonly tasks: readonly EpisodeTask[]; readonly bound: BoundValue },
): Rebound {
  const candidates = saidIn(now, new Set(terms(earlier)));
  const found = new Map<string, { readonly value: Said; readonly was: Said } | undefined>();
  const used = new Set<Said>();
  const missing: Rebound["missing"][number][] = [];
  const explanation: string[] = [];

  /** The same value behind the same word: words of the earlier request are no candidates by themselves. */
  function sayingAgain(was: Said): Said | undefined {
    if (!isWords(was.kind) || candidates.some(({ text }) => text === was.text)) return undefined;
    const again = saidAs(now, was.text);
    return again && again.before[0] === was.before[0] ? again : undefined;
  }

  function anew(was: Said, at: number, parameter: string): Said | undefined {
    if (!found.has(was.text)) {
      const meant = bound(now, at, parameter);
      const again = sayingAgain(was);
      const scored = [...candidates, ...again ? [again] : []].filter((one) => !used.has(one))
        .map((one) => ({ one, score: likeness(was, one) + (String(meant) === one.text ? 3 : 0) }))
        .sort((a, b) => b.score - a.score);
      const [best, next] = scored;
      const isPlain = best !== undefined && best.score >= SURE && (!next || next.score < best.score);
      if (isPlain) used.add(best.one);
      found.set(was.text, isPlain ? { value: best.one, was } : undefined);
    }
    return found.get(was.text)?.value;
  }

  function changed(value: Json, at: number, parameter: string): Json | undefined {
    if (Array.isArray(value)) {
      const list = saidList(earlier, value);
      if (list) return anew(list, at, parameter)?.list as Json ?? anew(list, at, parameter)?.text as Json;
      const items = value.map((item) => changed(item, at, parameter));
      return items.some((item) => item === undefined) ? undefined : items as Json[];
    }
    if (isObject(value)) {
      const entries = Object.entries(value as JsonObject).map(([key, item]) => [key, changed(item!, at, key)] as const);
      return entries.some(([, item]) => item === undefined) ? undefined : Object.fromEntries(entries) as JsonObject;
    }
    if (typeof value !== "string" && typeof value !== "number") return value;
    if (typeof value === "string" && value.includes("$OUTPUT[")) return value;
    const part = partOf(earlier, String(value));
    if (part) return anew(part.whole, at, parameter)?.text.split("/")[part.index];
    const was = saidAs(earlier, String(value));
    if (was) {
      const text = anew(was, at, parameter)?.text;
      if (text === undefined) return undefined;
      return typeof value === "number" ? (Number.isFinite(Number(text)) ? Number(text) : undefined) : text;
    }
    return typeof value === "string" ? withParts(value, at, parameter) : value;
  }

  /** A text that has something of the request in it, such as a path with a name. */
  function withParts(value: string, at: number, parameter: string): string | undefined {
    const parts = saidIn(earlier, new Set()).filter(({ text, kind }) =>
      kind !== "word" && text.length >= SHORTEST_PART && value.includes(text)
    ).sort((a, b) => b.text.length - a.text.length);
    if (parts.length === 0) return value;
    const text = anew(parts[0]!, at, parameter)?.text;
    return text === undefined ? undefined : value.replaceAll(parts[0]!.text, () => text);
  }

  const made = tasks.map((task, at): EpisodeTask => {
    const args: [string, Json][] = [];
    for (const [parameter, value] of Object.entries(task.arguments)) {
      const next = changed(value!, at, parameter);
      if (next === undefined) missing.push({ task: task.id, parameter, was: JSON.stringify(value) });
      else args.push([parameter, next]);
      if (next !== undefined && JSON.stringify(next) !== JSON.stringify(value)) {
        explanation.push(`${task.id}.${parameter}: said where ${JSON.stringify(value)} was said before`);
      }
    }
    return { ...task, arguments: Object.fromEntries(args) };
  });
  return { tasks: made, missing, explanation };
}

/** The likeness of the places of two values in their requests. */
function likeness(was: Said, now: Said): number {
  const sameText = was.text.toLowerCase() === now.text.toLowerCase() ? 4 : 0;
  const [wasPlain, nowPlain] = [isWords(was.kind), isWords(now.kind)];
  const kind = was.kind === now.kind
    ? (wasPlain ? 1 : 3)
    : wasPlain && nowPlain
    ? 0.5
    : wasPlain !== nowPlain
    ? -0.5
    : 0;
  const shape = shapeOf(was.text) === shapeOf(now.text) ? 1 : 0;
  const before = was.before[0] !== undefined && was.before[0] === now.before[0] ? 2.5 : 0;
  const wide = was.before.some((word) => now.before.includes(word)) ? 1 : 0;
  const after = was.after !== undefined && was.after === now.after ? 1 : 0;
  const list = (was.list === undefined) === (now.list === undefined) ? 0 : -3;
  return list + sameText + kind + shape + before + wide + after - Math.abs(was.at - now.at) * 0.1;
}

const isWords = (kind: string) => kind === "word" || kind === "name";

/** `W-ann-1` and `W-ben-2` look alike; so do `a@b.c` and `x@y.z`. */
function shapeOf(text: string): string {
  return text.replace(/\p{Lu}+/gu, "A").replace(/\p{Ll}+/gu, "a").replace(/\d+/g, "9");
}

/** The values of a request: literals, and words that are no words of the earlier request. */
function saidIn(request: string, known: ReadonlySet<string>): Said[] {
  const literals = literalsIn(request);
  const found: Said[] = literals.flatMap((literal, at): Said[] => {
    const { kind, list } = literal;
    const near = { ...around(request, literal.start, literal.end), kind, at };
    // The items of a list may be values of their own, as two dates are.
    const items = list?.map((text) => ({ ...near, text })) ?? [];
    return [...items, { ...near, text: literal.text, ...list && { list } }];
  });
  let at = 0;
  for (const match of request.matchAll(WORD)) {
    const [start, end] = [match.index, match.index + match[0].length];
    if (literals.some((literal) => literal.start < end && start < literal.end)) continue;
    const own = terms(match[0]);
    const isCapital = /^\p{Lu}/u.test(match[0]) && start > 0 && !/[.!?]\s*$/.test(request.slice(0, start));
    if (!isCapital && (own.length === 0 || own.every((word) => known.has(word)))) continue;
    found.push({ ...around(request, start, end), text: match[0], kind: isCapital ? "name" : "word", at: at++ });
  }
  return found;
}

/** The `owner/name` that a value is a part of. */
function partOf(request: string, value: string): { readonly whole: Said; readonly index: number } | undefined {
  for (const whole of saidIn(request, new Set())) {
    const index = whole.kind === "slashed" && whole.list === undefined ? whole.text.split("/").indexOf(value) : -1;
    if (index >= 0) return { whole, index };
  }
}

/** The place of a value that stands in a request by itself. */
function saidAs(request: string, value: string): Said | undefined {
  if (value === "") return undefined;
  const literal = saidIn(request, new Set()).find(({ text, list }) => text === value && list === undefined);
  if (literal) return literal;
  const at = request.toLowerCase().indexOf(value.toLowerCase());
  if (at < 0 || isWithinWord(request, at, at + value.length)) return undefined;
  const isCapital = /^\p{Lu}/u.test(request.slice(at));
  return { ...around(request, at, at + value.length), text: value, kind: isCapital ? "name" : "word", at: 0 };
}

/** A list that a request says as one. */
function saidList(request: string, values: readonly Json[]): Said | undefined {
  const texts = values.map(String);
  return saidIn(request, new Set()).find(({ list }) =>
    list !== undefined && list.length === texts.length && list.every((item) => texts.includes(item))
  );
}

function isWithinWord(text: string, start: number, end: number): boolean {
  const isWord = (at: number) => /[\p{L}\p{N}_]/u.test(text[at] ?? "");
  return isWord(start - 1) && isWord(start) || isWord(end) && isWord(end - 1);
}

/** The terms before a value, the nearest first, and the one after it. */
function around(request: string, start: number, end: number): Pick<Said, "before" | "after"> {
  const before = words(request.slice(Math.max(0, start - 60), start)).slice(-3).reverse();
  return { before, after: words(request.slice(end, end + 30))[0] };
}

/** Small words count here: `from` and `to` tell two values apart. */
function words(text: string): string[] {
  return (text.toLowerCase().match(WORD) ?? []).map((word) => terms(word)[0] ?? word);
}
