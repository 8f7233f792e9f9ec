import { AgentCardsError, cut, follow, type Json, type Step } from "../model/mod.ts";

/** `$OUTPUT[id].a[0]["b"]`: a place in what a task gave, or, as `$RESULT[handle]`, in a stored answer. */
export interface Reference {
  readonly kind: "output" | "result";
  readonly id: string;
  readonly path: readonly Step[];
  /** As it was written. */
  readonly text: string;
}

/** Names a task may have: what every object has by birth is none. */
const TASK_ID = /^[A-Za-z0-9_-]{1,64}$/;
export function isTaskId(id: string): boolean {
  return TASK_ID.test(id) && !(id in Object.prototype);
}

const START = /\$?\$(OUTPUT|RESULT)\[/g;
const NAME = /[A-Za-z0-9_-]{1,64}\]/y;
const STEP = /\.([A-Za-z_][A-Za-z0-9_]*)|\[(\d{1,9})\]|\[("(?:[^"\\]|\\.)*")\]/y;

type Piece = string | Reference;

/** A text apart: what stands there, and what is put in. Something that only begins like a reference is an error. */
export function parseTemplate(text: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const start of text.matchAll(START)) {
    if (start.index < at) continue;
    if (start[0].startsWith("$$")) {
      // Two dollars stand for one that means nothing.
      pieces.push(text.slice(at, start.index), start[0].slice(1));
      at = start.index + start[0].length;
      continue;
    }
    const reference = readReference(text, start.index, start);
    pieces.push(text.slice(at, start.index), reference);
    at = start.index + reference.text.length;
  }
  pieces.push(text.slice(at));
  return pieces.filter((piece) => piece !== "");
}

function readReference(text: string, from: number, start: RegExpExecArray): Reference {
  NAME.lastIndex = from + start[0].length;
  const name = NAME.exec(text)?.[0];
  if (!name) {
    throw new AgentCardsError(
      "REFERENCE_INVALID",
      `${cut(text.slice(from), 60)} is not a reference: it needs an id in brackets`,
      { hint: `Write $${start[0]} where the text itself is meant.` },
    );
  }
  const path: Step[] = [];
  STEP.lastIndex = NAME.lastIndex;
  let end = STEP.lastIndex;
  for (let step = STEP.exec(text); step; step = STEP.exec(text)) {
    path.push(step[1] ?? (step[2] !== undefined ? Number(step[2]) : JSON.parse(step[3]!) as string));
    end = STEP.lastIndex;
  }
  return {
    kind: start[1] === "OUTPUT" ? "output" : "result",
    id: name.slice(0, -1),
    path,
    text: text.slice(from, end),
  };
}

/** A value that is meant to the letter, also where it looks like a reference. */
export function escapeReferences(value: Json): Json {
  if (typeof value === "string") return value.replace(/\$(?=\$?(?:OUTPUT|RESULT)\[)/g, "$$$$");
  if (Array.isArray(value)) return value.map(escapeReferences);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, escapeReferences(item)]));
}

/** Every reference in a value, however deep. */
export function referencesIn(value: unknown): Reference[] {
  if (typeof value === "string") return parseTemplate(value).filter((piece) => typeof piece !== "string");
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(referencesIn);
  return [];
}

/**
 * The value with every reference filled in, in one pass: what comes out of a tool is never looked at again. A reference
 * that is the whole of a text gives the value itself, one inside a text is written into it. `lookUp` gives what a
 * reference leads to, its path included. A value without references is given back itself.
 */
export function resolveReferences(value: Json, lookUp: (reference: Reference) => unknown): Json {
  if (typeof value === "string") return resolveText(value, lookUp);
  if (Array.isArray(value)) {
    const items = value.map((item) => resolveReferences(item, lookUp));
    return items.every((item, i) => item === value[i]) ? value : items;
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, resolveReferences(item, lookUp)] as const);
  // Not by assignment: a key may be called __proto__.
  return entries.every(([key, item]) => item === value[key]) ? value : Object.fromEntries(entries);
}

function resolveText(text: string, lookUp: (reference: Reference) => unknown): Json {
  const pieces = parseTemplate(text);
  const [only] = pieces;
  if (pieces.length === 1 && typeof only === "object") return lookUp(only) as Json;
  return pieces.map((piece) => typeof piece === "string" ? piece : written(lookUp(piece))).join("");
}

function written(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}

/** The place in a value that a reference's path leads to. */
export function referred(value: unknown, { path, text }: Pick<Reference, "path" | "text">): unknown {
  const found = follow(value, path);
  if ("value" in found) return found.value;
  const where = text.slice(0, text.indexOf("]") + 1) +
    path.slice(0, found.missing).map((part) => `[${JSON.stringify(part)}]`).join("");
  throw new AgentCardsError("REFERENCE_INVALID", `${text} leads nowhere: ${where} ${found.there}`);
}
