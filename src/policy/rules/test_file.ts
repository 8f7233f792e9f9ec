// Loaded by `policy test`.
import { z } from "../../../deps.ts";
import { isMap, type Pair, parseDocument } from "yaml";
import { AgentCardsError, type Json, splitToolId } from "../../model/mod.ts";
import { UNITS } from "../../config/mod.ts";
import { effectOf } from "../effects.ts";
import type { Config } from "../../config/mod.ts";
import type { Judgeable, Sources } from "./judged.ts";
import type { Rehearsal, RehearsedCall, RehearsedWord } from "./rehearse.ts";

const effect = z.enum(["read", "idempotent", "effectful"]);
const tool = z.strictObject({
  /** The names of its arguments; without them its schema leaves them open. */
  arguments: z.array(z.string()).optional(),
  effect: effect.optional(),
  destructive: z.boolean().optional(),
});
const row = z.strictObject({
  call: z.string().min(1).max(300),
  args: z.record(z.string(), z.unknown()).optional(),
  expect: z.enum(["pass", "deny", "ask", "redact", "withhold"]),
  /** The name of the rule that is to decide. */
  rule: z.string().optional(),
  effect: effect.optional(),
  by: z.enum(["agent", "code", "human", "speculation"]).optional(),
  client: z.string().optional(),
  project: z.string().optional(),
  run: z.string().optional(),
  /** True if a person allowed the tool for longer than one call. */
  granted: z.boolean().optional(),
  /** Where values came from: `{VALUE: "server:tool"}`, or `user` or `config`. */
  from: z.record(z.string(), z.string()).optional(),
  /** The text of its result. */
  result: z.string().optional(),
  /** So long after the call before. */
  after: z.string().regex(/^\d{1,6}(ms|s|m|h|d)$/, 'must be a time such as "30s" or "2h"').optional(),
  /** The hour of the day, on that day or the next. */
  hour: z.number().int().min(0).max(23).optional(),
  /** So many of the same call, each of which is expected to end so. */
  times: z.number().int().min(1).max(1_000).optional(),
});
const file = z.object({
  tools: z.record(z.string(), tool).optional(),
  calls: z.array(row).min(1).max(2_000),
});

/** Calls with the verdicts that are expected of the rules. */
export interface RuleTests {
  readonly tools: Readonly<Record<string, z.infer<typeof tool>>>;
  readonly calls: readonly (z.infer<typeof row> & { readonly line: number })[];
  /** The text of the file with nothing but its `policy`, line by line where it was; absent where it has none. */
  readonly config?: string;
}

/** Reads a file of `policy test`: `calls`, and where they are not those that are known, `policy` and `tools`. */
export function readRuleTests(text: string, path: string): RuleTests {
  const document = parseDocument(text, { prettyErrors: true });
  const { contents } = document;
  if (document.errors.length > 0) throw wrong(path, document.errors[0]!.message.split("\n")[0]!.replace(/:$/, ""));
  if (!isMap(contents)) throw wrong(path, "it has no calls");
  const parsed = file.safeParse(document.toJS({ maxAliasCount: 100 }));
  if (!parsed.success) {
    const [{ path: at, message }] = parsed.error.issues as [z.core.$ZodIssue];
    throw wrong(path, `${at.join(".")} ${message}`);
  }
  let config = text;
  let hasPolicy = false;
  for (const pair of contents.items as Pair[]) {
    const key = String(pair.key);
    hasPolicy ||= key === "policy";
    if (key !== "tools" && key !== "calls" && key !== "policy") throw wrong(path, `"${key}" is not a known key`);
    if (key === "policy") continue;
    const [from] = (pair.key as { range: [number] }).range;
    const [, , to] = (pair.value as { range: [number, number, number] }).range;
    config = config.slice(0, from) + config.slice(from, to).replace(/[^\n]/g, " ") + config.slice(to);
  }
  const lineOf = (at: number) => {
    const node = document.getIn(["calls", at], true) as { range: [number] };
    return text.slice(0, node.range[0]).split("\n").length;
  };
  const calls = parsed.data.calls.map((one, at) => ({ ...one, line: lineOf(at) }));
  return { tools: parsed.data.tools ?? {}, calls, ...hasPolicy && { config } };
}

function wrong(path: string, problem: string): AgentCardsError {
  return new AgentCardsError("INPUT_INVALID", `Cannot use ${path}: ${problem}`, {
    hint: "docs/POLICY.md has examples of such files.",
  });
}

/** The end of one expectation. */
export interface RuleTestResult {
  readonly line: number;
  readonly call: string;
  readonly expect: string;
  readonly got: RehearsedWord["kind"];
  readonly rule: string | null;
  readonly why: string | null;
  readonly ok: boolean;
}

interface Running {
  readonly policy: Config["policy"];
  readonly rehearsal: Rehearsal;
  /** The definition of a tool that the file does not describe. */
  find(id: string): Judgeable & { readonly name: string } | undefined;
}

/** Judges the calls of a file one after another, and compares. */
export async function runRuleTests(tests: RuleTests, running: Running): Promise<RuleTestResult[]> {
  const results: RuleTestResult[] = [];
  let at = new Date(2_026, 0, 5, 12).getTime();
  for (const { times = 1, ...one } of tests.calls) {
    at = timeOf(one, at);
    for (let i = 0; i < times; i++, at++) {
      const word = await running.rehearsal.judge(callOf(one, tests, running, at));
      const isRight = word.kind === one.expect && (one.rule === undefined || one.rule === word.rule);
      if (!isRight || i === times - 1) {
        const { line, call, expect } = one;
        const { kind: got, rule = null, why = null } = word;
        results.push({
          line,
          call,
          expect: one.rule ? `${expect} by "${one.rule}"` : expect,
          got,
          rule,
          why,
          ok: isRight,
        });
      }
      if (!isRight) break;
    }
  }
  return results;
}

type Row = Omit<RuleTests["calls"][number], "times">;

function timeOf({ after, hour }: Row, before: number): number {
  const [, count, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(after ?? "") ?? [];
  const at = before + (unit === undefined ? 0 : Number(count) * UNITS[unit]!);
  if (hour === undefined) return at;
  const day = new Date(at);
  if (day.getHours() !== hour) day.setHours(day.getHours() > hour ? 24 + hour : hour, 0, 0, 0);
  return day.getTime();
}

function callOf(
  { call, args = {}, effect: given, by = "agent", client, project, run, granted, from, result }: Row,
  { tools }: RuleTests,
  { policy, find }: Running,
  at: number,
): RehearsedCall {
  const { server = "", name } = splitToolId(call);
  const said = Object.hasOwn(tools, call) ? tools[call]! : undefined;
  const definition = said ? definitionOf(call, said) : find(call);
  const annotations = definition?.annotations;
  const effect = given ?? said?.effect ??
    (server === "code" ? "read" : effectOf(policy, { id: call, name, annotations }));
  return {
    tool: call,
    args,
    definition,
    effect,
    by,
    client,
    project,
    run,
    at,
    isToolCall: server !== "client",
    ...granted !== undefined && { isGranted: granted },
    ...result !== undefined && { result },
    ...from && { sources: sourcesOf(from, policy.trusted) },
  };
}

function definitionOf(id: string, { arguments: names, destructive }: z.infer<typeof tool>): Judgeable {
  const properties = names && Object.fromEntries(names.map((name) => [name, {}]));
  return {
    hash: id,
    inputSchema: { type: "object", ...properties && { properties } } as Record<string, Json>,
    ...destructive !== undefined && { annotations: { destructiveHint: destructive } },
  };
}

function sourcesOf(from: Readonly<Record<string, string>>, trusted: readonly string[]): Sources {
  const origin = (value: unknown) => Object.hasOwn(from, String(value)) ? from[String(value)]! : "agent";
  return {
    origin,
    untrusted(value) {
      const { server } = splitToolId(origin(value));
      return server !== undefined && !trusted.includes(server);
    },
    isField: () => true,
  };
}
