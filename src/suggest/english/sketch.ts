import { isObject, type JsonObject } from "../../model/mod.ts";
import type { OutputField, Parameter, ToolSketch } from "./infer.ts";

/** How deep and how wide an output is looked at. */
const DEEPEST = 4;
const MOST_FIELDS = 100;
const MOST_PARAMETERS = 64;
const LONGEST_TEXT = 400;

/** What a tool's schemas tell of what it takes and gives. */
export function sketchOf(
  { name, description = "", inputSchema, outputSchema }: {
    readonly name: string;
    readonly description?: string;
    readonly inputSchema: JsonObject;
    readonly outputSchema?: JsonObject;
  },
): ToolSketch {
  const properties = isObject(inputSchema.properties) ? inputSchema.properties : {};
  const required = new Set(Array.isArray(inputSchema.required) ? inputSchema.required : []);
  return {
    name,
    description: description.slice(0, LONGEST_TEXT),
    inputs: Object.entries(properties).filter(([, schema]) => isObject(schema))
      .sort(([a], [b]) => Number(required.has(b)) - Number(required.has(a))).slice(0, MOST_PARAMETERS)
      .map(([key, schema]) => parameterOf(key, schema as JsonObject, required.has(key))),
    outputs: outputSchema ? fieldsOf(outputSchema) : [],
  };
}

function parameterOf(name: string, schema: JsonObject, isRequired: boolean): Parameter {
  const plain = withoutNull(schema);
  return {
    name,
    description: String([schema.description, plain.description].find((text) => typeof text === "string") ?? "")
      .slice(0, LONGEST_TEXT),
    isRequired,
    schema: plain,
    ...typeof plain.type === "string" && { type: plain.type },
  };
}

/** `string | null` is a string that may be left out. */
function withoutNull(schema: JsonObject): JsonObject {
  for (const key of ["anyOf", "oneOf"]) {
    const choices = schema[key];
    if (!Array.isArray(choices)) continue;
    const real = choices.filter((choice) => isObject(choice) && choice.type !== "null");
    if (real.length === 1) return { ...real[0] as JsonObject };
    const values = real.flatMap((choice) => isObject(choice) && typeof choice.const === "string" ? [choice.const] : []);
    if (values.length > 0 && values.length === real.length) return { type: "string", enum: values };
  }
  if (!Array.isArray(schema.type)) return schema;
  const type = schema.type.find((one) => one !== "null");
  return { ...schema, ...type !== undefined && { type } };
}

/** Every place in an output, `items[].id`. */
export function fieldsOf(schema: JsonObject, prefix = "", depth = 0): OutputField[] {
  if (depth > DEEPEST) return [];
  if (isObject(schema.items)) return fieldsOf(schema.items as JsonObject, `${prefix}[]`, depth + 1);
  if (!isObject(schema.properties)) return [];
  return Object.entries(schema.properties).flatMap(([key, field]): OutputField[] => {
    if (!isObject(field)) return [];
    const path = prefix ? `${prefix}.${key}` : key;
    const { description, type } = field;
    return [
      {
        path,
        description: typeof description === "string" ? description.slice(0, LONGEST_TEXT) : "",
        ...typeof type === "string" && { type },
      },
      ...fieldsOf(field as JsonObject, path, depth + 1),
    ];
  }).slice(0, MOST_FIELDS);
}
