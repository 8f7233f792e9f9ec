import { AgentCardsError } from "../model/errors.ts";
import { canonicalJson } from "../model/json.ts";
import type { Caller } from "./caller.ts";
import type { Outcome } from "./execute.ts";

type Message = Record<string, unknown>;

interface Question {
  readonly request: { method: string; params: Message };
  answer(response: Message): void;
}

/** A call that waits for an answer of the human, which comes with the client's next request. */
interface Parked {
  readonly outcome: Promise<Outcome>;
  readonly question: Question;
  readonly next: () => Promise<Question>;
  readonly call: string;
  readonly expire: ReturnType<typeof setTimeout>;
  abort(reason?: unknown): void;
}

export interface ParkingRun {
  readonly params: Message;
  readonly canAsk: boolean;
  readonly controller: AbortController;
  start(ask: Caller["ask"]): Promise<Outcome>;
}

const PREFIX = "agentcards.";
const KEPT_MS = 10 * 60_000;

/**
 * The stateless protocol knows no requests from server to client. When an older server asks something in the middle of a
 * call, the call is parked, the question goes out as the answer `input_required`, and the client's repeated request, which
 * must be the same call and carry the state we gave it, finds the call again. The state is a random name of what we keep.
 */
export function createParking() {
  const parked = new Map<string, Parked>();

  async function settle(flow: Omit<Parked, "question" | "expire">): Promise<Outcome> {
    const first = await Promise.race([
      flow.outcome.then((outcome) => ({ outcome })),
      flow.next().then((question) => ({ question })),
    ]);
    if ("outcome" in first) return first.outcome;
    const state = PREFIX + crypto.randomUUID();
    const expire = setTimeout(() => {
      parked.delete(state);
      flow.abort();
    }, KEPT_MS);
    flow.outcome.catch(() => {});
    parked.set(state, { ...flow, question: first.question, expire });
    return {
      kind: "result",
      result: {
        resultType: "input_required",
        inputRequests: { question: first.question.request },
        requestState: state,
      },
    };
  }

  return {
    async run({ params, canAsk, controller, start }: ParkingRun): Promise<Outcome> {
      const call = canonicalJson([params.name, params.arguments]);
      const state = params.requestState;
      if (typeof state === "string" && state.startsWith(PREFIX)) {
        const found = parked.get(state);
        if (!found || found.call !== call) {
          throw new AgentCardsError("INPUT_INVALID", "This answer belongs to no call that is waiting", {
            hint: "The call may have expired; make it again.",
          });
        }
        parked.delete(state);
        clearTimeout(found.expire);
        controller.signal.addEventListener("abort", () => found.abort(controller.signal.reason));
        const responses = params.inputResponses as Message | undefined;
        found.question.answer((responses?.question as Message) ?? { action: "cancel" });
        return await settle(found);
      }
      const questions: Question[] = [];
      let arrived = Promise.withResolvers<void>();
      const ask: Caller["ask"] = (request) =>
        new Promise((answer) => {
          questions.push({ request, answer });
          arrived.resolve();
        });
      const next = async () => {
        while (questions.length === 0) {
          await arrived.promise;
          arrived = Promise.withResolvers();
        }
        return questions.shift()!;
      };
      const outcome = start(canAsk ? ask : undefined);
      return await settle({ outcome, next, call, abort: (reason) => controller.abort(reason) });
    },
    close() {
      for (const { expire, abort } of parked.values()) {
        clearTimeout(expire);
        abort();
      }
      parked.clear();
    },
  };
}
