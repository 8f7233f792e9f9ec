import { cut, isObject, type JsonObject, signature, type Tool } from "../model/mod.ts";
import { type CheckedTool, loadSchemaCheck, type SchemaCheck } from "./schema/check.ts";
import { createSchemaWorker } from "./schema/worker_port.ts";
import { valueWeight, weightOf } from "./schema/weight.ts";

/** The problems of arguments by their tool's own schema; none where the schema cannot be checked. */
export type ArgumentCheck = (tool: CheckedTool, args: JsonObject) => Promise<string[]>;

/** A schema of so many parts is compiled within some 3 ms, one of a hundred times as many takes seconds. */
const SMALL_SCHEMA = 40;
const LARGEST_SCHEMA = 5_000;
/** Parts of the schema times parts of the arguments: the most steps of a check on this thread, and of any check. */
const SMALL_CHECK = 20_000;
const LARGEST_CHECK = 300_000;

/** Values that a task got from others, written out where its tool wants a text. */
export function writtenArguments({ inputSchema }: Pick<Tool, "inputSchema">, args: JsonObject): JsonObject {
  const { properties } = inputSchema;
  if (!isObject(properties)) return args;
  const isText = (name: string) => {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return isObject(schema) && schema.type === "string";
  };
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [
      name,
      typeof value === "string" || value === null || !isText(name) ? value : JSON.stringify(value),
    ]),
  );
}

let checking: Promise<ArgumentCheck> | undefined;

/** The check of arguments, loaded with its first use. */
export function argumentCheck(): Promise<ArgumentCheck> {
  return checking ??= loadSchemaCheck().then(createArgumentCheck);
}

/**
 * A foreign schema can take seconds to compile, and to check against: only small ones are looked at on this thread,
 * others in a Worker with a deadline, and those beyond any bound by nobody but the server.
 */
function createArgumentCheck(checkHere: SchemaCheck): ArgumentCheck {
  const worker = createSchemaWorker();
  return async (tool, args) => {
    const weight = weightOf(tool.inputSchema);
    if (weight > LARGEST_SCHEMA) return [];
    const steps = weight * valueWeight(args, LARGEST_CHECK / weight);
    if (weight <= SMALL_SCHEMA && steps <= SMALL_CHECK) return checkHere(tool, args);
    return steps > LARGEST_CHECK ? [] : await worker.check(tool, args);
  };
}

/** The signature of a tool as errors about its arguments show it. */
export function signatureNote(tool: Tool): string {
  return `Signature: ${cut(signature(tool), SIGNATURE_LENGTH)}`;
}

const SIGNATURE_LENGTH = 2_000;
