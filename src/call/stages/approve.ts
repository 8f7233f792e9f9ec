import {
  AgentCardsError,
  type Call,
  calledId,
  canPut,
  foldArguments,
  FORM,
  isObject,
  oneLine,
} from "../../model/mod.ts";
import { approvalKey, putApproval } from "../human/approval.ts";
import { humanNeeded } from "../human/asking.ts";
import type { Session } from "../session.ts";
import { eventOf } from "./audit.ts";
import type { Stage } from "./stage.ts";

/** The word about a call: a human's, or that none could be asked. */
type Word = "approved" | "rejected" | "waits" | "nobody";

/** Lets a call that a rule asks about go on once a human has allowed it; anything but a clear yes refuses it. */
export function approve(session: Session): Stage {
  return async (call, next) => {
    if (call.asks === undefined) return await next(call);
    const { human } = call;
    const record = (word: Word) =>
      session.shared.audit.append({ ...eventOf(session, call), kind: "decision", rule: call.asks, word });
    if (human.kind !== "later") {
      await askHere(session, call, record);
      return await next(call);
    }
    const word = await human.allow({ ...requestOf(call), definition: definitionOf(session, call) });
    record(word.kind === "go" ? "approved" : word.kind === "held" ? "waits" : "rejected");
    if (word.kind === "held") throw new AgentCardsError("APPROVAL_PENDING", `${calledId(call)} waits for a human`);
    if (word.kind === "refused") throw new AgentCardsError("TOOL_DENIED", word.error);
    return await next({ ...call, approval: word.approval });
  };
}

/** Asks the human in front of the client, unless this human has allowed the call in an earlier request of its flow. */
async function askHere(session: Session, call: Call, record: (word: Word) => void): Promise<void> {
  const { human, asks: why = "", signal } = call;
  const request = requestOf(call);
  const id = calledId(call);
  const key = await approvalKey(session, request);
  if (human.kind === "here" && human.approved === key) return;
  if (human.kind !== "here" || human.approvals === "elsewhere" || !canPut(FORM, call)) {
    record("nobody");
    throw humanNeeded(id, `needs a human's approval (${why}), and this client cannot ask`);
  }
  if (human.approvals !== "whole" && !foldArguments(request.arguments)) {
    record("nobody");
    throw humanNeeded(id, `needs a human's approval (${why}), and has more arguments than a dialogue can show`);
  }
  const answer = await putApproval(session, request, human.ask, signal);
  const isApproved = answer?.word === "approve";
  record(isApproved ? "approved" : "rejected");
  if (isApproved) return human.onApproved?.(key);
  const reason = answer?.note === undefined ? "" : `: ${oneLine(answer.note, 500)}`;
  throw new AgentCardsError("TOOL_DENIED", `${id} was not allowed by the human${reason}`, {
    hint: "Do not try again unless the user asks for it.",
  });
}

/** The call as a human sees it. Of a request that calls no tool, all that is sent is shown, and its method. */
function requestOf({ address, method, params, asks: why = "" }: Call) {
  const tool = calledId({ address });
  if (method === "tools/call") return { tool, arguments: isObject(params.arguments) ? params.arguments : {}, why };
  const { _meta, inputResponses: _answers, requestState: _state, ...sent } = params;
  return { tool, arguments: { method, ...sent }, why };
}

function definitionOf(session: Session, { address: { server, name } }: Call): string {
  return session.inMemory(server, name)?.hash ?? "";
}
