import { isObject, oneLine } from "../../model/mod.ts";

interface Choice {
  readonly value: string;
  readonly label: string;
}

/** One thing that a server wants to know, as it is put to a human. */
export type Field =
  & { readonly name: string; readonly label: string; readonly isRequired: boolean }
  & (
    | { readonly kind: "yes_no"; readonly usual: boolean }
    | { readonly kind: "one"; readonly choices: readonly Choice[]; readonly usual?: string }
    | {
      readonly kind: "many";
      readonly choices: readonly Choice[];
      readonly usual: readonly string[];
      readonly least: number;
      readonly most: number;
    }
    | {
      readonly kind: "text";
      readonly usual: string;
      /** What is wrong with what was typed, if anything is. */
      problem(typed: string): string | undefined;
      valueOf(typed: string): string | number;
    }
  );

type Schema = Record<string, unknown>;

const MOST_FIELDS = 50;
const MOST_CHOICES = 200;
const FORMATS: Record<string, { readonly pattern: RegExp; readonly like: string }> = {
  email: { pattern: /^[^\s@]+@[^\s@]+$/, like: "a@example.com" },
  uri: { pattern: /^[a-z][a-z\d+.-]*:\S+$/i, like: "https://example.com/" },
  date: { pattern: /^\d{4}-\d{2}-\d{2}$/, like: "2026-01-31" },
  "date-time": {
    pattern: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/,
    like: "2026-01-31T09:30:00Z",
  },
};

/** The fields of a form; undefined for one that could not be put to anybody. */
export function fieldsOf(schema: unknown): Field[] | undefined {
  const { properties, required } = isObject(schema) ? schema : {};
  const entries = Object.entries(isObject(properties) ? properties : {});
  if (entries.length > MOST_FIELDS) return undefined;
  const needed = new Set(Array.isArray(required) ? required : []);
  const fields = entries.map(([name, given]) => isObject(given) ? fieldOf(name, given, needed.has(name)) : undefined);
  return fields.every((field) => field !== undefined) ? fields : undefined;
}

function fieldOf(name: string, schema: Schema, isRequired: boolean): Field | undefined {
  const { type, title, description, default: usual } = schema;
  const called = oneLine(typeof title === "string" ? title : name, 100);
  const about = typeof description === "string" ? ` (${oneLine(description, 300)})` : "";
  const base = { name, label: `${called}${about}${isRequired ? "" : ", optional"}`, isRequired };
  if (type === "boolean") return { ...base, kind: "yes_no", usual: usual === true };
  if (type === "array") {
    const choices = choicesOf(isObject(schema.items) ? schema.items : {});
    if (!choices) return undefined;
    const chosen = choices.map(({ value }) => value).filter((value) => Array.isArray(usual) && usual.includes(value));
    const { minItems, maxItems } = schema;
    const least = Math.min(typeof minItems === "number" ? minItems : Number(isRequired), choices.length);
    const most = Math.max(typeof maxItems === "number" ? maxItems : choices.length, least);
    const bounds = least > 1 || most < choices.length ? `, ${least} to ${most}` : "";
    return { ...base, label: base.label + bounds, kind: "many", choices, usual: chosen, least, most };
  }
  const choices = choicesOf(schema);
  if (!choices && isChoice(schema)) return undefined;
  if (choices) return { ...base, kind: "one", choices, ...typeof usual === "string" && { usual } };
  if (type !== "string" && type !== "number" && type !== "integer") return undefined;
  return {
    ...base,
    kind: "text",
    usual: typeof usual === "string" || typeof usual === "number" ? oneLine(String(usual), 1_000) : "",
    problem: (typed) => {
      if (typed === "") return isRequired ? "It is needed" : undefined;
      return type === "string" ? problemOfText(typed, schema) : problemOfNumber(typed, schema);
    },
    valueOf: type === "string" ? (typed) => typed : Number,
  };
}

const isChoice = ({ enum: values, oneOf, anyOf }: Schema) => [values, oneOf, anyOf].some((one) => one !== undefined);

/** What may be chosen, in any of the ways a schema can say so; undefined for what nobody could pick from a list. */
function choicesOf(schema: Schema): Choice[] | undefined {
  const { enum: values, enumNames: names, oneOf, anyOf } = schema;
  const given = Array.isArray(values)
    ? values.map((value, i) => ({ const: value, title: Array.isArray(names) ? names[i] : undefined }))
    : [oneOf, anyOf].find(Array.isArray);
  if (!given || given.length === 0 || given.length > MOST_CHOICES) return undefined;
  const choices = given.filter(isObject).flatMap(({ const: value, title }): Choice[] =>
    typeof value === "string" ? [{ value, label: oneLine(typeof title === "string" ? title : value, 100) }] : []
  );
  return choices.length === given.length ? choices : undefined;
}

function problemOfText(typed: string, { minLength, maxLength, format }: Schema): string | undefined {
  if (typeof minLength === "number" && typed.length < minLength) return `At least ${minLength} characters`;
  if (typeof maxLength === "number" && typed.length > maxLength) return `At most ${maxLength} characters`;
  const form = typeof format === "string" && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  return form && !form.pattern.test(typed) ? `Like ${form.like}` : undefined;
}

function problemOfNumber(typed: string, { type, minimum, maximum }: Schema): string | undefined {
  const value = Number(typed);
  if (typed.trim() === "" || !Number.isFinite(value)) return "It has to be a number";
  if (type === "integer" && !Number.isInteger(value)) return "It has to be a whole number";
  if (typeof minimum === "number" && value < minimum) return `At least ${minimum}`;
  return typeof maximum === "number" && value > maximum ? `At most ${maximum}` : undefined;
}
