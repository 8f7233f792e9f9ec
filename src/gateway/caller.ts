import type { Capabilities, ServerEvent, ServerRequest, WhileAsked } from "../mcp/upstream.ts";
import { AgentCardsError } from "../model/errors.ts";
import { isObject } from "../model/json.ts";
import { oneLine } from "../model/text.ts";
import { countQuestion, inTurn } from "./asking_turns.ts";

/** A question, with the call that a human is to allow where it is ours. */
export interface AskedRequest extends ServerRequest {
  readonly approval?: { readonly tool: string; readonly arguments: Record<string, unknown>; readonly why: string };
}

/** Puts a request to the client in front. */
export type Ask = (request: AskedRequest, signal: AbortSignal) => Promise<Record<string, unknown>>;

/** Who asked for a call: an agent's client, a person at a terminal. */
export interface Caller {
  readonly signal: AbortSignal;
  /** The key of the call that a human has allowed in this flow of requests. */
  readonly approved?: string;
  /** Passes progress on, when the caller wants it. */
  readonly progress?: (progress: Record<string, unknown>) => void;
  /** Passes on what a server has to say about its work, when the caller wants it. */
  readonly log?: (message: Record<string, unknown>) => void;
  readonly logLevel?: string;
  /** Whether the caller's own protocol carries a server's `input_required` answer. */
  readonly takesQuestions?: boolean;
  /** Whether `ask` reaches a human now; it does unless this says otherwise. */
  readonly canAsk?: () => boolean;
  /** Puts a question to the human, when the caller can. */
  readonly ask?: Ask;
  /** Whether `ask` is for what servers want to know only: approvals are decided in another way. */
  readonly asksForServersOnly?: boolean;
  /** In whose line its questions wait; without one, in that of all questions of their server. */
  readonly turn?: object | undefined;
  /** What the caller's client says it can answer. */
  readonly capabilities?: Capabilities;
  /** Puts what is for the client itself to it: sampling, roots. Only what its capabilities have. */
  readonly request?: Ask;
  /** Trace context, for calls that are made for this one. */
  readonly trace?: Record<string, unknown>;
  /** The session it belongs to, where a server is shared; a caller without one stands for itself. */
  readonly owner?: unknown;
  /** The same object for all calls that are made for one request of a client: questions are counted by it. */
  readonly asked?: object;
  /** The key of the client's request: its connection, its id and its content, the same in every engine. */
  readonly key?: () => Promise<string>;
  /** Told the key of a call that a human has allowed. */
  readonly onApproved?: (key: string) => void;
  /** Whether `ask` shows a call whole, however long it is. */
  readonly showsWhole?: boolean;
  /** Ends the call because of a question that nobody can answer. */
  readonly giveUp?: (question: ServerRequest) => void;
}

/** The client in front of a session. */
export interface ClientSide {
  /** What it can answer, once it has said so. */
  readonly capabilities?: Capabilities;
  /** From which level on it wants to hear what servers log, once it has said so. */
  readonly logLevel?: string;
  /** Whether it is many. */
  readonly isCrowd?: boolean;
  /** Hears what servers say by themselves. */
  tell(server: string, event: ServerEvent): void;
}

/** The client capabilities of a person at a terminal: forms and pages, neither a model nor folders. */
export const AT_A_TERMINAL: Capabilities = { elicitation: { form: {}, url: {} } };

/** The capabilities a call declares to its server: those of the client behind the call, and no others. */
export function declared({ capabilities, ask }: Pick<Caller, "capabilities" | "ask">): Capabilities {
  return capabilities ? offered(capabilities) : ask ? AT_A_TERMINAL : {};
}

/** The part of a client's capabilities that concerns servers. */
export function offered({ elicitation, sampling, roots }: Capabilities = {}): Capabilities {
  return {
    ...isObject(elicitation) && { elicitation },
    ...isObject(sampling) && { sampling },
    ...isObject(roots) && { roots },
  };
}

/** Whether a client takes a question itself. */
export function takes({ method, params }: ServerRequest, capabilities: Capabilities | undefined): boolean {
  const { elicitation, sampling, roots } = capabilities ?? {};
  if (method === "sampling/createMessage") return isObject(sampling);
  if (method === "roots/list") return isObject(roots);
  if (method !== "elicitation/create" || !isObject(elicitation)) return false;
  // Forms are what elicitation meant before it meant more.
  return params.mode === "url" ? isObject(elicitation.url) : isObject(elicitation.form) || !isObject(elicitation.url);
}

export const FORM: ServerRequest = { method: "elicitation/create", params: { mode: "form" } };
export const PAGE: ServerRequest = { method: "elicitation/create", params: { mode: "url" } };

/** Whether a caller can put a question to a human: some clients know forms only, or pages only. */
export function canPut(question: ServerRequest, { ask, capabilities }: Caller): boolean {
  return ask !== undefined && (!isObject(capabilities?.elicitation) || takes(question, capabilities));
}

/**
 * Carries a server's question to the last caller who waits for that server and can answer. A server of the older protocol
 * does not say for which call it asks, so of several clients or sessions none is asked.
 */
export async function askCaller(
  callers: ReadonlySet<Caller>,
  request: ServerRequest,
  { signal, isCrowd, whileAsked }: Asking,
): Promise<Record<string, unknown>> {
  const waiting = [...callers];
  const isForOne = new Set(waiting.map((caller) => caller.owner ?? caller)).size <= 1;
  if (!isForOne || isCrowd && waiting.length > 1 && request.method !== "roots/list") {
    throw new AgentCardsError("INPUT_INVALID", "Several clients wait for this server; it does not say whom it asks");
  }
  const put = (caller: Caller, ask: Ask) => {
    countQuestion(caller, request.method, callers);
    const until = AbortSignal.any([signal, caller.signal]);
    const work = () => ask(request, until);
    return whileAsked(() => inTurn(request.method, { caller, callers, signal: until, work }));
  };
  if (request.method !== "elicitation/create") {
    const client = waiting.findLast((caller) => caller.request && takes(request, caller.capabilities));
    return client?.request ? await put(client, client.request) : await answerAsClient(request, undefined, signal);
  }
  const askable = waiting.filter((caller) => canPut(request, caller));
  const caller = askable.findLast(({ canAsk }) => canAsk?.() !== false) ?? askable.at(-1);
  if (!caller?.ask) {
    // Of several calls it cannot be told which one asks.
    if (waiting.length === 1) waiting[0]!.giveUp?.(request);
    throw new AgentCardsError("INPUT_INVALID", "No client is there that can put a question to a human");
  }
  // Nobody is there to answer: it waits beside the others until it is known whose it is.
  if (caller.canAsk?.() === false) return await caller.ask(request, signal);
  return await put(caller, caller.ask);
}

interface Asking {
  readonly signal: AbortSignal;
  /** Whether many clients are behind the session. */
  readonly isCrowd: boolean;
  readonly whileAsked: WhileAsked;
}

/** Makes a call: a question that its caller cannot put to anybody ends it, and the error says what was asked. */
export async function unlessAsked<T>(id: string, caller: Caller, call: (caller: Caller) => Promise<T>): Promise<T> {
  if (canPut(FORM, caller) && canPut(PAGE, caller)) return await call(caller);
  const own = new AbortController();
  let question: ServerRequest | undefined;
  const giveUp = (asked: ServerRequest) => {
    question = asked;
    own.abort();
  };
  try {
    return await call({ ...caller, giveUp, signal: AbortSignal.any([caller.signal, own.signal]) });
  } catch (error) {
    if (!question) throw error;
    const words = wordsOf(question);
    throw humanNeeded(id, `asks a human: ${words}; this client cannot ask, so it was called off`, words);
  }
}

/** The text of a question with the fields of its answer, for those who are not asked. */
export function wordsOf({ params: { message, requestedSchema } }: ServerRequest): string {
  const fields = fieldsOf(requestedSchema);
  return `${typeof message === "string" ? oneLine(message, 500) : "something"}${fields && ` (fields: ${fields})`}`;
}

const SHOWN_FIELDS = 12;

/** The fields of a form in one line, such as `name: string, age?: integer, colour: "red"|"blue"`. */
function fieldsOf(schema: unknown): string {
  const properties = isObject(schema) && isObject(schema.properties) ? schema.properties : {};
  const required = isObject(schema) && Array.isArray(schema.required) ? schema.required : [];
  const entries = Object.entries(properties);
  const shown = entries.slice(0, SHOWN_FIELDS).map(([name, field]) => {
    const { type, enum: choices } = isObject(field) ? field : {};
    const kind = Array.isArray(choices)
      ? choices.map((choice) => JSON.stringify(choice)).join("|")
      : String(type ?? "any");
    return oneLine(`${name}${required.includes(name) ? "" : "?"}: ${kind}`, 100);
  });
  return [...shown, ...entries.length > shown.length ? [`and ${entries.length - shown.length} more`] : []].join(", ");
}

/** Without a human there is no going on; a workflow waits for one, and a human can make the call. */
export function humanNeeded(id: string, why: string, question?: string): AgentCardsError {
  const command = `agentcards call ${/^[\w:.-]+$/.test(id) ? id : "TOOL"} ARGUMENTS`;
  return new AgentCardsError("HUMAN_NEEDED", `${id} ${why}`, {
    hint:
      `In a workflow (run_workflow) it waits for a human; the user can also make the call at a terminal: ${command}`,
    ...question !== undefined && { data: { question } },
  });
}

/** Carries a question that is not for a human to the client; an error where the client did not offer to answer it. */
export async function answerAsClient(
  request: ServerRequest,
  client: Caller | undefined,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  if (client?.request && takes(request, client.capabilities)) return await client.request(request, signal);
  throw new AgentCardsError("INPUT_INVALID", `No client is there that takes ${request.method}`);
}
