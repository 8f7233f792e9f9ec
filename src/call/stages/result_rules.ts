import { type CallResult, isObject } from "../../model/mod.ts";
import { fs } from "../../platform/start.ts";
import { shownJson, textResult, toolResultOf, valueOf } from "../answer.ts";
import type { ResultStore } from "../results.ts";

/** The parts of a result that rules and the origins of values read. */
export interface ReadResult {
  /** All of its texts, a line each. */
  readonly text: string;
  readonly value: unknown;
}

/** The parts of a result that rules read. Of a stored result it is the beginning: `storedText` has the rest. */
export function readsOf(result: CallResult): ReadResult {
  if (result.kind === "error") return { text: result.message, value: result.message };
  if (result.kind === "large") {
    const { output } = result.large;
    const value = output.kind === "value" ? output.value : output.preview;
    return { text: textsIn(value), value };
  }
  const { content, structuredContent } = result.result;
  return { text: textsIn([content, structuredContent]), value: valueOf(result.result) };
}

/** The whole of a result that was put aside before rules could read it; undefined for others. */
export async function storedText(result: CallResult, results: Pick<ResultStore, "read">): Promise<string | undefined> {
  if (result.kind !== "large" || result.large.output.kind !== "stored") return undefined;
  return await results.read(result.large.output.handle, (path) => fs.readTextFile(path)) as string;
}

/** An answer that a rule withholds. The call was made: nothing invites to make it again. */
export function withheldResult(why: string): CallResult {
  return { kind: "result", result: textResult(`It was answered, but the answer is withheld: ${why}`) };
}

type Redact = (text: string) => Promise<string>;

/** A result whose texts are cleaned, whichever part they stand in. */
export async function redacted(result: CallResult, redact: Redact): Promise<CallResult> {
  if (result.kind === "error") {
    return { ...result, message: await redact(result.message), data: await cleaned(result.data, redact) };
  }
  if (result.kind === "result") {
    return { kind: "result", result: await cleaned(result.result, redact) as Record<string, unknown> };
  }
  const clean = await cleaned(toolResultOf(result), redact) as Record<string, unknown>;
  const [json, shown] = [JSON.stringify(clean), shownJson(clean)].map((text) => new TextEncoder().encode(text));
  const output = await cleaned(result.large.output, redact) as typeof result.large.output;
  return { kind: "large", large: { ...result.large, json: json!, shown: shown!, output } };
}

async function cleaned(value: unknown, redact: Redact): Promise<unknown> {
  if (typeof value === "string") return await redact(value);
  if (Array.isArray(value)) return await Promise.all(value.map((item) => cleaned(item, redact)));
  if (!isObject(value)) return value;
  const entries = await Promise.all(
    Object.entries(value).map(async ([name, item]) => [name, await cleaned(item, redact)] as const),
  );
  return Object.fromEntries(entries);
}

function textsIn(value: unknown): string {
  const parts: string[] = [];
  const visit = (one: unknown): void => {
    if (typeof one === "string") parts.push(one);
    else if (Array.isArray(one)) one.forEach(visit);
    else if (isObject(one)) {
      // Media is no text, and may be as long as a film.
      for (const [name, item] of Object.entries(one)) if (name !== "data" && name !== "blob") visit(item);
    } else if (typeof one === "number") parts.push(String(one));
  };
  visit(value);
  return parts.join("\n");
}
