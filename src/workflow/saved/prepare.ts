import { argumentCheck, signatureNote } from "../../call/mod.ts";
import type { RunOptions } from "../../dag/mod.ts";
import {
  AgentCardsError,
  canonicalJson,
  isObject,
  type Json,
  type JsonObject,
  readBySchema,
  sha256,
  type Tool,
} from "../../model/mod.ts";
import type { WorkflowFile } from "./file.ts";

/** A run of a workflow file, ready to be started. */
export interface PreparedRun {
  readonly tasks: unknown;
  readonly options: RunOptions;
  /** The name in lists. */
  readonly name: string;
}

/** The schema of a workflow that takes nothing. */
export const NO_PARAMETERS: JsonObject = { type: "object", properties: {}, additionalProperties: false };

/** The run of a workflow with this input; an error where the input does not fit the parameters. */
export async function preparedRun(file: WorkflowFile, given: JsonObject, name: string): Promise<PreparedRun> {
  const { tasks, options, parameters: inputSchema = NO_PARAMETERS } = file;
  const tool: Tool = {
    id: name,
    server: "workflow",
    name,
    description: "",
    inputSchema,
    hash: await sha256(canonicalJson(inputSchema)),
  };
  const input = withDefaults(readBySchema(given, inputSchema) as JsonObject, inputSchema);
  const problems = await (await argumentCheck())(tool, input);
  if (problems.length > 0) {
    throw new AgentCardsError("INPUT_INVALID", `${problems.join("; ")}. Nothing was run. ${signatureNote(tool)}`);
  }
  return { tasks, options: { ...options, input }, name };
}

/** The input with the defaults of its schema where nothing was given. */
function withDefaults(input: JsonObject, { properties }: JsonObject): JsonObject {
  if (!isObject(properties)) return input;
  const usual = Object.entries(properties).filter(([name, one]) =>
    isObject(one) && "default" in one && !Object.hasOwn(input, name)
  ).map(([name, one]) => [name, (one as JsonObject).default as Json] as const);
  return Object.fromEntries([...Object.entries(input), ...usual]);
}
