import { isObject, type Json, splitWords, terms } from "../../model/mod.ts";
import { alsoSaid, cueWords, SOURCE } from "./cues.ts";
import type { Parameter } from "./infer.ts";
import { isVerb } from "./segments.ts";

/** Choices that are too common as words to be meant by being said: only beside the parameter's own name. */
const COMMON = new Set(
  "all none text name default any auto user string number object title time id true false html get".split(" "),
);
const NOT = new Set(["without", "no", "not", "never", "dont", "skip", "disable", "exclude"]);
/** What a flag's name begins with says nothing about when it is meant. */
const FLAG = /^(is|has|with|include|enable|use|show|should|allow|want)(?=[A-Z_])/;

/** The choice of an enumeration that a request speaks of; undefined where none or more than one could be meant. */
export function spokenChoice(parameter: Parameter, said: string): Json | undefined {
  const { type, schema = {} } = parameter;
  const items = isObject(schema.items) ? schema.items : {};
  const choices = type === "array" ? items.enum : schema.enum;
  if (!Array.isArray(choices)) return undefined;
  const words = terms(said);
  const own = new Set(cueWords(parameter));
  const meant = choices.filter((choice): choice is string => typeof choice === "string" && isSaid(choice, words, own));
  if (type === "array") return meant.length > 0 ? meant : undefined;
  // "resolved in next release" is said where "resolved" is said, too: the longer one is meant.
  const longest = meant.toSorted((a, b) => terms(b).length - terms(a).length);
  const [first, second] = longest;
  if (first === undefined) return undefined;
  if (second === undefined || terms(second).length < terms(first).length) return first;
  const beside = meant.filter((choice) => isBeside(terms(choice)[0]!, words, own));
  return beside.length === 1 ? beside[0] : undefined;
}

/** Whether a word stands right by one of those that a parameter goes by. */
function isBeside(word: string, words: readonly string[], own: ReadonlySet<string>): boolean {
  return words.some((one, i) => one === word && (own.has(words[i - 1] ?? "") || own.has(words[i + 1] ?? "")));
}

function isSaid(choice: string, words: readonly string[], own: ReadonlySet<string>): boolean {
  const parts = terms(choice);
  if (parts.length === 0) return false;
  const at = parts.map((part) =>
    words.findIndex((word) => word === part || (part.length >= 4 && word.startsWith(part)))
  );
  if (at.some((index) => index < 0)) return false;
  if (parts.length > 1) return Math.max(...at) - Math.min(...at) <= parts.length + 1;
  if (!COMMON.has(parts[0]!) && choice.length > 2) return true;
  return isBeside(words[at[0]!]!, words, own);
}

/** Whether a request asks for what a flag is called: "headless", "only the main content", "without headers". */
export function spokenFlag(parameter: Parameter, said: string): boolean | undefined {
  if (parameter.type !== "boolean") return undefined;
  const isNegative = /^(no|disable|skip|exclude)(?=[A-Z_])/.test(parameter.name);
  const wanted = terms(parameter.name.replace(FLAG, "").replace(/^(no|disable|skip|exclude)(?=[A-Z_])/, ""));
  if (wanted.length === 0) return undefined;
  const raw = splitWords(said).map((word) => word.toLowerCase());
  const words = raw.map((word) => terms(word)[0] ?? "");
  const at = wanted.map((word) => words.indexOf(word));
  if (at.some((index) => index < 0) || Math.max(...at) - Math.min(...at) > wanted.length + 1) return undefined;
  const first = Math.min(...at);
  const isDenied = raw.slice(Math.max(0, first - 3), first).some((word) => NOT.has(word.replace("'", "")));
  return isNegative ? (isDenied ? true : undefined) : !isDenied;
}

/** What cannot be a name although it stands after the word that announces one. */
const NO_NAME = new Set(
  ("the a an and or of in on at to from for with as is are was were it that this there their by into be then if so my our " +
    "your its all any each every which who whose please not no list lists show named called only after afterwards before " +
    "again too also first last newest latest oldest when where while since until because but just now later type name id " +
    "key value title number one ones two three both some more most up out over under about them him her me us you i we")
    .split(" "),
);

/** A text in its words, as they stand and in their plain form. */
export interface Said {
  readonly tokens: readonly { readonly text: string; readonly index: number }[];
  readonly words: ReadonlySet<string>;
}

export function readSaid(text: string): Said {
  const tokens = [...text.matchAll(/[^\s,;]+|[,;]/g)].flatMap(({ 0: raw, index }) => {
    const word = raw.replace(/[^\p{L}\p{N}_,;]+$/u, "");
    return word === "" ? [] : [{ text: word, index }];
  });
  return { tokens, words: new Set(terms(text)) };
}

/**
 * Names that stand right after what they are: "namespace batch", "fields Name, Email and Score". Where a literal stands
 * there, the literal is meant, and that is for others to say.
 */
export function namedAfter(
  parameter: Parameter,
  { tokens, words: spoken }: Said,
  isTaken: (at: number) => boolean,
): { readonly text: string; readonly list: string[] } | undefined {
  const words = cueWords(parameter);
  const key = words.at(-1);
  const isSource = SOURCE.test(parameter.name);
  // "from" alone tells nothing of what comes from there.
  if (!key || words.length > 2 || (isSource && (!/^from/i.test(parameter.name) || !spoken.has(key)))) {
    return undefined;
  }
  const keys = isSource
    ? ["from"]
    : [key, ...alsoSaid(key).filter((word) => word.endsWith("ed") || word.endsWith("ell"))];
  for (const [i, token] of tokens.entries()) {
    if (!keys.includes(terms(token.text)[0] ?? token.text.toLowerCase())) continue;
    // Of a name of two words both have to be said.
    if (words.length === 2 && !isSource && terms(tokens[i - 1]?.text ?? "")[0] !== words[0]) continue;
    const list: string[] = [];
    for (let j = i + 1; j < tokens.length; j++) {
      const { text, index } = tokens[j]!;
      if (isTaken(index)) break;
      if (list.length === 0 && (LEADS.has(text.toLowerCase()) || terms(text)[0] === key)) continue;
      if (list.length > 0 && (text === "," || text === "and") && isName(tokens[j + 1]?.text)) continue;
      if (list.length > 0 && tokens[j - 1]!.text !== "," && tokens[j - 1]!.text !== "and") break;
      if (!isName(text)) break;
      list.push(text);
    }
    if (list.length > 0) return { text: list[0]!, list };
  }
}

const LEADS = new Set(["called", "named", "is"]);

function isName(text: string | undefined): boolean {
  if (text === undefined || !/^[\p{L}\p{N}_]/u.test(text)) return false;
  return !NO_NAME.has(text.toLowerCase()) && !isVerb(text);
}
