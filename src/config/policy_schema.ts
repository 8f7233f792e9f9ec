import { z } from "../../deps.ts";
import { durationUpTo } from "./duration.ts";

/** A rule that could never match, such as a bare tool name, would protect nothing without a word. */
const PATTERN = /:|^\*/;
const LONGEST_PATTERN = 200;
export const pattern = z.string().max(LONGEST_PATTERN)
  .regex(PATTERN, 'must be like "github:*", "*:delete_*" or "github:create_issue"');

/** True for a text that can stand in a rule. */
export function isPattern(text: string): boolean {
  return text.length <= LONGEST_PATTERN && PATTERN.test(text);
}

/** Windows of rates and budgets are counted from the audit's newest rows. */
const LONGEST_WINDOW = 31 * 86_400_000;
const window = durationUpTo(LONGEST_WINDOW).refine((ms) => ms > 0, "must be longer than 0");
const condition = z.string().min(1).max(2_000);

const rule = z.strictObject({
  name: z.string().min(1).max(80),
  match: z.union([pattern, z.array(pattern).min(1).max(100)], {
    error: 'must be a pattern like "github:*", or a list of them',
  }).transform((given) => typeof given === "string" ? [given] : given),
  /** A condition in CEL; without one the rule holds for every call that matches. */
  when: condition.optional(),
  then: z.enum(["deny", "allow", "approve", "redact"]).optional(),
  /** The words that the agent and the person read. */
  message: z.string().min(1).max(500).optional(),
  on: z.enum(["call", "result"]).optional(),
  /** The rule holds once more calls than these were let through. */
  rate: z.strictObject({ calls: z.number().int().min(1), per: window }).optional(),
  /** The rule holds for the call by which the costs would exceed the sum. */
  budget: z.strictObject({
    usd: z.number().positive(),
    per: window,
    cost: z.union([z.number().nonnegative(), condition], {
      error: "must be a number, or an expression that gives one",
    }),
  }).optional(),
  /** A program of `policy.checks` that gives the verdict. */
  check: z.string().min(1).max(64).optional(),
  /** `observe` writes the verdict down and lets the call pass. */
  mode: z.enum(["enforce", "observe"]).optional(),
}).superRefine(({ then, on, rate, budget, check }, context) => {
  const problem = (message: string) => context.addIssue({ code: "custom", message });
  if (then === undefined && check === undefined) problem("needs then: deny, allow, approve or redact");
  if (then !== undefined && check !== undefined) problem("has both then and check; a check gives the verdict itself");
  if (then === "redact" && on !== "result") problem("redacts results only: add on: result");
  if (on === "result" && (then === "allow" || then === "approve")) {
    problem(`judges results, which can be denied or redacted; ${then} is for calls`);
  }
  if (on === "result" && (rate || budget || check)) problem("judges results; rate, budget and check are for calls");
  if (rate && budget) problem("has both rate and budget; make two rules of it");
  if ((rate || budget) && check) problem("has a check beside a rate or a budget; make two rules of it");
  if ((rate || budget) && then === "allow") problem("allows by a rate or a budget, which would allow what is too much");
});

const check = z.strictObject({
  command: z.string().min(1),
  args: z.array(z.string()).optional(),
  /** No answer within this time is a denial. */
  timeout: durationUpTo(60_000).optional(),
});

const LONGEST_CHECK = 3_600_000;

/** Programs that say by their exit code whether what a run did is right. */
export const runChecksSchema = z.record(
  z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, "a check's name is 1 to 64 letters, digits, _ . or -"),
  z.strictObject({
    command: z.string().min(1),
    args: z.array(z.string()).optional(),
    env: z.record(z.string(), z.string()).optional(),
    timeout: durationUpTo(LONGEST_CHECK).optional(),
  }),
);

/** The part of `policy` that judges calls by more than their names. */
export const RULE_FIELDS = {
  preset: z.enum(["minimal", "standard", "strict"]).optional(),
  /** Rules of the preset that do not hold, by their names. */
  without: z.array(z.string().min(1).max(80)).optional(),
  /** Servers whose results are believed as the user's own words are. */
  trusted: z.array(z.string().min(1).max(64)).optional(),
  /** What becomes of a call that the preset asks about where nobody can be asked. */
  unattended: z.enum(["ask", "allow", "deny"]).optional(),
  /** `observe`: verdicts of rules are written down, and calls pass. */
  mode: z.enum(["enforce", "observe"]).optional(),
  rules: z.array(rule).max(500).optional(),
  /** Programs that rules may ask. */
  checks: z.record(z.string(), check).optional(),
} as const;

/** A rule, and the place where it was read. */
export type Rule = Readonly<z.infer<typeof rule>> & { readonly at?: string };
/** A program that a rule asks. */
export type Check = Readonly<z.infer<typeof check>>;
/** A program that says whether what a run did is right. */
export type RunCheck = Readonly<z.infer<typeof runChecksSchema>[string]>;
export type Preset = "minimal" | "standard" | "strict";

/** The strictness of presets, and of what becomes of calls that nobody can be asked about. */
export const PRESETS: readonly Preset[] = ["minimal", "standard", "strict"];
export const UNATTENDED = ["allow", "ask", "deny"] as const;
