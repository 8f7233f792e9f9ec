import type { WhileAsked } from "../../mcp/mod.ts";
import {
  AgentCardsError,
  type Ask,
  type Call,
  type Caller,
  canPut,
  type Capabilities,
  isObject,
  oneLine,
  type ServerRequest,
  takes,
} from "../../model/mod.ts";
import { countQuestion, inTurn } from "./asking_turns.ts";

/** The client capabilities of a person at a terminal: forms and pages, neither a model nor folders. */
export const AT_A_TERMINAL: Capabilities = { elicitation: { form: {}, url: {} } };

type Behind = Pick<Caller, "client" | "human">;

/** The function that puts a question to the human, where there is one. */
export function askOf({ human }: Pick<Caller, "human">): Ask | undefined {
  return human.kind === "nobody" ? undefined : human.ask;
}

/** The capabilities a call declares to its server: those of the client behind the call, and no others. */
export function declared({ client: { capabilities }, human }: Behind): Capabilities {
  return capabilities ? offered(capabilities) : human.kind === "nobody" ? {} : AT_A_TERMINAL;
}

/** The part of a client's capabilities that concerns servers. */
export function offered({ elicitation, sampling, roots }: Capabilities = {}): Capabilities {
  return {
    ...isObject(elicitation) && { elicitation },
    ...isObject(sampling) && { sampling },
    ...isObject(roots) && { roots },
  };
}

interface Asking {
  readonly signal: AbortSignal;
  /** True if several HTTP clients are behind the session. */
  readonly isMultiplexed: boolean;
  readonly whileAsked: WhileAsked;
}

/**
 * Puts a server's question to the newest call on that server whose client can answer it. A server of the older protocol
 * does not say for which call it asks, so of several clients or sessions none is asked.
 */
export async function askCall(
  calls: ReadonlySet<Call>,
  request: ServerRequest,
  { signal, isMultiplexed, whileAsked }: Asking,
): Promise<Record<string, unknown>> {
  const waiting = [...calls];
  const isForOne = new Set(waiting.map((call) => call.client.owner ?? call)).size <= 1;
  if (!isForOne || isMultiplexed && waiting.length > 1 && request.method !== "roots/list") {
    throw new AgentCardsError(
      "CLIENT_AMBIGUOUS",
      "Several clients wait for this server; the question does not name one",
    );
  }
  const put = (call: Call, ask: Ask) => {
    countQuestion(call, request.method, calls);
    const until = AbortSignal.any([signal, call.signal]);
    const work = () => ask(request, until);
    return whileAsked(() => inTurn(request.method, { call, calls, signal: until, work }));
  };
  if (request.method !== "elicitation/create") {
    const call = waiting.findLast(({ client }) => client.request && takes(request, client.capabilities));
    return call ? await put(call, call.client.request!) : await askClient(request, undefined, signal);
  }
  const askable = waiting.filter((call) => canPut(request, call));
  const call = askable.findLast(canAskNow) ?? askable.at(-1);
  const ask = call && askOf(call);
  if (!ask) {
    // Of several calls it is not known which one the question belongs to.
    if (waiting.length === 1) waiting[0]!.giveUp?.(request);
    throw new AgentCardsError("NO_HUMAN", "No client is connected that can put a question to a human");
  }
  // Nobody is there to answer: the question waits beside the others until it is known whose it is.
  return canAskNow(call) ? await put(call, ask) : await ask(request, signal);
}

function canAskNow({ human }: Call): boolean {
  return human.kind !== "later" || human.canAsk();
}

/** Puts a sampling or roots request to a client; an error where the client did not offer to answer it. */
export async function askClient(
  request: ServerRequest,
  caller: Pick<Caller, "client"> | undefined,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const { request: put, capabilities } = caller?.client ?? {};
  if (put && takes(request, capabilities)) return await put(request, signal);
  throw new AgentCardsError("CLIENT_UNABLE", `No client is connected that answers ${oneLine(request.method, 60)}`);
}

/** The text of a question with the fields of its answer, for those who are not asked. */
export function questionText({ params: { message, requestedSchema } }: ServerRequest): string {
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

/** The error of a call that only a human can let go on; a workflow waits for one, and a human can make the call. */
export function humanNeeded(id: string, why: string, question?: string): AgentCardsError {
  const command = `agentcards call ${/^[\w:.-]+$/.test(id) ? id : "TOOL"} ARGUMENTS`;
  return new AgentCardsError("HUMAN_NEEDED", `${id} ${why}`, {
    hint:
      `In a workflow (run_workflow) it waits for a human; the user can also make the call at a terminal: ${command}`,
    ...question !== undefined && { data: { question } },
  });
}

/** The error of a call whose approval stays open: the ways in which the user can allow it. */
export function approvalNeeded(
  id: string,
  { why, problem, approval }: { readonly why: string; readonly problem: string; readonly approval: string },
): AgentCardsError {
  const rule = `- { name: allow ${oneLine(id, 60)}, match: "${oneLine(id, 150)}", then: allow }`;
  return new AgentCardsError("HUMAN_NEEDED", `${id} needs a human's approval (${oneLine(why, 500)}), and ${problem}`, {
    hint:
      `It was not called, and nobody rejected it. The user can allow it: \`agentcards approve ${approval}\` within an ` +
      `hour, then make the same call again; or for good, below policy.rules in config.yaml: ${rule}. ` +
      "In a workflow (run_workflow) it waits for a human.",
    data: { approval },
  });
}
