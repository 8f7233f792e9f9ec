import type { AllowList, Config } from "../../config/mod.ts";
import { matchesPattern, splitToolId, WORKFLOW_SERVER } from "../../model/mod.ts";

/** The verdict of the configuration on a tool. */
export type Verdict =
  | { readonly kind: "allow" }
  | {
    readonly kind: "deny";
    /** The pattern of `policy.deny`; absent where `policy.allow` names the server and not this. */
    readonly pattern?: string;
  }
  | { readonly kind: "approve"; readonly pattern: string };

const ALLOW: Verdict = Object.freeze({ kind: "allow" });
const NOT_LISTED: Verdict = Object.freeze({ kind: "deny" });

/** The rules that judge a call. */
export type Rules = Pick<Config["policy"], "deny" | "approve"> & Partial<Pick<Config["policy"], "twins" | "allow">>;

/**
 * Judges a tool by its id: `deny` first, then the lists of what is allowed, then `approve`. A rule that forbids or asks
 * holds for the same tool of every entry that starts the same program, unless it names one entry with `=`:
 * `=github:delete_repository`. An `allow` is for its own entry only: two entries of one program are two accounts.
 */
export function judge(rules: Rules, toolId: string): Verdict {
  const verdict = judgeRules(rules, toolId);
  if (verdict.kind === "deny" || !rules.allow?.length) return verdict;
  return rules.allow.every((list) => isListed(list, toolId)) ? verdict : NOT_LISTED;
}

/** The verdict of `deny` and `approve`, which `allow` does not change. */
export function judgeRules({ deny, approve, twins }: Rules, toolId: string): Verdict {
  const ids = idsOf(toolId, twins);
  const fits = (pattern: string) =>
    pattern.startsWith("=") ? matchesPattern(pattern.slice(1), toolId) : ids.some((id) => matchesPattern(pattern, id));
  const denied = deny.find(fits);
  if (denied !== undefined) return { kind: "deny", pattern: denied };
  const asked = approve.find(fits);
  return asked === undefined ? ALLOW : { kind: "approve", pattern: asked };
}

/**
 * The `deny` that forbids one of the tools that clients see of us, such as `agentcards:execute_code`. `agentcards:*` is
 * about the tools behind them: it would leave nothing to call.
 */
export function forbiddenOwnTool({ deny }: Pick<Rules, "deny">, name: string): Verdict & { kind: "deny" } | undefined {
  const pattern = deny.find((one) =>
    /^=?agentcards:(?!\*$)/.test(one) && matchesPattern(plain(one), `agentcards:${name}`)
  );
  return pattern === undefined ? undefined : { kind: "deny", pattern };
}

/** True if a file's list names the tool, in one of the ways its patterns can be read, or says nothing of its server. */
export function isListed(
  { allow, approve }: AllowList,
  toolId: string,
  readings: (pattern: string) => readonly string[] = (pattern) => [pattern],
): boolean {
  const { server = "" } = splitToolId(toolId);
  if (!allow.some((pattern) => namesServer(plain(pattern), server))) return true;
  return [...allow, ...approve].some((pattern) =>
    readings(plain(pattern)).some((reading) => matchesPattern(reading, toolId))
  );
}

/** True if a list of `policy.allow` names a tool: the preset does not ask about it. */
export function isAllowedByName({ allow }: Pick<Rules, "allow">, toolId: string): boolean {
  return allow?.some((list) =>
    !list.isProject && list.allow.some((pattern) => matchesPattern(plain(pattern), toolId))
  ) ?? false;
}

/** The strictest of several verdicts. */
export function strictest(verdicts: readonly Verdict[]): Verdict {
  return verdicts.find(({ kind }) => kind === "deny") ?? verdicts.find(({ kind }) => kind === "approve") ?? ALLOW;
}

function plain(pattern: string): string {
  return pattern.startsWith("=") ? pattern.slice(1) : pattern;
}

const OWN = new Set(["agentcards", WORKFLOW_SERVER]);

/** Our own names are meant only where they are written out. */
function namesServer(pattern: string, server: string): boolean {
  const [part] = pattern.split(":");
  return OWN.has(server) ? part === server : matchesPattern(part!, server);
}

/** A tool under the names of all entries that start its program. */
export function idsOf(toolId: string, twins: Rules["twins"]): string[] {
  const colon = toolId.indexOf(":");
  const server = toolId.slice(0, colon);
  const others = twins && Object.hasOwn(twins, server) ? twins[server]! : [];
  return [toolId, ...others.map((other) => other + toolId.slice(colon))];
}
