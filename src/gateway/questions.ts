import type { Reply } from "../mcp/upstream.ts";
import { AgentCardsError } from "../model/errors.ts";
import { isObject } from "../model/json.ts";
import type { Caller } from "./caller.ts";

/** A server that keeps asking is cut off after this many rounds. */
const MAX_ROUNDS = 5;

/**
 * A stateless server asks by answering `input_required`. A client of the same protocol gets that as it is and calls
 * again; for any other the questions are put one by one, and the call is repeated with the answers.
 */
export async function settleQuestions(
  first: Reply,
  caller: Caller,
  again: (more: Record<string, unknown>) => Promise<Reply>,
): Promise<Reply> {
  let reply = first;
  for (let round = 0; isQuestion(reply) && !caller.takesQuestions; round++) {
    if (round === MAX_ROUNDS) {
      throw new AgentCardsError(
        "INPUT_INVALID",
        `The server asked for input ${MAX_ROUNDS} times and still has questions`,
      );
    }
    const { inputRequests, requestState } = reply.result;
    const inputResponses: Record<string, unknown> = {};
    for (const [key, request] of Object.entries(isObject(inputRequests) ? inputRequests : {})) {
      if (!isObject(request) || request.method !== "elicitation/create" || !isObject(request.params) || !caller.ask) {
        throw new AgentCardsError("INPUT_INVALID", "The server asks for input that this client cannot give", {
          hint: "Use a client that supports elicitation.",
        });
      }
      inputResponses[key] = await caller.ask({ method: request.method, params: request.params }, caller.signal);
    }
    reply = await again({ inputResponses, ...requestState !== undefined && { requestState } });
  }
  return reply;
}

/** Whether a server wants to know something before it goes on. */
export function isQuestion(reply: Reply): reply is Reply & { kind: "result" } {
  return reply.kind === "result" && reply.result.resultType === "input_required";
}
