import { type CallResult, isObject, type JsonObject, type Tool } from "../../model/mod.ts";
import { argumentCheck } from "../arguments.ts";

/** So many results of a tool are checked, then every tenth. */
const ALL_UP_TO = 20;
const THEN_EVERY = 10;
const MOST_TOOLS = 10_000;

const seen = new Map<string, number>();

/** True if this result of a tool is one of those that are checked. */
export function isChecked({ hash, outputSchema }: Pick<Tool, "hash" | "outputSchema">, result: CallResult): boolean {
  if (!outputSchema || result.kind !== "result" || !isObject(result.result.structuredContent)) return false;
  const count = (seen.get(hash) ?? 0) + 1;
  if (seen.size >= MOST_TOOLS) seen.clear();
  seen.set(hash, count);
  return count <= ALL_UP_TO || count % THEN_EVERY === 0;
}

/** The first problem of a result by its tool's own output schema; the bounds are those of arguments. */
export async function resultProblem(tool: Pick<Tool, "hash" | "outputSchema">, value: JsonObject) {
  const check = await argumentCheck();
  const [problem] = await check({ hash: `${tool.hash} out`, inputSchema: tool.outputSchema! }, value);
  return problem && withoutValues(problem, tool.outputSchema!);
}

const UNKNOWN = " is not known";

/** A problem whose words are the schema's: keys of a result that the schema does not name may be anybody's data. */
function withoutValues(problem: string, schema: JsonObject): string {
  if (problem.endsWith(UNKNOWN)) return "result has a property that is not known";
  const [, path = "", rest = ""] = /^arguments(\S*) (.*)$/.exec(problem) ?? [];
  const names = namesIn(schema);
  const isNamed = path.split(".").slice(1).every((name) => /^\d+$/.test(name) || names.has(name));
  return isNamed ? `result${path} ${rest}` : `a part of the result ${rest}`;
}

/** The names of all properties that a schema has, at any depth. */
function namesIn(schema: unknown, names = new Set<string>()): Set<string> {
  if (Array.isArray(schema)) schema.forEach((part) => namesIn(part, names));
  else if (isObject(schema)) {
    if (isObject(schema.properties)) Object.keys(schema.properties).forEach((name) => names.add(name));
    Object.values(schema).forEach((part) => namesIn(part, names));
  }
  return names;
}
