import { isObject } from "../../model/mod.ts";

/** A text of a definition that a model reads, and its place. */
export interface DefinitionText {
  readonly where: string;
  readonly text: string;
  /** True for a text that tells the meaning of one argument. */
  readonly isOfArgument: boolean;
}

/** The parts of a definition that the lint reads; everything in them is foreign. */
export interface Definition {
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
}

const MOST_TEXTS = 2_000;
const DEEPEST = 32;

/** Every text of a definition: name, title, description, and all keys and strings of its schemas. */
export function textsOf({ name, title, description, inputSchema, outputSchema }: Definition): DefinitionText[] {
  const texts: DefinitionText[] = [{ where: "name", text: name, isOfArgument: false }];
  for (const [where, text] of Object.entries({ title, description })) {
    if (typeof text === "string") texts.push({ where, text, isOfArgument: false });
  }
  collect(inputSchema, { where: "inputSchema", depth: 0 }, texts);
  collect(outputSchema, { where: "outputSchema", depth: 0 }, texts);
  return texts;
}

function collect(value: unknown, { where, depth }: { where: string; depth: number }, texts: DefinitionText[]): void {
  if (texts.length >= MOST_TEXTS || depth > DEEPEST) return;
  if (typeof value === "string") texts.push({ where, text: value, isOfArgument: true });
  else if (Array.isArray(value)) {
    value.forEach((item, i) => collect(item, { where: `${where}[${i}]`, depth: depth + 1 }, texts));
  } else if (isObject(value)) {
    for (const [key, item] of Object.entries(value)) {
      if (key.length > LONGEST_KEYWORD) texts.push({ where: `${where}, a name`, text: key, isOfArgument: true });
      collect(item, { where: `${where}.${key.slice(0, 60)}`, depth: depth + 1 }, texts);
    }
  }
}

/** Names of arguments up to this length say too little to carry an order. */
const LONGEST_KEYWORD = 20;
