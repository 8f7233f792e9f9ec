import { isObject, splitWords, terms, type Tool } from "../model/mod.ts";
import { createHash } from "node:crypto";
import type { WeightedTerms } from "./bm25.ts";

/** Texts that become one vector together, each with its weight. */
export type Blend = readonly { readonly text: string; readonly weight: number }[];

/** The text that a tool's vector is made of. */
export interface ToolText {
  /** Over everything that decides the vector: equal hash, equal vector. */
  readonly hash: string;
  readonly parts: Blend;
}

/** Longer descriptions say little more, and every word costs time. */
const DESCRIPTION_LENGTH = 600;
const LEXICAL_LENGTH = 2_000;
/** Whatever a server lists, one tool must not hold up all the others. */
const MAX_PARAMETERS = 100;
const PARAMETER_LENGTH = 300;

const cache = new WeakMap<Tool, ToolText>();

/** The texts of a tool: what it does and takes, its gist, and its name, so that a long text does not bury what it is. */
export function toolText(tool: Tool): ToolText {
  const cached = cache.get(tool);
  if (cached) return cached;
  const name = spoken(tool.name.slice(0, PARAMETER_LENGTH));
  const parameters = parametersOf(tool).map(([key]) => spoken(key)).join(", ").slice(0, DESCRIPTION_LENGTH);
  const description = tool.description.slice(0, DESCRIPTION_LENGTH) || tool.title || name;
  const made = textOf([
    { text: `${description}${parameters && ` Parameters: ${parameters}`}`, weight: 1 },
    { text: `${name}. ${firstSentence(tool.description.slice(0, DESCRIPTION_LENGTH))}`, weight: 0.75 },
    { text: name, weight: 0.4 },
  ]);
  cache.set(tool, made);
  return made;
}

/** A phrase that stands for itself. */
export function phraseText(phrase: string): ToolText {
  return textOf([{ text: phrase, weight: 1 }]);
}

function textOf(parts: Blend): ToolText {
  return Object.freeze({ hash: createHash("sha256").update(JSON.stringify(parts)).digest("hex"), parts });
}

/** The terms of a tool, each with the weight of its place. */
export function lexicalTerms(tool: Tool): WeightedTerms {
  const weighted = (text: string, weight: number) => terms(text).map((term) => [term, weight] as const);
  return [
    ...weighted(`${tool.name} ${tool.title ?? ""}`.slice(0, LEXICAL_LENGTH), 2),
    ...weighted(tool.server.split("/").at(-1)!, 0.5),
    ...weighted(tool.description.slice(0, LEXICAL_LENGTH), 1),
    ...parametersOf(tool).flatMap(([name, schema]) => [
      ...weighted(name, 0.5),
      ...weighted(
        isObject(schema) && typeof schema.description === "string" ? schema.description.slice(0, PARAMETER_LENGTH) : "",
        0.3,
      ),
    ]),
  ];
}

function parametersOf({ inputSchema }: Tool): [string, unknown][] {
  return Object.entries(isObject(inputSchema.properties) ? inputSchema.properties : {}).slice(0, MAX_PARAMETERS)
    .map(([name, schema]) => [name.slice(0, PARAMETER_LENGTH), schema]);
}

/** That it is a tool says nothing about one. */
const EMPTY = /^(tools?|api|mcp)$/i;

function spoken(name: string): string {
  return splitWords(name).filter((word) => !EMPTY.test(word)).join(" ") || name;
}

function firstSentence(text: string): string {
  return text.split(/(?<=[.!?])\s+|\n+/).map((sentence) => sentence.trim()).find(({ length }) => length > 8) ?? "";
}
