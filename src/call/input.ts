import { AgentCardsError, nearest, parseMeaning } from "../model/mod.ts";
import type { z } from "../../deps.ts";

const SHOWN_PROBLEMS = 10;

/** Checks what an agent sent; the error names every field that is wrong and what it should be. */
export function parseInput<T extends z.ZodObject>(schema: T, input: unknown): z.infer<T> {
  const parsed = parseMeaning(schema, input);
  if (parsed.success) return parsed.data as z.infer<T>;
  const problems = parsed.error.issues.flatMap((issue) => {
    const field = issue.path.join(".");
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => {
        const near = nearest(key, fieldsAt(schema, issue.path), 1)[0];
        return `${field ? `${field}.` : ""}${key} is not known${near ? `; did you mean ${near}?` : ""}`;
      });
    }
    if (issue.code === "invalid_type") {
      return [
        `${field || "the arguments"} must be ${
          issue.expected === "int"
            ? "a whole number"
            : `of type ${issue.expected === "record" ? "object" : issue.expected}`
        }`,
      ];
    }
    return [`${field}: ${issue.message}`];
  });
  const [first] = parsed.error.issues;
  const known = fieldsAt(schema, first?.code === "unrecognized_keys" ? first.path : first?.path.slice(0, -1) ?? []);
  const more = problems.length > SHOWN_PROBLEMS ? `; and ${problems.length - SHOWN_PROBLEMS} more` : "";
  throw new AgentCardsError("INPUT_INVALID", problems.slice(0, SHOWN_PROBLEMS).join("; ") + more, {
    hint: `Known fields: ${known.join(", ")}.`,
  });
}

/** The names of the fields that an object may have at a place in the input. */
function fieldsAt(schema: z.ZodObject, path: readonly PropertyKey[]): string[] {
  let here: unknown = schema;
  for (const step of path) {
    here = (here as { shape?: Record<PropertyKey, unknown> }).shape?.[step];
    // What may be left out is wrapped.
    while ((here as { unwrap?: () => unknown } | undefined)?.unwrap) here = (here as { unwrap(): unknown }).unwrap();
  }
  return Object.keys((here as { shape?: object } | undefined)?.shape ?? {});
}
