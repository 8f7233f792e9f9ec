import { AgentCardsError, follow, isObject, type Json, type JsonObject, oneLine, type Step } from "../../model/mod.ts";
import { escapeReferences } from "../references.ts";

/** `$INPUT.name` and `$INPUT["a name"]`, with what may follow; two dollars stand for one that means nothing. */
const START = /\$?\$INPUT(?=[.[])/g;
const STEP = /\.([A-Za-z_][\w-]*)|\[(\d{1,9})\]|\[("(?:[^"\\]|\\.)*")\]/y;
const ABSENT = Symbol("absent");

interface Place {
  readonly path: readonly Step[];
  readonly text: string;
}

/** The keys of a task in which parameters may stand. */
export const INPUT_KEYS = ["arguments", "context", "prompt", "agent", "tool"] as const;

/** Tasks with the values of a saved workflow's parameters in place of `$INPUT.name`. A value is meant to the letter. */
export function withInput(tasks: unknown, input: JsonObject | undefined): unknown {
  if (!Array.isArray(tasks) || !JSON.stringify(tasks).includes("$INPUT")) return tasks;
  return tasks.map((task) => {
    if (!isObject(task)) return task;
    const filled = INPUT_KEYS.filter((key) => key in task).map((key) => {
      const value = fill(task[key] as Json, input);
      // A prompt is a text, whatever is put into it.
      return [key, key === "prompt" && isObject(value) ? JSON.stringify(value) : value] as const;
    });
    return { ...task, ...Object.fromEntries(filled) };
  });
}

/** The names of the parameters that a value refers to. */
export function inputNamesIn(value: unknown): string[] {
  if (typeof value === "string") {
    return places(value).flatMap((piece) => typeof piece === "string" ? [] : [nameOf(piece)]);
  }
  if (Array.isArray(value)) return value.flatMap(inputNamesIn);
  return isObject(value) ? Object.values(value).flatMap(inputNamesIn) : [];
}

/** Text that is meant to the letter, also where it looks like a parameter. */
export function escapeInput(value: Json): Json {
  if (typeof value === "string") return value.replace(/\$(?=\$?INPUT[.[])/g, "$$$$");
  if (Array.isArray(value)) return value.map(escapeInput);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, escapeInput(item)]));
}

function fill(value: Json, input: JsonObject | undefined): Json {
  if (typeof value === "string") return filledText(value, input);
  if (Array.isArray(value)) return value.map((item) => orNull(fill(item, input)));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, fill(item, input)] as const);
  return Object.fromEntries(entries.filter(([, item]) => (item as unknown) !== ABSENT));
}

const orNull = (value: Json): Json => (value as unknown) === ABSENT ? null : value;

function filledText(text: string, input: JsonObject | undefined): Json {
  const pieces = places(text);
  const [only] = pieces;
  // An argument whose optional parameter was not given is left out.
  if (pieces.length === 1 && typeof only === "object") return lookUp(only, input) as Json;
  return pieces.map((piece) => {
    if (typeof piece === "string") return piece;
    const value = lookUp(piece, input) as unknown;
    if (value === ABSENT) {
      throw new AgentCardsError("INPUT_INVALID", `${piece.text} stands in a text and was not given`);
    }
    return typeof value === "string" ? value : JSON.stringify(value);
  }).join("");
}

function lookUp(place: Place, input: JsonObject | undefined): unknown {
  if (!input) {
    throw new AgentCardsError(
      "REFERENCE_INVALID",
      `${place.text} means a parameter, and only a saved workflow has some`,
      {
        hint: `Write $${place.text} where the text itself is meant.`,
      },
    );
  }
  const found = follow(input, place.path);
  return "value" in found ? escapeReferences(found.value as Json) : ABSENT;
}

function nameOf({ path }: Place): string {
  return String(path[0]);
}

function places(text: string): (string | Place)[] {
  const pieces: (string | Place)[] = [];
  let at = 0;
  for (const start of text.matchAll(START)) {
    if (start.index < at) continue;
    if (start[0].startsWith("$$")) {
      pieces.push(text.slice(at, start.index), start[0].slice(1));
      at = start.index + start[0].length;
      continue;
    }
    const place = readPlace(text, start.index, start[0].length);
    pieces.push(text.slice(at, start.index), place);
    at = start.index + place.text.length;
  }
  pieces.push(text.slice(at));
  return pieces.filter((piece) => piece !== "");
}

function readPlace(text: string, from: number, length: number): Place {
  const path: Step[] = [];
  STEP.lastIndex = from + length;
  let end = STEP.lastIndex;
  for (let step = STEP.exec(text); step; step = STEP.exec(text)) {
    path.push(step[1] ?? (step[2] !== undefined ? Number(step[2]) : JSON.parse(step[3]!) as string));
    end = STEP.lastIndex;
  }
  if (typeof path[0] !== "string") {
    throw new AgentCardsError(
      "REFERENCE_INVALID",
      `${oneLine(text.slice(from), 60)} is no parameter: write $INPUT.name`,
    );
  }
  return { path, text: text.slice(from, end) };
}
