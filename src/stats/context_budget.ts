import { tokens, type Tool } from "../model/mod.ts";

/** The tokens that lists of tools take of an agent's context. */
export interface ContextBudget {
  /** With every tool of every server in the list. */
  readonly direct_tokens: number;
  /** With the gateway's own list. */
  readonly own_tokens: number;
}

/** The tokens of a list of tools beside those of the list that agents get. */
export function contextBudget(tools: readonly Tool[], own: readonly unknown[]): ContextBudget {
  const sizeOf = (list: readonly unknown[]) =>
    tokens(list.reduce<number>((sum, one) => sum + JSON.stringify(one).length, 0));
  const shown = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  return { direct_tokens: sizeOf(shown), own_tokens: sizeOf(own) };
}
