import { isObject } from "./json.ts";

/** The capabilities that one side of a connection declares. */
export type Capabilities = Readonly<Record<string, unknown>>;

/** A question that a server asks back while it works on a call. */
export interface ServerRequest {
  readonly method: string;
  readonly params: Record<string, unknown>;
  /** The server that asks, for programs that show the question to a human. */
  readonly from?: string;
}

/** A question to a client; an approval carries the call that a human is to allow. */
export interface Question extends ServerRequest {
  readonly approval?: { readonly tool: string; readonly arguments: Record<string, unknown>; readonly why: string };
}

/** Puts a question to the client and gives its answer. */
export type Ask = (question: Question, signal: AbortSignal) => Promise<Record<string, unknown>>;

export const FORM: ServerRequest = { method: "elicitation/create", params: { mode: "form" } };
export const PAGE: ServerRequest = { method: "elicitation/create", params: { mode: "url" } };

/** True if a client with these capabilities takes a question itself. */
export function takes({ method, params }: ServerRequest, capabilities: Capabilities | undefined): boolean {
  const { elicitation, sampling, roots } = capabilities ?? {};
  if (method === "sampling/createMessage") return isObject(sampling);
  if (method === "roots/list") return isObject(roots);
  if (method !== "elicitation/create" || !isObject(elicitation)) return false;
  // Before there were pages, elicitation meant forms.
  return params.mode === "url" ? isObject(elicitation.url) : isObject(elicitation.form) || !isObject(elicitation.url);
}
