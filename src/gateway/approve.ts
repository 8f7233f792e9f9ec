import { AgentCardsError } from "../model/errors.ts";
import { foldArguments } from "../model/fold.ts";
import { canonicalJson, sha256 } from "../model/json.ts";
import { oneLine } from "../model/text.ts";
import { splitToolId } from "../model/tool.ts";
import { type Ask, type Caller, canPut, FORM, humanNeeded } from "./caller.ts";
import { fingerprint } from "./catalogue.ts";
import type { Session } from "./session.ts";

export interface ApprovalRequest {
  readonly id: string;
  readonly arguments: Record<string, unknown>;
  readonly pattern: string;
}

/** Asks the human in front of the client to allow one call; anything but a clear yes refuses it. */
export async function approve(session: Session, request: ApprovalRequest, caller: Caller): Promise<void> {
  const { id, arguments: given } = request;
  const key = await approvalKey(session, request);
  // The same call goes on after its server has asked something: it was allowed already.
  if (caller.approved === key) return;
  const why = `policy.approve has "${request.pattern}"`;
  if (!caller.ask || caller.asksForServersOnly || !canPut(FORM, caller)) {
    throw humanNeeded(id, `needs a human's approval (${why}), and this client cannot ask`);
  }
  if (!caller.showsWhole && !foldArguments(given)) {
    throw humanNeeded(id, `needs a human's approval (${why}), and has more arguments than a dialogue can show`);
  }
  if (await putApproval(session, { id, arguments: given, why }, caller.ask, caller.signal) === "approve") {
    return caller.onApproved?.(key);
  }
  throw new AgentCardsError("TOOL_DENIED", `${id} was not allowed by the human`, {
    hint: "Do not try again unless the user asks for it.",
  });
}

/** What is allowed: this call of this tool as it is defined now, on the server as it is configured. */
async function approvalKey(session: Session, { id, arguments: given }: ApprovalRequest): Promise<string> {
  const { server = "", name } = splitToolId(id);
  const entry = session.config.servers[server];
  const definition = session.inMemory(server, name)?.hash ?? "";
  return await sha256(canonicalJson([id, given, definition, entry ? await fingerprint(entry) : ""]));
}

export interface AskedCall {
  readonly id: string;
  readonly arguments: Record<string, unknown>;
  readonly why: string;
}

/**
 * Puts one call to the human: what, on which server, with which arguments, and why. A terminal can show it whole
 * meanwhile, and decide. Undefined: no word either way, or more arguments than a dialogue can show.
 */
export async function putApproval(
  { shared, cwd }: Pick<Session, "shared" | "cwd">,
  { id, arguments: given, why }: AskedCall,
  ask: Ask,
  signal: AbortSignal,
): Promise<"approve" | "reject" | undefined> {
  const shown = foldArguments(given) ?? { text: `${Object.keys(given).length} arguments`, folded: 1 };
  using waiting = await shared.approvals.open({ tool: id, arguments: given, why, cwd });
  const whole = shown.folded > 0 ? `\n\`agentcards approve ${waiting.id}\` at a terminal shows it whole.` : "";
  const dialogue = ask({
    method: "elicitation/create",
    params: {
      mode: "form",
      message: `Allow ${oneLine(id)}? It was asked for because ${why}. Arguments:\n${shown.text}${whole}`,
      requestedSchema: {
        type: "object",
        properties: { allow: { type: "boolean", title: "Allow this one call", default: false } },
        required: ["allow"],
      },
    },
    approval: { tool: id, arguments: given, why },
  }, AbortSignal.any([signal, waiting.over]));
  dialogue.catch(() => {});
  return await Promise.race([waiting.decided, dialogue.then(wordOf)]);
}

function wordOf({ action, content }: Record<string, unknown>): "approve" | "reject" | undefined {
  if (action === "cancel") return undefined;
  return action === "accept" && (content as Record<string, unknown> | undefined)?.allow === true ? "approve" : "reject";
}
