import { argumentCheck } from "../call/mod.ts";
import { canonicalJson, type Json, type JsonObject, messageOf, sha256 } from "../model/mod.ts";

/** An answer as JSON, or the reason why it is none that fits. */
export type Read = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly problem: string };

/** The part of a prompt that asks for JSON. */
export function asksForJson(schema: JsonObject): string {
  return "\n\nAnswer with one JSON value that fits this JSON Schema, and nothing else: no words around it, no code " +
    `fence.\n${JSON.stringify(schema)}`;
}

/** The prompt after an answer that does not fit. */
export function asksAgain(problem: string, schema: JsonObject): string {
  return `Your answer cannot be used: ${problem}.${asksForJson(schema)}`;
}

/** Reads an answer by its schema. A code fence around it is taken off. */
export async function readAnswer(text: string, schema: JsonObject): Promise<Read> {
  const bare = /^\s*```(?:json)?\s*\n([^]*?)\n?```\s*$/.exec(text)?.[1] ?? text;
  let value: Json;
  try {
    value = JSON.parse(bare);
  } catch (error) {
    return { ok: false, problem: `it is no JSON: ${messageOf(error)}` };
  }
  // As the one argument of a call, so that lists and texts are checked as objects are.
  const inputSchema = { type: "object", properties: { answer: schema }, required: ["answer"] };
  const tool = { inputSchema, hash: await sha256(canonicalJson(inputSchema)) };
  const problems = await (await argumentCheck())(tool, { answer: value });
  return problems.length === 0 ? { ok: true, value } : { ok: false, problem: problems.slice(0, 5).join("; ") };
}
