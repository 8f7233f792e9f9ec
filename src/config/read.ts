import { AgentCardsError, messageOf, nearest } from "../model/mod.ts";
import { fs } from "../platform/start.ts";
import { type Document, isMap, LineCounter, parseDocument } from "yaml";
import { z } from "../../deps.ts";
import { type ConfigFile, fileSchema } from "./schema.ts";

/** No configuration is larger. */
export const MAX_BYTES = 1024 * 1024;

/** Reads and checks one configuration file; a missing file is an empty one. */
export async function readConfigFile(path: string): Promise<ConfigFile> {
  let text: string;
  try {
    if ((await fs.stat(path)).size > MAX_BYTES) throw invalid(path, ["is larger than 1 MB"]);
    text = await fs.readTextFile(path);
  } catch (cause) {
    if (fs.isNotFound(cause)) return {};
    if (cause instanceof AgentCardsError) throw cause;
    throw new AgentCardsError("CONFIG_INVALID", `Cannot read ${path}: ${messageOf(cause)}`, { cause });
  }
  return parseConfig(text, path);
}

/** Checks the text of a configuration file. Every problem is named with its line, what was expected and the nearest key. */
export function parseConfig(text: string, path: string): ConfigFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: true });
  if (document.errors.length > 0) {
    throw invalid(path, document.errors.map((error) => error.message.split("\n")[0]!.replace(/:$/, "")));
  }
  const parsed = fileSchema.safeParse(valueOf(document, path) ?? {});
  const lineOf = (at: readonly PropertyKey[]): number | undefined => {
    for (let length = at.length; length > 0; length--) {
      const parent = document.getIn(at.slice(0, length - 1), true);
      const pair = isMap(parent)
        ? parent.items.find((item) => String((item.key as { value?: unknown })?.value) === String(at[length - 1]))
        : undefined;
      const node = (pair?.key ?? document.getIn(at.slice(0, length), true)) as { range?: number[] } | undefined;
      if (node?.range) return lines.linePos(node.range[0]!).line;
    }
  };
  if (parsed.success) return placed(parsed.data, (at) => `${path}: line ${lineOf(at) ?? 1}`);
  const problems = parsed.error.issues.flatMap(explain);
  const shown = problems.slice(0, SHOWN_PROBLEMS).map(({ at, what }) => {
    const line = lineOf(at);
    return `${line ? `line ${line}: ` : ""}${at.length ? `${at.join(".")} ` : ""}${what}`;
  });
  throw invalid(path, shown, problems.length);
}

/** A file whose rules know where they were read: they are compiled later, and their errors name the line. */
function placed(file: ConfigFile, placeOf: (at: readonly PropertyKey[]) => string): ConfigFile {
  const { policy } = file;
  if (!policy?.rules) return file;
  const names = new Set<string>();
  const rules = policy.rules.map((rule, i) => {
    const at = placeOf(["policy", "rules", i]);
    if (names.has(rule.name)) {
      throw new AgentCardsError("CONFIG_INVALID", `Cannot use ${at}: there are two rules "${rule.name}"`, {
        hint: "Rates, budgets and the audit know rules by their names: give one another name.",
      });
    }
    names.add(rule.name);
    return { ...rule, at };
  });
  return { ...file, policy: { ...policy, rules } };
}

/** The plain value of a document. Aliases that multiply without end, or that lead nowhere, are a problem of the file. */
function valueOf(document: Document.Parsed, path: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw invalid(path, [messageOf(error)]);
  }
}

const SHOWN_PROBLEMS = 20;

function invalid(path: string, found: string[], count = found.length): AgentCardsError {
  const more = count - SHOWN_PROBLEMS;
  const problems = [...found.slice(0, SHOWN_PROBLEMS), ...more > 0 ? [`and ${more} more`] : []];
  return new AgentCardsError("CONFIG_INVALID", `Cannot use ${path}: ${problems.join("; ")}`, {
    hint: "Nothing was changed. Correct the file and try again.",
    data: { path, problems },
  });
}

type Issue = z.core.$ZodIssue;

function explain(issue: Issue): { at: PropertyKey[]; what: string }[] {
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => {
        const valid = keysAt(fileSchema, issue.path);
        const near = nearest(key, valid, 1)[0];
        const advice = near ? `did you mean "${near}"?` : `known here: ${valid.join(", ")}`;
        return { at: [...issue.path, key], what: `is not a known key; ${advice}` };
      });
    case "invalid_type":
      return [{ at: issue.path, what: `must be ${withArticle(issue.expected)}` }];
    case "invalid_value":
      return [{
        at: issue.path,
        what: `must be one of ${issue.values.map((value) => JSON.stringify(value)).join(", ")}`,
      }];
    case "invalid_key":
      return [{ at: issue.path, what: `has a bad name: ${issue.issues.map((inner) => inner.message).join(", ")}` }];
    case "invalid_union":
      return [{ at: issue.path, what: issue.message === "Invalid input" ? "has the wrong type" : issue.message }];
    default:
      return [{ at: issue.path, what: issue.message }];
  }
}

function withArticle(type: string): string {
  if (type === "record" || type === "object") return "a mapping (key: value)";
  if (type === "array") return "a list";
  return `a ${type === "int" ? "whole number" : type}`;
}

/** The keys that are allowed at a path of the schema. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let at: z.ZodType | undefined = schema;
  for (const key of path) {
    at = unwrap(at);
    at = at instanceof z.ZodObject
      ? at.shape[String(key)]
      : at instanceof z.ZodRecord
      ? at.valueType as z.ZodType
      : undefined;
  }
  at = unwrap(at);
  return at instanceof z.ZodObject ? Object.keys(at.shape) : [];
}

function unwrap(schema: z.ZodType | undefined): z.ZodType | undefined {
  return schema instanceof z.ZodOptional ? unwrap(schema.unwrap() as z.ZodType) : schema;
}
