import { canonicalJson, isObject, type JsonObject, worse } from "../../model/mod.ts";
import { effectOf } from "../effects.ts";
import { lintDefinition, type Surroundings } from "../lint/lint.ts";
import type { PinKind } from "./definition.ts";

/** A definition before and after a change. */
export interface Change {
  readonly kind: PinKind;
  readonly name: string;
  readonly before: JsonObject;
  readonly after: JsonObject;
}

/** The reason why a changed definition needs a person's word; undefined for a change that loosens nothing. */
export function harmOf(change: Change, around: Surroundings): string | undefined {
  const { kind, name, before, after } = change;
  const found = suspicionOf({ kind, name, definition: after }, around);
  if (found) return found;
  if (kind === "tool") return loosening(name, before, after) ?? stricterArguments(before, after);
  if (kind === "prompt") return stricterPrompt(before, after);
}

/** The first finding of the lint in a definition. */
export function suspicionOf(
  { kind, name, definition }: { kind: PinKind; name: string; definition: JsonObject },
  around: Surroundings,
): string | undefined {
  const { title, description, inputSchema, outputSchema, ...rest } = definition;
  const texts = { title, description, inputSchema: [inputSchema, rest], outputSchema };
  const [finding] = lintDefinition({ name: kind === "tool" || kind === "prompt" ? name : kind, ...texts }, around);
  return finding && `${finding.where}: ${finding.why}`;
}

/** Hints whose new value or absence makes a call more dangerous than the pinned definition says. */
const HINTS = [
  { hint: "readOnlyHint", safe: true },
  { hint: "idempotentHint", safe: true },
  { hint: "destructiveHint", safe: false },
  { hint: "openWorldHint", safe: false },
] as const;

const SAID_BY_SERVERS = { effects: {} };

function loosening(name: string, before: JsonObject, after: JsonObject): string | undefined {
  const [then, now] = [before, after].map(({ annotations }) => isObject(annotations) ? annotations as JsonObject : {});
  const effect = (annotations: JsonObject) => effectOf(SAID_BY_SERVERS, { id: name, name, annotations });
  const [was, is] = [effect(then!), effect(now!)];
  if (was !== is && worse(was, is) === is) return `its effect changed from ${was} to ${is}`;
  for (const { hint, safe } of HINTS) {
    const [old, fresh] = [then![hint], now![hint]];
    if (old !== undefined && fresh === undefined) return `the hint ${hint} is gone`;
    if (fresh !== undefined && fresh !== safe && fresh !== old) return `the hint ${hint} became ${String(fresh)}`;
  }
}

/** Keywords whose change alters which values an argument takes, besides the nested schemas. */
const TYPE_KEYWORDS = ["type", "$ref", "const", "format", "not", "anyOf", "oneOf", "allOf", "prefixItems"] as const;
const DEEPEST = 32;

function stricterArguments(before: JsonObject, after: JsonObject): string | undefined {
  const [then, now] = [before.inputSchema, after.inputSchema];
  return stricterSchema(then, now, { path: "", depth: 0 });
}

interface Place {
  readonly path: string;
  readonly depth: number;
}

function stricterSchema(before: unknown, after: unknown, { path, depth }: Place): string | undefined {
  if (depth > DEEPEST) return canonicalJson(before) === canonicalJson(after) ? undefined : "a nested argument changed";
  const [then, now] = [before, after].map((schema) => isObject(schema) ? schema : {});
  const of = path === "" ? "the arguments" : `the argument "${path.slice(0, 100)}"`;
  if (typeof before === "boolean" || typeof after === "boolean") {
    return before === after ? undefined : `${of} changed the type`;
  }
  const required = new Set(Array.isArray(then!.required) ? then!.required : []);
  const added = (Array.isArray(now!.required) ? now!.required : []).find((name) => !required.has(name));
  if (added !== undefined) return `the argument "${joined(path, String(added)).slice(0, 100)}" became required`;
  for (const keyword of TYPE_KEYWORDS) {
    const isRoot = path === "" && keyword === "type";
    const [old, fresh] = [then![keyword], now![keyword]].map((value) => value ?? (isRoot ? "object" : null));
    if (canonicalJson(old) !== canonicalJson(fresh)) return `${of} changed the type`;
  }
  return stricterParts(then!, now!, { path, depth });
}

/** Nested schemas that both sides have; an argument that came or went without being required is a wrong argument at most. */
function stricterParts(then: JsonObject | Record<string, unknown>, now: Record<string, unknown>, place: Place) {
  const { path, depth } = place;
  for (const group of ["properties", "$defs", "definitions"]) {
    const [old, fresh] = [then[group], now[group]].map((part) => isObject(part) ? part : {});
    for (const [name, schema] of Object.entries(fresh!)) {
      if (!Object.hasOwn(old!, name)) continue;
      const why = stricterSchema(old![name], schema, { path: joined(path, name), depth: depth + 1 });
      if (why) return why;
    }
  }
  for (const group of ["items", "additionalProperties"]) {
    if (then[group] === undefined || now[group] === undefined) continue;
    const why = stricterSchema(then[group], now[group], { path: joined(path, "[]"), depth: depth + 1 });
    if (why) return why;
  }
}

const joined = (path: string, name: string) => path === "" ? name : `${path}.${name}`;

function stricterPrompt(before: JsonObject, after: JsonObject): string | undefined {
  const required = ({ arguments: list }: JsonObject) =>
    (Array.isArray(list) ? list : []).filter((one) => isObject(one) && one.required === true)
      .map((one) => String((one as JsonObject).name));
  const then = new Set(required(before));
  const added = required(after).find((name) => !then.has(name));
  return added === undefined ? undefined : `the argument "${added.slice(0, 100)}" became required`;
}
