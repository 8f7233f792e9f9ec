import type { Config } from "../config/mod.ts";
import { isObject, matchesPattern, splitWords, type Tool } from "../model/mod.ts";
import { effectOf } from "./effects.ts";
import { judge } from "./rules/lists.ts";

/** Not even where somebody says that it only reads. */
const DANGEROUS = new Set(
  ("delete remove drop destroy purge wipe deploy release publish pay payment payments purchase buy checkout charge refund " +
    "send email mail sms notify transfer withdraw execute exec shell bash eval sudo kill shutdown").split(" "),
);

/** Without an annotation or the configuration's word, only a name that begins so is believed. */
const READS_PLAINLY = /^([Gg]et|[Ll]ist|[Rr]ead|[Ss]earch|[Ff]ind|[Dd]escribe|[Ss]how|[Rr]etrieve)(?![a-z])/;
const JOINED = /(^|[_-])(and|or|then)([_-]|$)|[a-z](And|Or|Then)[A-Z]/;
/** Code that is passed for execution may do anything, whatever the name of its tool. */
const EXECUTED = /^(sql|soql|code|script|command|cmd|expression|javascript|statement|program|query_?body)$/i;

function isPlainReader({ id, name, annotations, inputSchema }: SpeculatedTool, policy: Config["policy"]): boolean {
  const parameters = isObject(inputSchema.properties) ? Object.keys(inputSchema.properties) : [];
  if (parameters.some((parameter) => EXECUTED.test(parameter))) return false;
  const isSaid = annotations?.readOnlyHint === true ||
    Object.entries(policy.effects).some(([pattern, effect]) => effect === "read" && matchesPattern(pattern, id));
  return isSaid || (READS_PLAINLY.test(name) && !JOINED.test(name));
}

type SpeculatedTool = Pick<Tool, "id" | "name" | "annotations" | "inputSchema">;

/** True if a call may be made ahead: its tool only reads, and no rule or name speaks against it. */
export function maySpeculate(policy: Config["policy"], tool: SpeculatedTool): boolean {
  const { speculate } = policy;
  return speculate.enabled && effectOf(policy, tool) === "read" && isPlainReader(tool, policy) &&
    tool.annotations?.destructiveHint !== true &&
    judge(policy, tool.id).kind === "allow" && !speculate.deny.some((pattern) => matchesPattern(pattern, tool.id)) &&
    !splitWords(tool.name).some((word) => DANGEROUS.has(word.toLowerCase()));
}

/** The configured cost of one call; of several patterns that match, the longest counts. */
export function costOf(costs: Config["policy"]["speculate"]["costs"], id: string): number {
  const fitting = Object.entries(costs).filter(([pattern]) => matchesPattern(pattern, id));
  return fitting.sort(([a], [b]) => b.length - a.length)[0]?.[1] ?? 0;
}
