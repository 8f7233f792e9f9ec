import { knownTools, resolveTool, type Session } from "../../call/mod.ts";
import { type Config, joinPolicy, parseConfig, type Rule } from "../../config/mod.ts";
import { AgentCardsError, matchesPattern, type Tool, toolId } from "../../model/mod.ts";
import {
  type CompiledRules,
  compileRules,
  createRehearsal,
  effectOf,
  neverMatches,
  PRESET_RULES,
  readRows,
  replayCalls,
  suggestRules,
} from "../../policy/mod.ts";
import type { Method } from "../context.ts";
import type { RuleReport } from "../policy_reports.ts";

const WEEK_MS = 7 * 86_400_000;
/** Answers of people are looked at as far back as this. */
const SUGGEST_MS = 90 * 86_400_000;

/** The policy that holds in a folder, and the rules that can never match. */
export const policy: Method<"policy"> = async ({ session }) => {
  const open = await session;
  const { config, problem } = open;
  const { preset, without, mode, unattended, trusted, deny, approve, allow, checks, rules } = config.policy;
  const compiled = await compileRules(config.policy);
  const never = await unmatched(open, compiled);
  return {
    preset,
    mode,
    unattended,
    trusted,
    preset_rules: PRESET_RULES.filter((rule) => rule.in.includes(preset)).map(({ name, then, says }) => ({
      name,
      then,
      says,
      off: without.includes(name),
    })),
    rules: rules.map((rule) => reportOf(rule, never.get(rule.name))),
    deny,
    approve,
    allow: allow.flatMap((list) => list.allow),
    checks: Object.keys(checks),
    problems: [
      ...problem ? [`${problem.message}; the last good configuration holds`] : [],
      ...problemsOf(config.policy, never),
    ],
  };
};

/** The parts of a policy that can be read and never hold. */
export async function ruleProblems(open: Session): Promise<string[]> {
  const { policy } = open.config;
  if (policy.rules.length + policy.without.length === 0) return [];
  return problemsOf(policy, await unmatched(open, await compileRules(policy)));
}

function problemsOf({ rules, without }: Config["policy"], never: ReadonlyMap<string, string>): string[] {
  return [
    ...without.filter((name) => !PRESET_RULES.some((rule) => rule.name === name))
      .map((name) => `policy.without: there is no rule "${name}" in a preset`),
    ...rules.flatMap((rule) => {
      const why = never.get(rule.name);
      return why === undefined ? [] : [`${rule.at ?? "the configuration"}: rule "${rule.name}": ${why}`];
    }),
  ];
}

function reportOf(
  { name, match, then, when, on, rate, budget, check, mode, message, at }: Rule,
  never?: string,
): RuleReport {
  return {
    name,
    match,
    then: then ?? `check ${check}`,
    when: when ?? null,
    on: on ?? "call",
    limit: rate
      ? `${rate.calls} calls in ${rate.per / 1_000} s`
      : budget
      ? `${budget.usd} USD in ${budget.per / 1_000} s`
      : null,
    mode: mode ?? "enforce",
    message: message ?? null,
    at: at ?? null,
    never: never ?? null,
  };
}

/** The rules that can never match, each with the reason, as far as the lists of tools are known. */
async function unmatched(open: Session, rules: CompiledRules): Promise<ReadonlyMap<string, string>> {
  const servers = Object.values(open.config.servers).filter(({ disabled }) => !disabled).map(({ name }) => name);
  const lists = new Map<string, readonly Tool[]>();
  for (const name of servers) {
    const known = await open.known(name);
    if (known) lists.set(name, known.tools);
  }
  return new Map(
    rules.all.flatMap((one) => {
      const why = neverMatches(one, servers, (server) => lists.get(server));
      return why === undefined ? [] : [[one.rule.name, why] as const];
    }),
  );
}

export const policyTest: Method<"policy_test"> = async ({ session }, { text, path }) => {
  const open = await session;
  const { readRuleTests, runRuleTests } = await load<typeof import("../../policy/rules/test_file.ts")>(
    "../../policy/rules/test_file.ts",
  );
  const tests = readRuleTests(text, path);
  const judged = tests.config === undefined ? open.config.policy : policyIn(tests.config, path, open.config);
  const rehearsal = createRehearsal(judged, await compileRules(judged));
  const { tools } = await knownTools(open);
  const byId = new Map(tools.map((tool) => [tool.id, tool]));
  return { results: await runRuleTests(tests, { policy: judged, rehearsal, find: (id) => byId.get(id) }) };
};

/** The policy of a text, in the place of the one of the global file. */
function policyIn(text: string, path: string, { policy: now }: Config): Config["policy"] {
  const { policy = {} } = parseConfig(text, path);
  return joinPolicy({ global: { policy }, trusted: [], untrusted: [] }, { own: {}, twins: now.twins });
}

export const policyReplay: Method<"policy_replay"> = async (
  { session, gateway },
  { since = Date.now() - WEEK_MS, text, path = "" },
) => {
  const open = await session;
  const judged = text === undefined ? open.config.policy : policyIn(text, path, open.config);
  const { tools } = await knownTools(open);
  const byId = new Map(tools.map((tool) => [tool.id, tool]));
  const replay = await replayCalls(open.shared.argumentHistory.read(since), {
    rehearsal: createRehearsal(judged, await compileRules(judged)),
    find: (id) => byId.get(id),
    isGranted: (tool, definition) => open.grants.has(tool, definition?.hash, undefined),
  });
  const hasResultRules = judged.rules.some(({ on }) => on === "result");
  return gateway.redactor.clean({ ...replay, since, has_result_rules: hasResultRules });
};

export const policyExplain: Method<"policy_explain"> = async ({ session }, { tool: asked, arguments: given }) => {
  const open = await session;
  const { server, name } = await resolveTool(open, asked);
  const id = toolId(server, name);
  await open.known(server).catch(() => undefined);
  const definition = open.inMemory(server, name);
  const { policy } = open.config;
  const compiled = await compileRules(policy);
  const rehearsal = createRehearsal(policy, compiled);
  const effect = effectOf(policy, definition ?? { id, name });
  const isGranted = open.grants.has(id, definition?.hash, undefined);
  const never = await unmatched(open, compiled);
  const word = await rehearsal.judge({
    tool: id,
    args: given ?? {},
    definition,
    effect,
    by: "agent",
    at: Date.now(),
    isToolCall: true,
    isGranted,
    project: open.cwd,
  });
  return {
    tool: id,
    effect,
    annotations: definition?.annotations ?? {},
    withheld: open.withheld(server, "tool", name) ?? null,
    granted: isGranted,
    rules: rehearsal.rulesAbout(id).map(({ rule }) => reportOf(rule, never.get(rule.name))),
    verdict: { kind: word.kind, rule: word.rule ?? null, why: word.why ?? null },
    with_arguments: given !== undefined,
  };
};

export const policySuggest: Method<"policy_suggest"> = async ({ session, gateway }, { since }) => {
  const open = await session;
  const { tools } = await knownTools(open);
  const known = new Set(tools.map(({ id }) => id));
  const { rules } = open.config.policy;
  const isDecided = (tool: string) => rules.some(({ match, when }) => !when && match.includes(tool));
  const rows = readRows(gateway.home.audit, { since: since ?? Date.now() - SUGGEST_MS });
  return { rules: suggestRules(rows, (tool) => known.has(tool) && !isDecided(tool)) };
};

export const policyGrants: Method<"policy_grants"> = async ({ session }) => ({
  grants: (await (await session).shared.grants()).list(),
});

export const policyRevoke: Method<"policy_revoke"> = async ({ session, gateway }, { pattern }) => {
  const grants = await (await session).shared.grants();
  const revoked = await grants.revoke(({ server, tool }) => matchesPattern(pattern, toolId(server, tool)));
  for (const { server, tool } of revoked) {
    gateway.audit.append({ kind: "decision", tool: toolId(server, tool), word: "revoked", by: "human" });
  }
  if (revoked.length === 0) {
    throw new AgentCardsError("INPUT_INVALID", `Nothing that was allowed always fits "${pattern}"`, {
      hint: "`agentcards policy grants` lists what was allowed.",
    });
  }
  return { revoked };
};

function load<Module>(path: string): Promise<Module> {
  return import(path);
}
