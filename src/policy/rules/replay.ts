import type { Origin } from "../../model/mod.ts";
import type { CompiledRule } from "./compile.ts";
import type { Judgeable } from "./judged.ts";
import type { Rehearsal, RehearsedWord } from "./rehearse.ts";

/** A call that was made, as it was kept. */
export interface PastCall {
  readonly at: number;
  readonly tool: string;
  /** Absent where they were too long to be kept. */
  readonly args?: Readonly<Record<string, unknown>>;
  readonly effect: "read" | "idempotent" | "effectful";
  readonly by: Origin["by"];
  readonly client: string | null;
  readonly folder: string;
  readonly run: string | null;
}

/** The calls that one rule would have stopped or asked about. */
export interface ReplayedRule {
  readonly rule: string;
  readonly then: "deny" | "ask";
  readonly calls: number;
  /** The newest of them. */
  readonly example: { readonly at: number; readonly tool: string; readonly args: Readonly<Record<string, unknown>> };
}

/** The verdicts of rules on calls that were made. */
export interface Replay {
  readonly calls: number;
  readonly denied: number;
  readonly asked: number;
  /** Calls that depend on what was not kept: long arguments, origins of values, the word of a program. */
  readonly unjudged: number;
  readonly rules: readonly ReplayedRule[];
  /** The verdicts that rules in observation would have given. */
  readonly observed: number;
}

interface Options {
  readonly rehearsal: Rehearsal;
  find(id: string): Judgeable | undefined;
  isGranted(tool: string, definition: Judgeable | undefined): boolean;
}

/** What origins of values need is not kept. */
const NOT_KEPT = new Set(["origin", "untrusted"]);
const FIRST_USE = "first use";

/** Judges calls in the order in which they were made. A person who is asked about a first use allows the tool. */
export async function replayCalls(
  calls: AsyncIterable<PastCall> | Iterable<PastCall>,
  { rehearsal, find, isGranted }: Options,
): Promise<Replay> {
  const found = new Map<string, ReplayedRule>();
  const allowed = new Set<string>();
  let [count, denied, asked, unjudged, observed] = [0, 0, 0, 0, 0];
  for await (const { tool, args, effect, by, client, folder, run, at } of calls) {
    count++;
    const definition = find(tool);
    const word = await rehearsal.judge({
      tool,
      args: args ?? {},
      definition,
      effect,
      by,
      at,
      isToolCall: true,
      project: folder,
      isGranted: allowed.has(tool) || isGranted(tool, definition),
      ...client !== null && { client },
      ...run !== null && { run },
    });
    if (word.observed.length > 0) observed++;
    if (isBlind(word, args, rehearsal.rulesAbout(tool))) {
      unjudged++;
      continue;
    }
    if (word.kind === "pass") continue;
    if (word.kind === "deny") denied++;
    else asked++;
    if (word.rule === FIRST_USE) allowed.add(tool);
    const then = word.kind === "deny" ? "deny" : "ask";
    const key = `${then} ${word.rule}`;
    found.set(key, {
      rule: word.rule ?? "",
      then,
      calls: (found.get(key)?.calls ?? 0) + 1,
      example: { at, tool, args: args ?? {} },
    });
  }
  const rules = [...found.values()].sort((a, b) => b.calls - a.calls);
  return { calls: count, denied, asked, unjudged, observed, rules };
}

/** True if what was not kept may have given another verdict. */
function isBlind(word: RehearsedWord, args: unknown, rules: readonly CompiledRule[]): boolean {
  if (word.kind === "deny" && args !== undefined) return false;
  if (rules.some(({ rule }) => rule.check !== undefined)) return true;
  if (rules.some(({ when }) => when && [...when.uses].some((name) => NOT_KEPT.has(name)))) return true;
  return args === undefined && rules.some(({ when, cost }) => when ?? cost);
}
