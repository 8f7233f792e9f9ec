import { isObject } from "../../model/mod.ts";
import { z } from "../../../deps.ts";
import type { Conversation } from "./conversations.ts";
import type { Template } from "./template.ts";

/** Everything that a predictor learned, as it is stored. */
export interface SavedPredictor {
  readonly weights: Readonly<Record<string, number>>;
  readonly rates: readonly (readonly [place: string, hits: number, trials: number])[];
  readonly templates: readonly Template[];
  readonly conversations: readonly Conversation[];
}

const PATH = z.array(z.union([z.string(), z.number()]));
const ORIGIN = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("constant"), value: z.json() }),
  z.object({ kind: z.literal("argument"), of: z.string(), name: z.string() }),
  z.object({ kind: z.literal("leaf"), of: z.string(), path: PATH }),
  z.object({ kind: z.literal("joined"), of: z.string(), name: z.string(), path: PATH }),
]);
const TEMPLATE = z.object({ tool: z.string(), anchor: z.string(), arguments: z.record(z.string(), ORIGIN) });
const RATE = z.tuple([z.string(), z.number().nonnegative(), z.number().nonnegative()]);
const CALL = z.object({
  tool: z.string(),
  call: z.string(),
  arguments: z.record(z.string(), z.json()),
  reads: z.boolean(),
});
const CONVERSATION = z.object({ prompt: z.string(), calls: z.array(CALL) });
const WEIGHTS = z.record(z.string(), z.number());

/** The rows of another version that are not understood are left out. */
export function readSaved(saved: unknown): SavedPredictor {
  const { weights, rates, templates, conversations } = isObject(saved) ? saved : {};
  return {
    weights: WEIGHTS.safeParse(weights).data ?? {},
    rates: all(RATE, rates),
    templates: all(TEMPLATE, templates) as Template[],
    conversations: all(CONVERSATION, conversations) as Conversation[],
  };
}

function all<T>(schema: z.ZodType<T>, rows: unknown): T[] {
  if (!Array.isArray(rows)) return [];
  return rows.flatMap((row) => {
    const { data } = schema.safeParse(row);
    return data === undefined ? [] : [data];
  });
}
