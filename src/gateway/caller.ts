import type { ServerRequest } from "../mcp/upstream.ts";
import { AgentCardsError } from "../model/errors.ts";
import { oneLine, spelledOut } from "../model/text.ts";

/** Who asked for a call: an agent's client, a person at a terminal. */
export interface Caller {
  readonly signal: AbortSignal;
  /** Whether a human asked for this very call, which is as good as an approval. */
  readonly isApproved?: boolean;
  /** Passes progress on, when the caller wants it. */
  readonly progress?: (progress: Record<string, unknown>) => void;
  /** Whether the caller's own protocol carries a server's `input_required` answer. */
  readonly takesQuestions?: boolean;
  /** Whether `ask` reaches a human now; it does unless this says otherwise. */
  readonly canAsk?: () => boolean;
  /** Puts a question to the human, when the caller can. */
  readonly ask?: (request: ServerRequest, signal: AbortSignal) => Promise<Record<string, unknown>>;
}

/** Carries a server's question to the last caller who waits for that server and can answer. */
export async function askCaller(
  callers: ReadonlySet<Caller> | undefined,
  request: ServerRequest,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const askable = [...callers ?? []].filter((waiting) => waiting.ask);
  const caller = askable.findLast(({ canAsk }) => canAsk?.() !== false) ?? askable.at(-1);
  if (!caller?.ask) throw new AgentCardsError("INPUT_INVALID", "No client is there that can put a question to a human");
  return await caller.ask(request, signal);
}

export interface ApprovalRequest {
  readonly id: string;
  readonly arguments: Record<string, unknown>;
  readonly pattern: string;
}

/** Asks the human in front of the client to allow one call; anything but a clear yes refuses it. */
export async function approve(request: ApprovalRequest, caller: Caller): Promise<void> {
  if (caller.isApproved) return;
  const why = `policy.approve has "${request.pattern}"`;
  if (!caller.ask) {
    throw new AgentCardsError(
      "TOOL_DENIED",
      `${request.id} needs a human's approval (${why}), and this client cannot ask`,
      { hint: "Run it with run_workflow: there it waits until a human approves it." },
    );
  }
  if (await askApproval({ ...request, why }, caller.ask, caller.signal) === "approve") return;
  throw new AgentCardsError("TOOL_DENIED", `${request.id} was not allowed by the human`, {
    hint: "Do not try again unless the user asks for it.",
  });
}

/** Puts one call to the human: what, on which server, with which arguments, and why. Undefined: no word either way. */
export async function askApproval(
  { id, arguments: given, why }: { id: string; arguments: Record<string, unknown>; why: string },
  ask: NonNullable<Caller["ask"]>,
  signal: AbortSignal,
): Promise<"approve" | "reject" | undefined> {
  const answer = await ask({
    method: "elicitation/create",
    params: {
      mode: "form",
      message: `Allow ${oneLine(id)}? It was asked for because ${why}. Arguments:\n${shownArguments(given)}`,
      requestedSchema: {
        type: "object",
        properties: { allow: { type: "boolean", title: "Allow this one call", default: false } },
        required: ["allow"],
      },
    },
  }, signal);
  if (answer.action === "cancel") return undefined;
  const content = answer.content as Record<string, unknown> | undefined;
  return answer.action === "accept" && content?.allow === true ? "approve" : "reject";
}

/** The human sees at most this much of the arguments. */
const SHOWN_CHARACTERS = 3_000;

/** Arguments with nothing hidden: each by its name, what is too long with its length, invisible characters spelt out. */
function shownArguments(given: Record<string, unknown>): string {
  const whole = spelledOut(JSON.stringify(given, null, 2));
  if (whole.length <= SHOWN_CHARACTERS) return whole;
  const entries = Object.entries(given);
  const share = Math.max(40, Math.floor(SHOWN_CHARACTERS / entries.length) - 80);
  const lines = entries.slice(0, SHOWN_CHARACTERS / 120).map(([name, value]) => {
    const text = spelledOut(JSON.stringify(value) ?? "");
    const half = Math.floor(share / 2);
    const shown = text.length <= share
      ? text
      : `${text.slice(0, half)} … ${text.length - 2 * half} characters are not shown … ${text.slice(-half)}`;
    return `${oneLine(name, 60)}: ${shown}`;
  });
  const more = entries.length > lines.length ? `\n${entries.length - lines.length} more arguments are not shown` : "";
  return lines.join("\n") + more;
}
