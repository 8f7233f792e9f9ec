import type { ServerRequest } from "../mcp/upstream.ts";
import { AgentCardsError } from "../model/errors.ts";
import { cut, oneLine, sanitise } from "../model/text.ts";

/** Who asked for a call: an agent's client, a person at a terminal. */
export interface Caller {
  readonly signal: AbortSignal;
  /** Whether a human asked for this very call, which is as good as an approval. */
  readonly isApproved?: boolean;
  /** Passes progress on, when the caller wants it. */
  readonly progress?: (progress: Record<string, unknown>) => void;
  /** Whether the caller's own protocol carries a server's `input_required` answer. */
  readonly takesQuestions?: boolean;
  /** Puts a question to the human, when the caller can. */
  readonly ask?: (request: ServerRequest, signal: AbortSignal) => Promise<Record<string, unknown>>;
}

/** Carries a server's question to the last caller who waits for that server and can answer. */
export async function askCaller(
  callers: ReadonlySet<Caller> | undefined,
  request: ServerRequest,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const caller = [...callers ?? []].findLast((waiting) => waiting.ask);
  if (!caller?.ask) throw new AgentCardsError("INPUT_INVALID", "No client is there that can put a question to a human");
  return await caller.ask(request, signal);
}

export interface ApprovalRequest {
  readonly id: string;
  readonly arguments: Record<string, unknown>;
  readonly pattern: string;
}

/** The human sees at most this much of the arguments. */
const SHOWN_CHARACTERS = 3_000;

/** Asks the human in front of the client to allow one call; anything but a clear yes refuses it. */
export async function approve(request: ApprovalRequest, caller: Caller): Promise<void> {
  if (caller.isApproved) return;
  const why = `policy.approve has "${request.pattern}"`;
  if (!caller.ask) {
    throw new AgentCardsError(
      "TOOL_DENIED",
      `${request.id} needs a human's approval (${why}), and this client cannot ask`,
      {
        hint:
          "Run it with run_workflow: it waits there until a human approves it. A human can also make this call with `agentcards call`.",
      },
    );
  }
  if (await isAllowed({ ...request, why }, caller.ask, caller.signal)) return;
  throw new AgentCardsError("TOOL_DENIED", `${request.id} was not allowed by the human`, {
    hint: "Do not try again unless the user asks for it.",
  });
}

/** Puts one call to the human: what, on which server, with which arguments, and why it is asked. */
export async function isAllowed(
  { id, arguments: given, why }: { id: string; arguments: Record<string, unknown>; why: string },
  ask: NonNullable<Caller["ask"]>,
  signal: AbortSignal,
): Promise<boolean> {
  const shown = cut(sanitise(JSON.stringify(given, null, 2)), SHOWN_CHARACTERS);
  const answer = await ask({
    method: "elicitation/create",
    params: {
      mode: "form",
      message: `Allow ${oneLine(id)}? It was asked for because ${why}. Arguments:\n${shown}`,
      requestedSchema: {
        type: "object",
        properties: { allow: { type: "boolean", title: "Allow this one call", default: false } },
        required: ["allow"],
      },
    },
  }, signal);
  const content = answer.content as Record<string, unknown> | undefined;
  return answer.action === "accept" && content?.allow === true;
}
