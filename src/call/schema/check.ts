import { referencesIn } from "../../dag/mod.ts";
import { cut, isObject, type JsonObject, oneLine, type Tool } from "../../model/mod.ts";
import type { ErrorObject, ValidateFunction } from "ajv";

/** The part of a tool that its arguments are checked by. */
export type CheckedTool = Pick<Tool, "hash" | "inputSchema">;

/** The problems of arguments by a schema, found on the thread that asks; the caller has bounded both. */
export type SchemaCheck = (tool: CheckedTool, args: JsonObject) => string[];

const MAX_SCHEMAS = 500;
const SHOWN_PROBLEMS = 5;
/** The number of the validator's errors that are looked at. */
const READ_ERRORS = 200;
/**
 * Left to the server: a foreign expression can take for ever, and so can comparing each item of a list with every
 * other. An `$id` would be a name in a space that all schemas share.
 */
const NOT_CHECKED = new Set(["pattern", "patternProperties", "format", "uniqueItems", "$schema", "$id", "$async"]);

/** Loads the validator, which takes a moment, and gives the check, which does not. */
export async function loadSchemaCheck(): Promise<SchemaCheck> {
  const { Ajv2020 } = await import("ajv/dist/2020.js");
  const compiled = new Map<string, ValidateFunction | null>();
  // What a schema says about itself is not checked either: compiling the rules for that takes longer than all the rest.
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    validateFormats: false,
    validateSchema: false,
    meta: false,
    logger: false,
  });

  function compile({ hash, inputSchema }: CheckedTool): ValidateFunction | null {
    const known = compiled.get(hash);
    if (known !== undefined) return known;
    if (compiled.size >= MAX_SCHEMAS) compiled.delete(compiled.keys().next().value!);
    const made = tryCompile(inputSchema);
    compiled.set(hash, made);
    return made;
  }

  /** A reference to another document, a form that this draft does not know: then the server has to say what is wrong. */
  function tryCompile(schema: JsonObject): ValidateFunction | null {
    const safe = withoutHazards(schema) as JsonObject;
    try {
      return ajv.compile(safe);
    } catch {
      return null;
    } finally {
      ajv.removeSchema(safe);
    }
  }

  return (tool, args) => {
    const validate = compile(tool);
    if (!validate) return [];
    try {
      if (validate(args)) return [];
    } catch {
      return [];
    }
    return problems(validate.errors ?? [], args);
  };
}

/** A copy of a schema without the keywords that are not checked. What stands below `properties` are names, not keywords. */
function withoutHazards(schema: unknown, areNames = false): unknown {
  if (Array.isArray(schema)) return schema.map((item) => withoutHazards(item));
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).filter(([key]) => areNames || !NOT_CHECKED.has(key)).map(([key, value]) => [
      key,
      key === "enum" || key === "const" || key === "default" || key === "examples"
        ? value
        : withoutHazards(value, !areNames && NAMED.has(key)),
    ]),
  );
}

const NAMED = new Set(["properties", "$defs", "definitions", "dependentSchemas"]);

/** Says each problem once, those left out that a reference may still solve. */
function problems(all: readonly ErrorObject[], args: JsonObject): string[] {
  const places = new Map<string, boolean>();
  const isOpen = ({ instancePath }: ErrorObject) =>
    places.getOrInsertComputed(instancePath, () => referencesIn(at(args, instancePath)).length > 0);
  const isChoice = ({ keyword }: ErrorObject) => /anyOf|oneOf|not|if$/.test(keyword);
  // What the validator says of a choice comes after what it says of its forms: those are looked at first and last.
  const errors = all.length <= READ_ERRORS ? all : [...all.slice(0, READ_ERRORS / 2), ...all.slice(-READ_ERRORS / 2)];
  // Where one of several forms must fit, a reference below may make another form fit.
  const choices = [...new Set(errors.filter((error) => isChoice(error) && isOpen(error)).map((one) => one.schemaPath))];
  const said = errors.filter((error) =>
    !choices.some((schemaPath) => error.schemaPath.startsWith(schemaPath)) &&
    (SHAPE.has(error.keyword) ? isObject(at(args, error.instancePath)) : !isOpen(error))
  ).map((error) => describeError(error));
  return [...new Set(said)].slice(0, SHOWN_PROBLEMS);
}

/** The keywords about the outline of a value, which hold whatever its parts turn out to be. */
const SHAPE = new Set(["required", "additionalProperties", "unevaluatedProperties", "dependentRequired"]);

function at(args: JsonObject, pointer: string): unknown {
  let here: unknown = args;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    here = typeof here === "object" && here !== null && Object.hasOwn(here, key)
      ? (here as Record<string, unknown>)[key]
      : undefined;
  }
  return here;
}

function describeError({ instancePath, keyword, params, message }: ErrorObject): string {
  const where = instancePath ? `arguments${instancePath.replaceAll("/", ".")}` : "arguments";
  const { missingProperty, additionalProperty, allowedValues } = params as Record<string, unknown>;
  if (keyword === "required") return `${where}.${missingProperty} is missing`;
  if (keyword === "additionalProperties") return `${where}.${oneLine(String(additionalProperty), 60)} is not known`;
  if (keyword === "enum") return `${where} must be one of ${cut(JSON.stringify(allowedValues), 200)}`;
  return oneLine(`${where} ${message ?? "does not fit"}`, 200);
}
