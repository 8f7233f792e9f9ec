import { z } from "../../../deps.ts";
import { TASK_FORMS } from "../../dag/mod.ts";
import type { JsonObject } from "../../model/mod.ts";
import { OPTIONS } from "../input.ts";
import { FORMS } from "../triggers/form.ts";

/** The texts that editors show beside a key. */
const TEXTS: Readonly<Record<string, string>> = {
  id: "1 to 64 letters, digits, _ or -",
  tool: "server:tool, or workflow:NAME",
  arguments: 'the arguments; "$OUTPUT[id].path" inserts an earlier result, "$INPUT.name" a parameter',
  depends_on: "tasks to wait for besides those that are referred to",
  when: "a condition in CEL; of a task over deps and input: false skips the task",
  until: "the call is made again until the condition over output holds; reads only",
  approve: "a person has to allow the task before it begins",
  code: "TypeScript; deps.ID is {status, output, error} of a task",
  context: "what the code is given as context",
  agent: "claude, codex, another name of the section agents of config.yaml, or auto",
  traits: "the kinds of work by which auto chooses: system, multi_step, review, plan, short, or words of your routes",
  prompt: '"$OUTPUT[id].path" inserts an earlier result, "$INPUT.name" a parameter',
  schema: "the JSON Schema that the answer of the agent has to fit",
  budget: "the agent is stopped at the first bound that it reaches",
  tools: "patterns of the tools that the agent may call",
  own_tools: "the program may use the tools that it brings, each with a person's approval",
  model: "the model that the agent program uses",
  cwd: "a trusted folder that the agent works in; the folder of the run where none is named",
  side_effects: "the task acts on the world, whatever its tool says",
  timeout_ms: "milliseconds",
  retries: "only calls that are safe to repeat are retried, when they were lost",
  pause: "stop after each layer, or before what acts",
  pause_after: "ids of tasks",
  return: "ids of the tasks whose results are answered",
  priority: "1 to 5; 5 goes first",
  infer: "fill in a missing required argument where one earlier output surely fits",
  every: "30s, 15m, 2h, 1d",
  at: "a cron line of five fields, in the time zone of the machine",
  run: "the name of a saved workflow whose run ends",
  status: "the ends of that run that count",
  hook: "an event of a client's hook",
  file: "a pattern; ~/ is your home, all else begins at the project's folder",
  missed: "make up a start that was missed, or skip it",
  overlap: "start although the run before is not over",
  input: "the input of the run; $CAUSE.path, $CAUSE.at, … are values of the cause",
};

/** The JSON Schema of a workflow file, for editors: made from the forms that files are checked by. */
export function workflowSchema(): JsonObject {
  const text = { type: "string" };
  return described({
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "A workflow of AgentCards",
    type: "object",
    additionalProperties: false,
    required: ["tasks"],
    properties: {
      name: text,
      description: { ...text, description: "what it does, for search" },
      version: { type: ["string", "number"] },
      parameters: { type: "object", description: "a JSON Schema, or a mapping of names to schemas" },
      on: {
        type: "array",
        minItems: 1,
        description: "when it starts by itself, once a person has switched it on",
        items: { anyOf: Object.values(FORMS).map(schemaOf) },
      },
      tasks: { type: "array", minItems: 1, items: { anyOf: TASK_FORMS.map(schemaOf) } },
      options: schemaOf(OPTIONS),
    },
  }) as JsonObject;
}

function schemaOf(form: z.ZodType): JsonObject {
  const { $schema: _, ...schema } = z.toJSONSchema(form, { io: "input", target: "draft-7" });
  return schema as JsonObject;
}

/** A schema in which each known key has its text. */
function described(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(described);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (key !== "properties") return [key, described(value)];
      const properties = Object.entries(value as Record<string, JsonObject>).map(([name, one]) => {
        const told = Object.hasOwn(TEXTS, name) && !("description" in one) ? { description: TEXTS[name] } : {};
        return [name, { ...described(one) as JsonObject, ...told }];
      });
      return [key, Object.fromEntries(properties)];
    }),
  );
}
