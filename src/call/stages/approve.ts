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
import { approvalKey, isUnattended, putApproval } from "../human/approval.ts";
import { approvalNeeded } from "../human/asking.ts";
import type { Session } from "../session.ts";
import { eventOf } from "./audit.ts";
import type { Stage } from "./stage.ts";

/** The word about a call: a human's, or that none could be asked. */
type Word = "approved" | "rejected" | "waits" | "nobody" | "unattended";

/** Lets a call that a rule asks about go on once a human has allowed it; anything but a clear yes refuses it. */
export function approve(session: Session): Stage {
  return async (call, next) => {
    if (call.asks === undefined) return await next(call);
    if (call.origin.by === "speculation") {
      throw new AgentCardsError("TOOL_DENIED", `${calledId(call)} was not asked for, so no person is asked about it`);
    }
    const { human } = call;
    const record = (word: Word) =>
      session.shared.audit.append({ ...eventOf(session, call), kind: "decision", rule: call.asks, word });
    if (!canAnswer(session, call) && passesUnattended(session, call)) {
      record("unattended");
      return await next(call);
    }
    if (human.kind !== "later") {
      if (await askHere(session, call, record) === "nobody" && !passesUnattended(session, call)) {
        throw await leftOpen(session, call, "nobody answered");
      }
      return await next(call);
    }
    const word = await human.allow({ ...requestOf(call), definition: definitionOf(session, call) });
    record(word.kind === "go" ? "approved" : word.kind === "held" ? "waits" : "rejected");
    if (word.kind === "held") throw new AgentCardsError("APPROVAL_PENDING", `${calledId(call)} waits for a human`);
    if (word.kind === "refused") throw new AgentCardsError("TOOL_DENIED", word.error);
    return await next({ ...call, approval: word.approval });
  };
}

/** True if a human can be asked now: a client that gave up every dialogue so far has none in front of it. */
function canAnswer(session: Session, call: Call): boolean {
  const { human } = call;
  if (human.kind === "nobody" || isUnattended(session)) return false;
  if (human.kind === "later") return human.canAsk();
  return human.approvals !== "elsewhere" && canPut(FORM, call);
}

/** Decides about a question of the preset that nobody answers, by `policy.unattended`; rules always hold. */
function passesUnattended({ config: { policy } }: Session, call: Call): boolean {
  if (!call.question || policy.unattended === "ask") return false;
  if (policy.unattended === "allow") return true;
  throw new AgentCardsError(
    "TOOL_DENIED",
    `${calledId(call)} may not be called: ${call.asks}, and nobody can be asked`,
    {
      hint: "policy.unattended: deny says so. Only the user can change this, in config.yaml.",
    },
  );
}

/** Asks the human in front of the client, unless this human has allowed the call in an earlier request of its flow. */
async function askHere(session: Session, call: Call, record: (word: Word) => void): Promise<"approved" | "nobody"> {
  const { human, signal } = call;
  const request = requestOf(call);
  const id = calledId(call);
  const key = await approvalKey(session, request);
  if (human.kind === "here" && human.approved === key) return "approved";
  // A human has allowed exactly this call at a terminal, after it was refused.
  if (session.shared.approvals.use(key, session.cwd)) {
    record("approved");
    return "approved";
  }
  if (human.kind !== "here" || human.approvals === "elsewhere" || !canPut(FORM, call)) {
    record("nobody");
    if (passesUnattended(session, call)) return "approved";
    throw await leftOpen(session, call, "this client cannot ask");
  }
  if (human.approvals !== "whole" && !foldArguments(request.arguments)) {
    record("nobody");
    throw await leftOpen(session, call, "it has more arguments than a dialogue can show");
  }
  const answer = await putApproval(session, request, human.ask, signal);
  if (answer === undefined) {
    record("nobody");
    return "nobody";
  }
  const isApproved = answer.word === "approve";
  record(isApproved ? "approved" : "rejected");
  if (isApproved) {
    human.onApproved?.(key);
    return "approved";
  }
  const reason = answer.note === undefined ? "" : `: ${oneLine(answer.note, 500)}`;
  throw new AgentCardsError("TOOL_DENIED", `${id} was not allowed by the human${reason}`, {
    hint: "Do not try again unless the user asks for it.",
  });
}

/** The error of a call that waits for a word at a terminal, and the ways to give it. */
async function leftOpen(session: Session, call: Call, problem: string): Promise<AgentCardsError> {
  const request = requestOf(call);
  const key = await approvalKey(session, request);
  const open = await session.shared.approvals.leave({ ...request, cwd: session.cwd }, key);
  return approvalNeeded(calledId(call), { why: call.asks ?? "", problem, approval: open });
}

/** The call as a human sees it. Of a request that calls no tool, all that is sent is shown, and its method. */
function requestOf({ address, method, params, asks: why = "", question }: Call) {
  const tool = calledId({ address });
  const isGrantable = question?.isOnce === false;
  if (method === "tools/call") {
    return { tool, arguments: isObject(params.arguments) ? params.arguments : {}, why, isGrantable };
  }
  const { _meta, inputResponses: _answers, requestState: _state, ...sent } = params;
  return { tool, arguments: { method, ...sent }, why, isGrantable };
}

function definitionOf(session: Session, { address: { server, name } }: Call): string {
  return session.inMemory(server, name)?.hash ?? "";
}
