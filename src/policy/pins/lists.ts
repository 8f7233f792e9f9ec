import type { JsonObject } from "../../model/mod.ts";
import type { PinKind } from "./definition.ts";

/** The preset of the policy, as far as pins depend on it. */
export type PinPreset = "minimal" | "standard" | "strict";

/** The lists of a server as it sent them. */
export interface RawLists {
  readonly tools: readonly unknown[];
  readonly resources: readonly unknown[];
  readonly templates: readonly unknown[];
  readonly prompts: readonly unknown[];
  readonly instructions?: string | undefined;
}

/** The lists as agents may see them: every definition is one that was accepted. */
export interface PinnedLists extends RawLists {
  /** The definition hashes of the tools, by name. */
  readonly hashes: ReadonlyMap<string, string>;
}

/** The list of each kind. */
export const LISTS: Readonly<Record<Exclude<PinKind, "instructions">, keyof Omit<RawLists, "instructions">>> = {
  tool: "tools",
  prompt: "prompts",
  resource: "resources",
  template: "templates",
};

/** The key of the instructions, which are pinned like a list of one. */
export const INSTRUCTIONS = "instructions:";

export const itemKey = (kind: PinKind, key: string): string =>
  kind === "instructions" ? INSTRUCTIONS : `${kind}:${key}`;

/** The kind and the name that an item's key stands for. */
export function splitItemKey(item: string): { readonly kind: PinKind; readonly name: string } {
  const colon = item.indexOf(":");
  return { kind: item.slice(0, colon) as PinKind, name: item.slice(colon + 1) };
}

/** The instructions as a definition. */
export const asDefinition = (instructions: string): JsonObject => ({ description: instructions });
