import type { Effect, JsonObject } from "../model/mod.ts";
import type { Grant, Replay, RuleTestResult, SuggestedRule } from "../policy/mod.ts";

/** A rule as commands show it. */
export interface RuleReport {
  readonly name: string;
  readonly match: readonly string[];
  readonly then: string;
  readonly when: string | null;
  readonly on: "call" | "result";
  /** Its rate or its budget in words. */
  readonly limit: string | null;
  readonly mode: "enforce" | "observe";
  readonly message: string | null;
  /** The file and the line of it. */
  readonly at: string | null;
  /** The reason why it can never match. */
  readonly never: string | null;
}

/** The policy that holds in a folder. */
export interface PolicyReport {
  readonly preset: string;
  readonly mode: string;
  readonly unattended: string;
  readonly trusted: readonly string[];
  readonly preset_rules: readonly {
    readonly name: string;
    readonly then: string;
    readonly says: string;
    readonly off: boolean;
  }[];
  readonly rules: readonly RuleReport[];
  readonly deny: readonly string[];
  readonly approve: readonly string[];
  readonly allow: readonly string[];
  readonly checks: readonly string[];
  /** The reasons why something of it does not hold as it is written. */
  readonly problems: readonly string[];
}

/** The rules that are about a tool, and the verdict on a call of it. */
export interface ExplainReport {
  readonly tool: string;
  readonly effect: Effect;
  readonly annotations: JsonObject;
  /** The reason why it waits for a review. */
  readonly withheld: string | null;
  /** True if a person allowed it always. */
  readonly granted: boolean;
  readonly rules: readonly RuleReport[];
  readonly verdict: { readonly kind: string; readonly rule: string | null; readonly why: string | null };
  readonly with_arguments: boolean;
}

/** The results of control methods about policy. */
export interface PolicyResults {
  policy: PolicyReport;
  policy_explain: ExplainReport;
  policy_grants: { readonly grants: readonly Grant[] };
  policy_replay: Replay & { readonly since: number; readonly has_result_rules: boolean };
  policy_revoke: { readonly revoked: readonly Grant[] };
  policy_suggest: { readonly rules: readonly SuggestedRule[] };
  policy_test: { readonly results: readonly RuleTestResult[] };
}
