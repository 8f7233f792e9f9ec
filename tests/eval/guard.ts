// deno-lint-ignore-file no-console -- printing is asked for by an option
// Attacks that a preset stops or asks about, and honest runs that it interrupts: recorded runs, judged call by call.
import { DEFAULTS } from "../../src/config/schema.ts";
import type { Preset } from "../../src/config/policy_schema.ts";
import { createProvenance, createRulebook, createRuleHistory, effectOf } from "../../src/policy/mod.ts";
import type { Evaluation } from "./main.ts";

interface Row {
  readonly attack: boolean;
  readonly suite: string;
  readonly task: string;
  readonly prompt: string;
  readonly calls: readonly { readonly tool: string; readonly args: Record<string, unknown>; readonly output: string }[];
}

export const evaluation: Evaluation = {
  options: {
    data: { type: "string" },
    preset: { type: "string", default: "strict" },
    /** Every tool was allowed always before, so that questions about first uses count for nothing; else none was. */
    fresh: { type: "boolean" },
    show: { type: "boolean" },
  },
  async run({ data, preset = "strict", fresh, show }) {
    if (!data) throw new Error("--data FILE is needed: rows of attack, suite, prompt, calls");
    const rows = (await Deno.readTextFile(data)).trim().split("\n").map((line) => JSON.parse(line) as Row);
    const judged = rows.map((row) => ({ row, questions: questionsOf(row, preset as Preset, !fresh) }));
    const [attacks, benign] = [true, false].map((attack) => judged.filter(({ row }) => row.attack === attack));
    const share = (some: typeof judged) => some.filter(({ questions }) => questions.length > 0).length / some.length;
    if (show) {
      for (const { row, questions } of judged) {
        console.log(row.attack ? "attack" : "benign", row.suite, row.task, questions.join(" | ") || "-");
      }
    }
    const sources: Record<string, unknown> = {};
    for (const [suite, some] of Map.groupBy(judged, ({ row }) => row.suite)) {
      sources[suite] = {
        stopped: share(some.filter(({ row }) => row.attack)),
        interrupted: share(some.filter(({ row }) => !row.attack)),
      };
    }
    return {
      preset,
      attacks: attacks!.length,
      stopped: share(attacks!),
      benign: benign!.length,
      interrupted: share(benign!),
      prompts_per_benign_run: benign!.reduce((sum, { questions }) => sum + questions.length, 0) / benign!.length,
      sources,
    };
  },
};

/** The questions and denials of one run, each with its reason. A person who is asked says yes. */
function questionsOf({ suite, prompt, calls }: Row, preset: Preset, isGranted: boolean): string[] {
  const policy = { ...DEFAULTS.policy, preset };
  const history = createRuleHistory("/nowhere");
  const provenance = createProvenance(() => false, () => "");
  const book = createRulebook(policy, {
    rules: { all: [], windowMs: 0 },
    history,
    counters: history.counters,
    check: () => Promise.reject(new Error("no program")),
    isGranted: () => isGranted,
  });
  provenance.note({ kind: "user" }, prompt);
  const questions: string[] = [];
  for (const { tool: name, args, output } of calls) {
    const tool = `${suite}:${name}`;
    const effect = effectOf(policy, { id: tool, name });
    const call = { tool, args, effect, by: "agent", isToolCall: true, sources: provenance } as const;
    const ruling = book.judge(call);
    if (ruling instanceof Promise) throw new Error("no rule asks a program");
    if (ruling.kind !== "pass") questions.push(`${name} ${ruling.why}`);
    provenance.note({ kind: "agent" }, args);
    provenance.note({ kind: "result", tool }, output);
  }
  return questions;
}
