import { type Call, calledId, type CallResult, canPut, FORM, PAGE, type ServerRequest } from "../../model/mod.ts";
import { humanNeeded, questionText } from "../human/asking.ts";
import { isQuestion, settleQuestions } from "../human/server_questions.ts";
import type { Session } from "../session.ts";
import type { Next, Stage } from "./stage.ts";

/** Puts the questions of a server to the client or the human, and repeats the call with the answers. */
export function questions(session: Session): Stage {
  return async (call, next) => {
    const result = await unlessAsked(call, next);
    if (result.kind === "large" || !mayAsk(result) || !isQuestion(result)) return result;
    const again = (more: Record<string, unknown>) => next({ ...call, params: { ...call.params, ...more } });
    return await settleQuestions(result, call, { session, again });
  };
}

/** A quick look: a stateless server asks by a result of a type of its own, an older one by an error. */
function mayAsk(result: Exclude<CallResult, { kind: "large" }>): boolean {
  return result.kind === "error" || result.result.resultType === "input_required";
}

/** Sends the call on; a question that the call's client cannot put to anybody ends it, and the error tells the question. */
async function unlessAsked(call: Call, next: Next): Promise<CallResult> {
  if (canPut(FORM, call) && canPut(PAGE, call)) return await next(call);
  const { signal } = call;
  // By hand: a signal of `AbortSignal.any` costs more than the rest of this stage.
  const own = new AbortController();
  const abort = () => own.abort(signal.reason);
  let question: ServerRequest | undefined;
  const giveUp = (asked: ServerRequest) => {
    question = asked;
    own.abort();
  };
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort);
  try {
    return await next({ ...call, giveUp, signal: own.signal });
  } catch (error) {
    if (!question) throw error;
    const words = questionText(question);
    throw humanNeeded(calledId(call), `asks a human: ${words}; this client cannot ask, so it was called off`, words);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
