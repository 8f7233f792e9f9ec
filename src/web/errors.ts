import { sanitise, toAgentCardsError } from "../model/mod.ts";

/** An error as a page shows it. */
export interface PageError {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

/** The error for a page: without control characters, with the hint that says what to do. */
export function errorOf(error: unknown): PageError {
  const { code, message, hint } = toAgentCardsError(error);
  return { code, message: sanitise(message), ...hint && { hint: sanitise(hint) } };
}
