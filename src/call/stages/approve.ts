import { AgentCardsError, type Call, foldArguments, isObject, toolId } from "../../model/mod.ts";
import { approvalKey, putApproval } from "../human/approval.ts";
import { canPut, FORM, humanNeeded } from "../human/asking.ts";
import type { Session } from "../session.ts";
import type { Stage } from "./stage.ts";

/** Lets a call that a rule asks about go on once a human has allowed it; anything but a clear yes refuses it. */
export function approve(session: Session): Stage {
  return async (call, next) => {
    if (call.asks === undefined) return await next(call);
    const { human } = call;
    if (human.kind !== "later") {
      await askHere(session, call);
      return await next(call);
    }
    const word = await human.allow({ ...requestOf(call), definition: definitionOf(session, call) });
    if (word.kind === "held") throw new AgentCardsError("APPROVAL_PENDING", `${idOf(call)} waits for a human`);
    if (word.kind === "refused") throw new AgentCardsError("TOOL_DENIED", word.error);
    return await next({ ...call, approval: word.approval });
  };
}

/** Asks the human in front of the client, unless this human has allowed the call in an earlier request of its flow. */
async function askHere(session: Session, call: Call): Promise<void> {
  const { human, asks: why = "", signal } = call;
  const request = requestOf(call);
  const id = idOf(call);
  const key = await approvalKey(session, request);
  if (human.kind === "here" && human.approved === key) return;
  if (human.kind !== "here" || human.approvals === "elsewhere" || !canPut(FORM, call)) {
    throw humanNeeded(id, `needs a human's approval (${why}), and this client cannot ask`);
  }
  if (human.approvals !== "whole" && !foldArguments(request.arguments)) {
    throw humanNeeded(id, `needs a human's approval (${why}), and has more arguments than a dialogue can show`);
  }
  if (await putApproval(session, request, human.ask, signal) === "approve") return human.onApproved?.(key);
  throw new AgentCardsError("TOOL_DENIED", `${id} was not allowed by the human`, {
    hint: "Do not try again unless the user asks for it.",
  });
}

/** The call as a human sees it. Of a request that calls no tool, all that is sent is shown, and its method. */
function requestOf({ address, method, params, asks: why = "" }: Call) {
  const tool = toolId(address.server, address.name);
  if (method === "tools/call") return { tool, arguments: isObject(params.arguments) ? params.arguments : {}, why };
  const { _meta, inputResponses: _answers, requestState: _state, ...sent } = params;
  return { tool, arguments: { method, ...sent }, why };
}

function idOf({ address: { server, name } }: Call): string {
  return toolId(server, name);
}

function definitionOf(session: Session, { address: { server, name } }: Call): string {
  return session.inMemory(server, name)?.hash ?? "";
}
