import { isObject, type Json } from "../../model/mod.ts";
import { around, cue, cueWords, isCount } from "./cues.ts";
import { fitOf } from "./fitting.ts";
import { type Segment, segmentsFor } from "./segments.ts";
import { namedAfter, readSaid, type Said, spokenChoice, spokenFlag } from "./spoken.ts";
import { inferEdges, type InferredEdge, type Parameter, type ToolSketch } from "./infer.ts";
import { type Literal, literalsIn } from "./literals.ts";

/** A value that a request states for a parameter. */
export interface Bound {
  readonly value: Json;
  /** How sure it is, from 0 to 1. */
  readonly confidence: number;
  /** Why it is thought to be meant. */
  readonly why: string;
}

/** A call as far as a request tells its arguments. */
export interface BoundCall {
  readonly bound: Readonly<Record<string, Bound>>;
  /** Parameters that an earlier call has to give. */
  readonly fed: readonly InferredEdge[];
  /** Required ones that nobody gives. */
  readonly missing: readonly Parameter[];
}

/** A tool that a request asks for. */
export interface RequestedTool extends ToolSketch {
  /** Whether it only reads: what acts seldom gives what the next one needs. */
  readonly reads?: boolean;
}

/** Below this a value is left out: a wrong one is worse than none. */
const ENOUGH = 2.1;
/** A literal that would do as well for another parameter is no word for either. */
const CLEAR = 0.25;
const ELSEWHERE = 1.6;
/** Calls of one request speak of the same repository, namespace or folder unless they say otherwise. */
const SHARED =
  /^(owner|repo(sitory)?|org(anization)?(slug|id)?|project(key|id|slug)?|namespace|workspace(id)?|base(id)?|table(id)?|account(id|sid)?|team(id)?|index|cluster|database(id)?|collection|guild(id)?|site(id)?|branch|(pull|issue)number|calendarid)$/i;
const SURE_OF_FLOW = 0.88;
/** What a whole answer can be put into. */
const TAKES_TEXT = /^(text|content|body|message|markdown|html|description|comment)$/i;

/**
 * What a request says about the arguments of the tools that serve it, given in their order. `before` are calls that were
 * made already and may feed them; an edge counts them first.
 */
export function bindRequest(
  request: string,
  tools: readonly RequestedTool[],
  before: readonly RequestedTool[] = [],
): BoundCall[] {
  const literals = literalsIn(request);
  const segments = segmentsFor(request, tools, literals);
  const isAlone = tools.length === 1;
  const bound = tools.map((tool, i) => bindTool(request, { tool, literals, segment: segments[i]!, isAlone }));
  share(tools, bound);
  const all = [...before, ...tools];
  const calls = [
    ...before.map((tool) => ({ tool, given: Object.fromEntries(tool.inputs.map(({ name }) => [name, ""])) })),
    ...tools.map((tool, i) => ({ tool, given: mapValues(bound[i]!, ({ value }) => value) })),
  ];
  const flows = all.length > 1
    ? inferEdges(request, calls).filter(({ confidence, output }) => confidence >= SURE_OF_FLOW && output !== "")
    : [];
  return tools.map(({ inputs }, i) => {
    const at = before.length + i;
    const fed = flows.filter(({ to, from, parameter }) => to === at && from < at && parameter !== "");
    const isOpen = (name: string) => !(name in bound[i]!) && !fed.some(({ parameter }) => parameter === name);
    const text = inputs.find(({ name, type, isRequired }) =>
      isRequired && type === "string" && TAKES_TEXT.test(name) && isOpen(name)
    );
    const from = all.findLastIndex(({ reads }, j) => j < at && reads === true);
    if (text && from >= 0) {
      fed.push({ from, to: at, output: "", parameter: text.name, confidence: 0.7, why: "what was read goes there" });
    }
    return { bound: bound[i]!, fed, missing: inputs.filter(({ name, isRequired }) => isRequired && isOpen(name)) };
  });
}

interface Place {
  readonly tool: ToolSketch;
  readonly literals: readonly Literal[];
  readonly segment: Segment;
  readonly isAlone: boolean;
}

function bindTool(request: string, { tool, literals, segment, isAlone }: Place): Record<string, Bound> {
  const said = request.slice(segment.start, segment.end);
  const surroundings = new Map(literals.map((literal) => [literal, around(request, literal)]));
  // Names of parameters are a stranger's: none of them may find what every object has by birth.
  const bound: Record<string, Bound> = Object.create(null);
  bindNames(
    tool,
    readSaid(said),
    bound,
    (at) =>
      literals.some(({ kind, start, end }) =>
        kind !== "code" && start <= segment.start + at && segment.start + at < end
      ),
  );
  // A name that was taken is no literal for anything else.
  const taken = new Set(Object.values(bound).flatMap(({ value }) => value));
  const free = literals.filter(({ text }) => !taken.has(text));
  const left = takeApart(tool, free, { segment, isAlone }, bound);
  const pairs = tool.inputs.flatMap((parameter) =>
    left.flatMap((literal) => {
      if (parameter.name in bound) return [];
      const fit = fitOf(parameter, literal);
      if (!fit) return [];
      const isHere = isInside(literal, segment);
      const score = fit.suits + 2.2 * cue(parameter, surroundings.get(literal)!) +
        (isCount(parameter, request, literal) && fit.suits === 0.5 ? 2 : 0) + (parameter.isRequired ? 0.5 : 0) -
        (isHere ? 0 : ELSEWHERE);
      return [{ parameter, literal, value: fit.value, score }];
    })
  ).sort((a, b) => b.score - a.score);
  const used = new Set<Literal>();
  for (const { parameter, literal, value, score } of pairs) {
    if (score < ENOUGH || used.has(literal) || parameter.name in bound) continue;
    const rival = pairs.find((other) =>
      other.literal === literal && other.parameter !== parameter && !(other.parameter.name in bound) &&
      score - other.score < CLEAR
    );
    if (rival) continue;
    used.add(literal);
    bound[parameter.name] = { value, confidence: Math.min(0.97, 0.6 + 0.1 * score), why: `"${literal.text}" is said` };
  }
  bindWords(tool, said, bound);
  bindOnlyText(tool, left.filter((literal) => !used.has(literal) && isInside(literal, segment)), bound);
  return bound;
}

/** What a call is mostly about, where nothing of it is required. */
const MAIN = /^(query|q|text|message|content|title|summary|prompt|body|search|keywords?|term)$/i;

/** What is no free text whatever its type says. */
const NO_TEXT = /(type|kind|mode|format|version|id|key|status|state)s?$/i;

/** The only quoted text that is left goes to the only text that is still wanted. */
function bindOnlyText({ inputs }: ToolSketch, left: readonly Literal[], bound: Record<string, Bound>): void {
  const texts = left.filter(({ kind, list }) => kind === "quoted" && !list);
  const open = inputs.filter((parameter) =>
    !(parameter.name in bound) && texts[0] !== undefined && !NO_TEXT.test(parameter.name) &&
    (fitOf(parameter, texts[0])?.suits ?? 0) >= 1
  );
  const required = open.filter(({ isRequired }) => isRequired);
  const wanted = required.length > 0 ? required : open.filter(({ name }) => MAIN.test(name));
  const [parameter] = wanted;
  if (texts.length !== 1 || wanted.length !== 1 || parameter!.type !== "string") return;
  bound[parameter!.name] = { value: texts[0]!.text, confidence: 0.8, why: `"${texts[0]!.text}" is said` };
}

/** What stands for two parameters at once: `owner/repo`, a size. What is left may be anything else. */
function takeApart(
  { inputs }: ToolSketch,
  literals: readonly Literal[],
  { segment, isAlone }: { segment: Segment; isAlone: boolean },
  bound: Record<string, Bound>,
): Literal[] {
  const used = new Set<Literal>();
  const halves = (kind: Literal["kind"], names: readonly [string, string], split: RegExp) => {
    const both = names.map((name) => inputs.find((input) => input.name === name));
    if (!both[0] || !both[1] || both[0].name in bound) return;
    const fitting = literals.filter((literal) => literal.kind === kind && !literal.list);
    const here = fitting.filter((literal) => isAlone || isInside(literal, segment));
    const literal = here[0] ?? fitting[0];
    if (!literal) return;
    const parts = literal.text.split(split);
    used.add(literal);
    both.forEach((parameter, i) => {
      const value = parameter!.type === "string" ? parts[i]! : Number(parts[i]);
      bound[parameter!.name] = { value, confidence: 0.95, why: `"${literal.text}" is said` };
    });
  };
  span(inputs, literals.filter((literal) => isAlone || isInside(literal, segment)), { bound, used });
  halves("slashed", ["owner", "repo"], /\//);
  halves("size", ["width", "height"], /\D+/);
  return literals.filter((literal) => !used.has(literal));
}

const BEGIN = /^(start|begin|from|since|timemin|after)/i;
const END = /^(end|until|to|timemax|before)/i;

/** "on 2025-07-08 from 15:00 to 15:45": a beginning and an end, where a call has both. */
function span(
  inputs: readonly Parameter[],
  literals: readonly Literal[],
  { bound, used }: { bound: Record<string, Bound>; used: Set<Literal> },
): void {
  const [begin, end] = [BEGIN, END].map((name) =>
    inputs.find((input) =>
      name.test(input.name) && input.type === "string" && /time|date/i.test(`${input.name} ${input.description}`)
    )
  );
  const dates = literals.filter(({ kind }) => kind === "date");
  const times = literals.filter(({ kind }) => kind === "time");
  const hours = times.flatMap(({ text, list }) => list ?? [text]);
  if (!begin || !end || dates.length !== 1 || hours.length !== 2) return;
  const at = (hour: string) => `${dates[0]!.text}T${hour.padStart(5, "0")}:00`;
  for (const literal of [...dates, ...times]) used.add(literal);
  bound[begin.name] = { value: at(hours[0]!), confidence: 0.9, why: `"${hours[0]}" is said` };
  bound[end.name] = { value: at(hours[1]!), confidence: 0.9, why: `"${hours[1]}" is said` };
}

/** What is said without being a literal: choices, flags, names after what they are. */
function bindWords({ inputs }: ToolSketch, said: string, bound: Record<string, Bound>): void {
  for (const parameter of inputs) {
    if (parameter.name in bound) continue;
    const choice = spokenChoice(parameter, said);
    if (choice !== undefined) bound[parameter.name] = { value: choice, confidence: 0.85, why: `"${choice}" is said` };
    const flag = spokenFlag(parameter, said);
    if (flag !== undefined) bound[parameter.name] = { value: flag, confidence: 0.85, why: "it is asked for" };
  }
}

/** Names after what they are; they come first, since the word before them speaks of nothing else. */
function bindNames(
  { inputs }: ToolSketch,
  said: Said,
  bound: Record<string, Bound>,
  isTaken: (at: number) => boolean,
): void {
  for (const parameter of inputs) {
    const named = namedAfter(parameter, said, isTaken);
    const value = named && nameFor(parameter, named);
    if (value === undefined) continue;
    bound[parameter.name] = { value, confidence: 0.85, why: `it stands after "${cueWords(parameter).join(" ")}"` };
  }
}

function nameFor(
  { type, schema = {} }: Parameter,
  { text, list }: { text: string; list: readonly string[] },
): Json | undefined {
  const items = isObject(schema.items) ? schema.items : {};
  if (Array.isArray(schema.enum) || Array.isArray(items.enum)) return undefined;
  if (type === "array" && (items.type === "string" || items.type === undefined)) return [...list];
  return type === "string" ? text : undefined;
}

function isInside({ start, end }: Literal, segment: Segment): boolean {
  return segment.start <= start && end <= segment.end;
}

/** What one call says of where it works holds for the others of its kind. */
function share(tools: readonly ToolSketch[], bound: readonly Record<string, Bound>[]): void {
  for (const [i, { inputs }] of tools.entries()) {
    for (const { name, description } of inputs) {
      if (name in bound[i]!) continue;
      const isPlace = SHARED.test(name.replace(/[_-]/g, "")) ||
        (name === "path" && /repository|working dir/i.test(description));
      if (!isPlace) continue;
      const values = bound.flatMap((other, j) => j !== i && name in other ? [other[name]!] : []);
      const [first] = values;
      if (first && values.every(({ value }) => JSON.stringify(value) === JSON.stringify(first.value))) {
        bound[i]![name] = { ...first, confidence: first.confidence * 0.95, why: "the other calls say so" };
      }
    }
  }
}

function mapValues<T, U>(record: Readonly<Record<string, T>>, map: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
