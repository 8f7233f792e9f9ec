import type { Session } from "../call/mod.ts";
import { isObject, oneLine, terms, type Tool, toolId, WORKFLOW_SERVER } from "../model/mod.ts";
import type { Learning } from "./learning.ts";

/** A known workflow that a prompt asks for. */
export interface PromptHint {
  /** The name of the saved workflow. */
  readonly workflow: string;
  /** From 0 to 1. */
  readonly confidence: number;
  /** The line of context for the model. */
  readonly line: string;
}

/** Finds the known work that a prompt asks for; undefined where nothing fits. */
export type FindHint = (session: Session, prompt: string) => Promise<PromptHint | undefined>;

/** Lines of context for prompts, and the outcomes of those that were given. */
export interface PromptHints {
  /** The line for a prompt; undefined where nothing is sure enough. */
  hint(session: Session, prompt: string): Promise<string | undefined>;
  /** Somebody calls a saved workflow. */
  used(session: Session, workflow: string): void;
  status(): Promise<{ readonly given: number; readonly used: number; readonly hint_at: number }>;
}

/** The lowest confidence of a line; lines that nobody used raise it up to the highest. */
const LOWEST = 0.85;
const HIGHEST = 0.99;
/** The newest outcomes that count, and the fewest that change anything. */
const KEPT = 40;
const ENOUGH = 4;
const OUTCOMES = "prompt_hints";
const LONGEST_LINE = 500;

export function createPromptHints(learning: Learning, finders: readonly FindHint[] = [savedWorkflow]): PromptHints {
  const given = new WeakMap<Session, PromptHint>();

  /** What is known of them by now: a client waits for its line, and the database may still be opening. */
  let known: readonly boolean[] = [];
  let reading: Promise<readonly boolean[]> | undefined;

  function outcomes(): Promise<readonly boolean[]> {
    reading ??= learning.state(OUTCOMES).then((kept) => {
      return known = Array.isArray(kept) ? kept.filter((one) => typeof one === "boolean") : [];
    });
    reading.catch(() => reading = undefined);
    return reading;
  }

  async function note(session: Session, wasUsed: boolean): Promise<void> {
    if (!given.delete(session)) return;
    await outcomes();
    known = [...known, wasUsed].slice(-KEPT);
    await learning.keep(OUTCOMES, known);
  }

  return {
    async hint(session, prompt) {
      // A line whose workflow was not called until the next prompt was needless.
      void note(session, false).catch(() => {});
      void outcomes().catch(() => {});
      const found = (await Promise.all(finders.map((find) => find(session, prompt)))).filter((one) => one !== undefined)
        .toSorted((a, b) => b.confidence - a.confidence)[0];
      if (!found || found.confidence < hintAt(known)) return undefined;
      given.set(session, found);
      return found.line;
    },
    used(session, workflow) {
      const hint = given.get(session);
      if (hint) void note(session, hint.workflow === workflow).catch(() => {});
    },
    async status() {
      await outcomes();
      return { given: known.length, used: known.filter(Boolean).length, hint_at: hintAt(known) };
    },
  };
}

/** The confidence from which a line is given: the more lines were needless, the higher. */
function hintAt(outcomes: readonly boolean[]): number {
  if (outcomes.length < ENOUGH) return LOWEST;
  const needless = outcomes.filter((wasUsed) => !wasUsed).length / outcomes.length;
  return LOWEST + (HIGHEST - LOWEST) * needless;
}

/** Words that say that something is wanted, not what. */
const EMPTY_WORDS = new Set(
  terms("please run do make create get show me the a an of for to and with in on my our all new"),
);
const FEWEST_WORDS = 2;

/** The saved workflow whose name or description a prompt says nearly word for word. */
async function savedWorkflow(session: Session, prompt: string): Promise<PromptHint | undefined> {
  const saved = await session.shared.saved.tools(session);
  if (saved.length === 0) return undefined;
  const said = new Set(terms(prompt.slice(0, 4_000)));
  const judged = saved.map((tool) => ({ tool, confidence: confidenceOf(tool, said) }))
    .toSorted((a, b) => b.confidence - a.confidence);
  const [best, next] = judged;
  // Two that fit alike: the prompt does not say which.
  if (!best || best.confidence === 0 || next && next.confidence === best.confidence) return undefined;
  return { workflow: best.tool.name, confidence: best.confidence, line: lineFor(best.tool) };
}

/** The share of the words of a workflow's name, or of its description, that a prompt has. */
function confidenceOf({ name, description }: Tool, said: ReadonlySet<string>): number {
  const own = description.replace(/ ?\(saved workflow: [^]*\)$/, "");
  return Math.max(...[name, own].map((text) => {
    const words = [...new Set(terms(text))].filter((word) => !EMPTY_WORDS.has(word));
    if (words.length < FEWEST_WORDS) return 0;
    return words.filter((word) => said.has(word)).length / words.length;
  }));
}

function lineFor({ name, description, inputSchema }: Tool): string {
  const properties = isObject(inputSchema.properties) ? Object.keys(inputSchema.properties) : [];
  const required = Array.isArray(inputSchema.required) ? inputSchema.required : [];
  const parameters = properties.map((key) => required.includes(key) ? key : `${key}?`).join(", ");
  const call = JSON.stringify({ tool: toolId(WORKFLOW_SERVER, name), arguments: {} });
  const takes = parameters === "" ? "no arguments" : `arguments: ${parameters}`;
  return oneLine(
    `AgentCards has a saved workflow that does this in one call: call_tool ${call} (${takes}). ${description}`,
    LONGEST_LINE,
  );
}
