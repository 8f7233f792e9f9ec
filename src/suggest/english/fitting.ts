import { isObject, type Json, type JsonObject } from "../../model/mod.ts";
import type { Parameter } from "./infer.ts";
import type { Literal } from "./literals.ts";

/** A literal as the value of a parameter, and how well its kind suits it. */
export interface Fit {
  readonly value: Json;
  readonly suits: number;
}

const IS_URL = /\b(ur[li]s?|links?|website|connection string|remote url)\b/i;
const IS_EMAIL = /e-?mail|recipient|attendee/i;
const IS_PATH = /path|file|folder|director|\bcwd\b|\bdir\b|^(source|destination)$/i;
const IS_TIME = /\b(date|time|datetime|start|end|since|until|before|after|at)\b|(date|time)$/i;
const IS_ID = /(^|[_-])(id|key|slug|sha|sid|hash|token|uuid|timestamp|number)$|(Id|Key|Slug|Sid|Timestamp|Number)$/;

/** The value that a literal would be for a parameter; undefined where it cannot be one. */
export function fitOf(parameter: Parameter, literal: Literal): Fit | undefined {
  const { type, schema = {} } = parameter;
  if (Array.isArray(schema.enum)) return undefined;
  if (type === "array") return arrayFit(parameter, literal);
  if (literal.list) return undefined;
  if (type === "number" || type === "integer") return numberFit(literal, type, schema);
  if (type === "object") return objectFit(literal, schema);
  return type === "string" ? textFit(parameter, literal) : undefined;
}

function numberFit({ kind, text }: Literal, type: string, { minimum, maximum }: JsonObject): Fit | undefined {
  const value = Number(text);
  if (kind !== "number" || (type === "integer" && !Number.isInteger(value))) return undefined;
  if ((typeof minimum === "number" && value < minimum) || (typeof maximum === "number" && value > maximum)) {
    return undefined;
  }
  return { value, suits: 0.5 };
}

function objectFit({ kind, text }: Literal, { properties = {} }: JsonObject): Fit | undefined {
  if (kind === "json") {
    const value = JSON.parse(text) as Json;
    return isObject(value) ? { value, suits: 1.8 } : undefined;
  }
  if (kind !== "size" || !isObject(properties) || !("width" in properties) || !("height" in properties)) {
    return undefined;
  }
  const [width, height] = text.split(/\D+/).map(Number);
  return { value: { width: width!, height: height! }, suits: 2 };
}

function arrayFit(parameter: Parameter, literal: Literal): Fit | undefined {
  const items = isObject(parameter.schema?.items) ? parameter.schema.items as JsonObject : undefined;
  if (!items || Array.isArray(items.enum)) return undefined;
  if (literal.kind === "json") {
    const value = JSON.parse(literal.text) as Json;
    return Array.isArray(value) ? { value, suits: 1.8 } : undefined;
  }
  const texts = literal.list ?? [literal.text];
  const inner = isObject(items.properties) ? soleText(items) : undefined;
  if (isObject(items.properties) && !inner) return undefined;
  const item: Parameter = inner
    ? { ...parameter, name: `${parameter.name} ${inner}`, type: "string", schema: {} }
    : { ...parameter, type: typeof items.type === "string" ? items.type : "string", schema: items };
  const fits = texts.map((text) => fitOf(item, { ...literal, text, list: undefined } as unknown as Literal));
  if (fits.some((fit) => fit === undefined)) return undefined;
  const value = fits.map((fit) => inner ? { [inner]: fit!.value } : fit!.value);
  return { value, suits: Math.min(...fits.map((fit) => fit!.suits)) + (literal.list ? 1.2 : 0) };
}

/** The one text that an item of a list is about: `{email}` of an attendee. */
function soleText({ properties, required }: JsonObject): string | undefined {
  const must = Array.isArray(required) ? required : [];
  const [only] = must;
  const schema = isObject(properties) ? properties[String(only)] : undefined;
  return must.length === 1 && isObject(schema) && schema.type === "string" ? String(only) : undefined;
}

function textFit({ name, description, schema = {} }: Parameter, { kind, text }: Literal): Fit | undefined {
  const about = `${name} ${description}`;
  const fit = (suits: number) => ({ value: text, suits });
  const plain = name.replace(/([a-z])([A-Z])/g, "$1 $2").replace(/[_-]/g, " ");
  if (IS_URL.test(plain) || schema.format === "uri") return kind === "url" ? fit(2.4) : undefined;
  if (kind === "url") return IS_URL.test(about) ? fit(1) : undefined;
  if (/^sql$|^(soql|sql)?query$/i.test(name) && kind === "sql") return fit(3);
  if (kind === "sql") return undefined;
  if (IS_EMAIL.test(plain)) return kind === "email" ? fit(2.4) : undefined;
  if (IS_PATH.test(plain)) return pathFit(plain, description, { kind, text });
  if (kind === "path") return /director|folder|path/i.test(about) ? fit(0.8) : fit(-0.5);
  if (kind === "date" || kind === "datetime") return IS_TIME.test(plain) ? fit(1.5) : undefined;
  if (kind === "range") return /range|cells/i.test(plain) ? fit(2.5) : undefined;
  if (kind === "json" || kind === "size" || kind === "time") return undefined;
  if (kind === "pair") return fit(/selector|filter/i.test(name) ? 1.6 : 0);
  if (kind === "slashed") return fit(IS_ID.test(name) ? 0.2 : 0);
  const emoji = /^:(.+):$/.exec(text)?.[1];
  if (emoji && /reaction|emoji/i.test(name)) return { value: emoji, suits: 1.5 };
  if (kind === "code") return fit(IS_ID.test(name) ? 1 : 0);
  if (kind === "quoted") return IS_ID.test(name) && /\s/.test(text) ? undefined : fit(1);
  if (kind === "email" || kind === "file") return fit(0.2);
  return fit(kind === "number" ? (IS_ID.test(name) ? 0 : -0.6) : 0.2);
}

/** A file for what is called a file, a folder for what is called a folder. */
function pathFit(plain: string, description: string, { kind, text }: Pick<Literal, "kind" | "text">): Fit | undefined {
  if (/base64/i.test(description)) return undefined;
  if (kind === "quoted") return { value: text, suits: 0.4 };
  if (kind !== "path" && kind !== "file") return undefined;
  const isFile = kind === "file" || /\.[A-Za-z0-9]{1,5}$/.test(text);
  const wanted = /\bfile(name)?\b/i.test(plain)
    ? isFile
    : /director|folder|\bdir\b|\bcwd\b/i.test(plain)
    ? !isFile
    : undefined;
  const suits = kind === "path" ? 2.2 : 1.6;
  return { value: text, suits: wanted === false ? suits - 1 : wanted ? Math.max(suits, 1.9) : suits };
}
