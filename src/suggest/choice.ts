import { splitWords, type Tool } from "../model/mod.ts";
import type { Hit, ToolSearch } from "../vector/mod.ts";
import { bindRequest } from "./english/bind.ts";
import { type Literal, literalsIn } from "./english/literals.ts";
import { actionsOf, verbOf } from "./english/segments.ts";
import { sketchOf } from "./english/sketch.ts";

/** A tool chosen for a part of a request, with how it compares with the others. */
export interface Choice {
  readonly tool: Tool;
  readonly clause: string;
  /** How well it fits, from 0 to 1. */
  readonly score: number;
  /** How far the next best is behind. */
  readonly margin: number;
  readonly others: readonly Hit[];
}

/** Finds tools for a text, and says whether any of them fits. */
export type Find = (query: string, limit: number) => Promise<{ readonly hits: readonly Hit[]; readonly fits: boolean }>;

/** A score that stands out as much as it can is that of a sure hit; among few tools nothing can stand out far. */
const STANDS_OUT = 5;

/** Looks among some tools. */
export function findAmong(search: ToolSearch, tools: readonly Tool[]): Find {
  const furthest = (tools.length - 1) / Math.sqrt(Math.max(1, tools.length));
  const scale = Math.max(1, STANDS_OUT / Math.max(0.5, furthest));
  const fair = (score: number) => 1 / (1 + Math.exp(3 - scale * (3 + Math.log(score / (1 - score + 1e-9)))));
  return async (query, limit) => {
    const { hits, weak } = await search.search(tools, query, limit);
    const found = [...hits, ...weak].map(({ tool, score }) => ({ tool, score: scale === 1 ? score : fair(score) }));
    return { hits: found, fits: hits.length > 0 };
  };
}

const WHOLE = 30;
const EACH = 12;
/** How much a part's own word counts against that of the request as a whole. */
const OWN = 0.65;
const MOST = 8;
/** A part that nothing fits by itself is served by what fits the whole, if it fits well enough. */
const LEAST = 0.4;
/** So many of the best are held against what the request says about arguments. */
const LOOKED_AT = 5;
const ARGUMENTS = 0.15;
/** A tool whose name says what is asked to be done. */
const SAYS_IT = 0.1;

/** The tools that serve a request, and what of it they serve. */
export interface Chosen {
  readonly choices: readonly Choice[];
  /** What the choices are for. */
  readonly served: string;
  /** What nothing was found for. */
  readonly unserved: readonly string[];
}

/** Which tools serve a request: for each thing it asks for the one that fits it best, seen in the light of the rest. */
export async function chooseTools(request: string, find: Find): Promise<Chosen> {
  const { preface, clauses } = actionsOf(request, literalsIn(request));
  const whole = await findEither(request, find, WHOLE);
  if (clauses.length === 1) {
    const choices = whole.fits ? pick(request, whole.hits) : [];
    return { choices, served: request, unserved: choices.length > 0 ? [] : [request] };
  }
  const choices: Choice[] = [];
  const unserved: string[] = [];
  let served = preface;
  for (const clause of clauses.slice(0, MOST)) {
    const text = `${preface} ${clause}`.trim();
    const own = await findEither(text, find, EACH);
    const last = choices.at(-1)?.tool.id;
    const found = mixed(whole.hits, own.hits);
    const isFound = own.fits || (whole.fits && (found[0]?.score ?? 0) >= LEAST);
    const [choice] = isFound ? pick(text, found, last) : [];
    if (!choice) {
      unserved.push(clause.trim());
      continue;
    }
    served += clause;
    // Two parts that mean the same tool one after another are mostly one that was taken apart.
    if (last !== choice.tool.id) choices.push({ ...choice, clause });
  }
  return { choices, served, unserved: [...unserved, ...clauses.slice(MOST)] };
}

/** Looks for what a text says without its literals, which mislead, and with them where nothing fits otherwise. */
async function findEither(text: string, find: Find, limit: number): ReturnType<Find> {
  const plain = whatItSays(text);
  const found = await find(plain, limit);
  return found.fits || plain === text ? found : await find(text, limit);
}

/** What a literal is, instead of what it says: a file called `archive` is no archive. */
const KIND_WORDS: Partial<Record<Literal["kind"], string>> = {
  url: "URL",
  path: "file",
  file: "file",
  sql: "SQL query",
  slashed: "",
  email: "",
  quoted: "",
  json: "",
};

/** A text without what is meant to the letter, which would say something of its own. */
export function whatItSays(text: string): string {
  const literals = literalsIn(text).filter(({ kind }) => kind in KIND_WORDS);
  return literals.reduceRight(
    (left, { kind, start, end }) => left.slice(0, start) + KIND_WORDS[kind] + left.slice(end),
    text,
  ).replace(/\s+/g, " ").trim() || text;
}

function mixed(whole: readonly Hit[], own: readonly Hit[]): Hit[] {
  if (own.length === 0) return [...whole];
  const general = new Map(whole.map(({ tool, score }) => [tool.id, score]));
  const special = new Map(own.map(({ tool, score }) => [tool.id, score]));
  const all = new Map([...whole, ...own].map(({ tool }) => [tool.id, tool]));
  return [...all.values()].map((tool) => ({
    tool,
    score: OWN * (special.get(tool.id) ?? 0) + (1 - OWN) * (general.get(tool.id) ?? 0),
  })).sort((a, b) => b.score - a.score);
}

function pick(clause: string, found: readonly Hit[], last?: string): Choice[] {
  const verb = verbOf(clause);
  const hits = found.slice(0, LOOKED_AT).map(({ tool, score }) => ({
    tool,
    score: score + ARGUMENTS * argumentsSaid(tool, clause) +
      (doesIt(tool, verb) ? SAYS_IT : tool.id === last ? -2 * SAYS_IT : 0),
  })).sort((a, b) => b.score - a.score);
  const [first, second] = hits;
  if (!first) return [];
  const { tool, score } = first;
  return [{ tool, clause, score, margin: score - (second?.score ?? 0), others: hits.slice(1, 4) }];
}

/** What people say for what tools are called. */
const ALSO: Readonly<Record<string, string>> = {
  rename: "move",
  move: "rename",
  remember: "create add store",
  show: "get list read",
  open: "navigate new",
  post: "send create",
  send: "post",
  file: "create",
  write: "create save put",
  delete: "remove",
  remove: "delete",
  find: "search",
  look: "search find",
  tell: "post send",
  mark: "update",
  change: "update edit set",
  stage: "add",
  mail: "send",
  read: "get",
  run: "execute",
};

function doesIt({ name }: Tool, verb: string): boolean {
  const words = new Set(splitWords(name).map((word) => word.toLowerCase()));
  return verb !== "" && [verb, ...(ALSO[verb] ?? "").split(" ")].some((word) => words.has(word));
}

/** How much of what a tool needs is said: from 0 for nothing of it to 1 for all, and more where it takes more of it. */
function argumentsSaid(tool: Tool, clause: string): number {
  const sketch = sketchOf(tool);
  const [{ bound, missing } = { bound: {}, missing: [] }] = bindRequest(clause, [sketch]);
  const required = sketch.inputs.filter(({ isRequired }) => isRequired).length;
  // What is missing may come from another call.
  const given = required === 0 ? 0 : 1 - missing.length / required;
  return given * 0.5 + Math.min(0.5, 0.12 * Object.keys(bound).length);
}
