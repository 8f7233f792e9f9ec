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

/**
 * The texts of a tool: its description and parameters, its gist with and without the words of its server that it does not
 * say itself, and its name, so that a long text does not bury the purpose.
 */
export function toolText(tool: Tool): ToolText {
  const cached = cache.get(tool);
  if (cached) return cached;
  const name = spoken(tool.name.slice(0, PARAMETER_LENGTH));
  const parameters = parametersOf(tool).map(([key]) => spoken(key)).join(", ").slice(0, DESCRIPTION_LENGTH);
  const description = tool.description.slice(0, DESCRIPTION_LENGTH) || tool.title || name;
  const made = textOf([
    { text: `${description}${parameters && ` Parameters: ${parameters}`}`, weight: 1 },
    ...gistOf(tool, name),
    { text: name, weight: 0.4 },
  ]);
  cache.set(tool, made);
  return made;
}

function gistOf(tool: Tool, name: string): Blend {
  const gist = `${name}. ${firstSentence(tool.description.slice(0, DESCRIPTION_LENGTH))}`;
  const said = new Set(terms(gist));
  const server = serverWords(tool.server).filter((word) => terms(word).some((term) => !said.has(term))).join(" ");
  if (server === "") return [{ text: gist, weight: 0.8 }];
  return [{ text: `${server} ${gist}`, weight: 0.4 }, { text: gist, weight: 0.4 }];
}

/** The words of a server's name that say which service it is. */
export function serverWords(server: string): string[] {
  return splitWords(server.slice(0, PARAMETER_LENGTH)).filter((word) => !EMPTY.test(word));
}

/** A phrase that stands for itself. */
export function phraseText(phrase: string): ToolText {
  return textOf([{ text: phrase, weight: 1 }]);
}

function textOf(parts: Blend): ToolText {
  return Object.freeze({ hash: createHash("sha256").update(JSON.stringify(parts)).digest("hex"), parts });
}

/** The terms of a tool, each with the weight of its place. */
export function lexicalTerms(tool: Tool, aboutServer = ""): WeightedTerms {
  const weighted = (text: string, weight: number) => terms(text).map((term) => [term, weight] as const);
  return [
    ...weighted(`${tool.name} ${tool.title ?? ""}`.slice(0, LEXICAL_LENGTH), 2),
    ...weighted(tool.server.split("/").at(-1)!, 0.8),
    ...[...new Set(terms(aboutServer.slice(0, PARAMETER_LENGTH)))].map((term) => [term, 0.1] as const),
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

/** Words that every tool and server could have in its name. */
const EMPTY = /^(tools?|api|mcp|servers?)$/i;

function spoken(name: string): string {
  return splitWords(name).filter((word) => !EMPTY.test(word)).join(" ") || name;
}

function firstSentence(text: string): string {
  return text.split(/(?<=[.!?])\s+|\n+/).map((sentence) => sentence.trim()).find(({ length }) => length > 8) ?? "";
}
