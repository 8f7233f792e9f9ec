import { type JsonObject, terms } from "../../model/mod.ts";

/** A parameter of a tool, as far as its schema tells. */
export interface Parameter {
  readonly name: string;
  readonly description: string;
  readonly type?: string;
  readonly isRequired: boolean;
  /** What its schema says besides, where there is one. */
  readonly schema?: JsonObject;
}

/** A place in what a tool gives. */
export interface OutputField {
  readonly path: string;
  readonly description: string;
  readonly type?: string;
}

/** A tool as far as one can tell what it takes and gives. */
export interface ToolSketch {
  readonly name: string;
  readonly description: string;
  readonly inputs: readonly Parameter[];
  readonly outputs: readonly OutputField[];
}

/** A call of which some arguments are known. */
export interface CallSketch {
  readonly tool: ToolSketch;
  /** The values that are known, by parameter. */
  readonly given: Readonly<Record<string, unknown>>;
}

/** One call needs what another gives. */
export interface InferredEdge {
  readonly from: number;
  readonly to: number;
  /** `output.items[].id → input.issue_id` */
  readonly output: string;
  readonly parameter: string;
  readonly confidence: number;
  readonly why: string;
}

/** How much each sign counts; together they are a score between 0 and 1. */
const SAME_NAME = 0.6;
const DESCRIPTION = 0.25;
const SOURCE_NAMED = 0.45;
const ABOUT = 0.3;
const TYPE_CLASH = 0.35;
const SPOKEN_OF = 0.6;
const LATER = 0.15;
const ALSO_WAITS = 0.5;
const INCOMPLETE = 0.1;
const NOTHING_GIVEN = 0.3;
/** An optional parameter is taken for one that somebody feeds only where the signs are clear. */
const CLEAR = 0.85;

/**
 * How many edges turned out right with the weakest and with the strongest signs, where every value that is missing comes
 * from one of the calls. Where somebody may simply have forgotten to say it, only strong signs count.
 */
const LEAST_RIGHT = 0.72;
const MOST_RIGHT = 0.94;

/**
 * Which calls need what other calls give. A parameter that has to be there and is not must come from somewhere: of all
 * that the others give, what fits best. `order` is where each call stands in the request, as far as one can tell.
 */
export function inferEdges(request: string, calls: readonly CallSketch[]): InferredEdge[] {
  const clauses = clausesOf(request, calls);
  const places = placesIn(request, calls);
  const wanted = calls.flatMap((call, to) =>
    parametersOf(call.tool).filter(({ name }) => !Object.hasOwn(call.given, name)).map((parameter) => ({
      to,
      parameter,
    }))
  );
  const isComplete = calls.map(({ tool, given }) =>
    parametersOf(tool).every(({ name, isRequired }) => !isRequired || Object.hasOwn(given, name))
  );
  const found: InferredEdge[] = [];
  for (const { to, parameter } of wanted) {
    // Who waits for the same thing does not know it either, as long as there is somebody who does not.
    const others = calls.map((_, from) => from).filter((from) => from !== to);
    const knowing = others.filter((from) => !waitsFor(calls[from]!, parameter));
    const candidates = (knowing.length > 0 ? knowing : others)
      .map((from) => best(calls, { from, to, parameter, places, clauses, isComplete }))
      .sort((a, b) => b.confidence - a.confidence);
    const [first] = candidates;
    if (!first) continue;
    // A call of which nothing at all is known is fed by somebody, whatever its schema calls optional.
    const isNeeded = parameter.isRequired || (isComplete[to] && Object.keys(calls[to]!.given).length === 0);
    if (!isNeeded && (first.confidence < CLEAR || !isComplete[first.from])) continue;
    found.push(first);
  }
  return withoutCycles(spread(found, calls, places), calls.length)
    .map((edge) => ({ ...edge, confidence: LEAST_RIGHT + (MOST_RIGHT - LEAST_RIGHT) * edge.confidence }));
}

/** What a tool takes; one that lists nothing but speaks of "a specific location" takes something all the same. */
function parametersOf({ inputs, description }: ToolSketch): readonly Parameter[] {
  if (inputs.length > 0 || !/\b(specific|specified|given|particular|based on)\b/i.test(description)) return inputs;
  return [{ name: "", description, isRequired: true }];
}

function waitsFor({ tool, given }: CallSketch, { name: wanted }: Parameter): boolean {
  return parametersOf(tool).some(({ name }) => name === wanted && !Object.hasOwn(given, name));
}

interface Wanted {
  readonly from: number;
  readonly to: number;
  readonly parameter: Parameter;
  readonly places: readonly number[];
  /** What the request says about each call. */
  readonly clauses: readonly ReadonlySet<string>[];
  readonly isComplete: readonly boolean[];
}

function best(
  calls: readonly CallSketch[],
  { from, to, parameter, places, clauses, isComplete }: Wanted,
): InferredEdge {
  const { tool, given } = calls[from]!;
  const about = overlap(terms(`${tool.name} ${tool.description}`), terms(`${parameter.name} ${parameter.description}`));
  const isNamed = mentions(parameter.description, tool.name);
  let [confidence, output, why] = [0, "", "it has to come from somewhere"];
  for (const field of tool.outputs.length > 0 ? tool.outputs : [{ path: "", description: "" }]) {
    const name = nameSimilarity(field.path.split(".").at(-1) ?? "", parameter.name);
    const text = overlap(
      terms(`${field.path} ${field.description}`),
      terms(`${parameter.name} ${parameter.description}`),
    );
    const said = spokenOf(field.path, tool, clauses[to]!);
    const clash = isClash(field.type, parameter.type) ? TYPE_CLASH : 0;
    const score = SAME_NAME * name + DESCRIPTION * text + (isNamed ? SOURCE_NAMED : 0) + ABOUT * about +
      SPOKEN_OF * said - clash;
    if (score <= confidence && output !== "") continue;
    [confidence, output] = [score, field.path];
    why = name > 0.5
      ? "the names fit"
      : isNamed
      ? "its description names the tool"
      : text > 0.3
      ? "the texts fit"
      : why;
  }
  if (places[from]! > places[to]!) confidence -= LATER;
  if (waitsFor(calls[from]!, parameter)) confidence -= ALSO_WAITS;
  else if (!isComplete[from]) confidence -= INCOMPLETE;
  // What the request says nothing about is rather an end than a beginning.
  if (Object.keys(given).length === 0 && parametersOf(tool).length > 0) confidence -= NOTHING_GIVEN;
  return { from, to, output, parameter: parameter.name, confidence: Math.max(0, Math.min(1, confidence)), why };
}

/** Two calls of one tool that would both feed the same call each feed a parameter of their own, in the order of the request. */
function spread(
  edges: readonly InferredEdge[],
  calls: readonly CallSketch[],
  places: readonly number[],
): InferredEdge[] {
  return edges.map((edge) => {
    const twins = calls.map((_, i) => i).filter((i) =>
      i !== edge.to && calls[i]!.tool.name === calls[edge.from]!.tool.name
    ).sort((a, b) => places[a]! - places[b]!);
    if (twins.length < 2) return edge;
    const alike = edges.filter((other) =>
      other.to === edge.to && other.output === edge.output && twins.includes(other.from)
    );
    const at = alike.indexOf(edge);
    return { ...edge, from: twins[Math.min(at, twins.length - 1)]! };
  });
}

function withoutCycles(edges: readonly InferredEdge[], count: number): InferredEdge[] {
  const kept: InferredEdge[] = [];
  const feeds = Array.from({ length: count }, () => new Set<number>());
  const reaches = (from: number, to: number): boolean =>
    from === to || [...feeds[from]!].some((next) => reaches(next, to));
  for (const edge of edges.toSorted((a, b) => b.confidence - a.confidence)) {
    if (reaches(edge.to, edge.from)) continue;
    feeds[edge.from]!.add(edge.to);
    kept.push(edge);
  }
  return kept;
}

/** 1 for the same words, less where one name only ends like the other: `skyId` fits `originSkyId`. */
function nameSimilarity(a: string, b: string): number {
  const [left, right] = [terms(a), terms(b)];
  if (left.length === 0 || right.length === 0) return 0;
  if (left.join() === right.join()) return 1;
  const shared = left.filter((word) => right.includes(word)).length;
  const isEnd = right.join().endsWith(left.join()) || left.join().endsWith(right.join());
  return (isEnd ? 0.3 : 0) + 0.7 * shared / Math.max(left.length, right.length);
}

/** How much of the rarer text the other shares. */
function overlap(a: readonly string[], b: readonly string[]): number {
  const [left, right] = [new Set(a), new Set(b)];
  if (left.size === 0 || right.size === 0) return 0;
  return left.intersection(right).size / Math.min(left.size, right.size);
}

/** Whether a text speaks of a tool by its name. */
function mentions(text: string, tool: string): boolean {
  const words = new Set(terms(text));
  const name = terms(tool);
  return name.length > 1 && name.filter((word) => words.has(word)).length >= Math.max(2, name.length - 1);
}

const KINDS: ReadonlyMap<string, string> = new Map(Object.entries({
  str: "string",
  int: "number",
  integer: "number",
  float: "number",
  bool: "boolean",
  list: "array",
  dict: "object",
}));

function isClash(a: string | undefined, b: string | undefined): boolean {
  const [left, right] = [a && (KINDS.get(a) ?? a), b && (KINDS.get(b) ?? b)];
  if (!left || !right || left === right || left === "array" || right === "array") return false;
  return left === "boolean" || right === "boolean";
}

/** How much of what a call gives is spoken of where the request speaks of another: "encrypt the invoice id". */
function spokenOf(path: string, tool: ToolSketch, clause: ReadonlySet<string>): number {
  const own = terms(path);
  const subject = terms(tool.name).slice(1);
  const share = (words: readonly string[]) =>
    words.length === 0 ? 0 : words.filter((word) => clause.has(word)).length / words.length;
  return Math.max(share(own), 0.8 * share(subject));
}

/** The part of the request that speaks of each call: the one that shares most with its name and its literals. */
function clausesOf(request: string, calls: readonly CallSketch[]): ReadonlySet<string>[] {
  const parts = request.split(/[.;!?]\s|,\s|\bthen\b|\bfinally\b|\bafter that\b|\band\b/i).map((part) =>
    new Set(terms(part))
  );
  return calls.map(({ tool, given }) => {
    const about = new Set([...terms(tool.name), ...Object.values(given).flatMap((value) => terms(String(value)))]);
    let [most, found] = [0, new Set<string>()];
    for (const [i, part] of parts.entries()) {
      const shared = part.intersection(about).size;
      if (shared <= most) continue;
      // What belongs together is often taken apart by a comma.
      [most, found] = [shared, part.union(parts[i + 1] ?? new Set())];
    }
    return found;
  });
}

/** Where each call stands in the request: by its literals, else by its words; what is not found stands in the middle. */
function placesIn(request: string, calls: readonly CallSketch[]): number[] {
  const text = request.toLowerCase();
  return calls.map(({ tool, given }) => {
    const literals = Object.values(given).map((value) => text.indexOf(String(value).toLowerCase())).filter((at) =>
      at >= 0
    );
    const words = terms(`${tool.name} ${tool.description}`).map((word) => text.indexOf(word)).filter((at) => at >= 0);
    const all = literals.length > 0 ? literals : words;
    return all.length > 0 ? all.reduce((sum, at) => sum + at, 0) / all.length : text.length / 2;
  });
}
