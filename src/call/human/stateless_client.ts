import { AgentCardsError, type Ask, type CallResult, canonicalJson, sha256 } from "../../model/mod.ts";

type Message = Record<string, unknown>;

interface Question {
  readonly request: { method: string; params: Message };
  answer(response: Message): void;
}

/** A call that waits for an answer of the human, which comes with the client's next request. */
interface Parked {
  readonly outcome: Promise<CallResult>;
  readonly question: Question;
  readonly next: () => Promise<Question>;
  readonly call: string;
  /** The number of times that its server has asked through the client itself. */
  readonly rounds: number;
  readonly route: Route;
  readonly origin: Origin | undefined;
  readonly expire: ReturnType<typeof setTimeout>;
  abort(reason?: unknown): void;
}

export interface ParkingRun {
  /** The request's params, and its method where that is not to call a tool. */
  readonly call: Message;
  readonly origin: Origin | undefined;
  readonly rounds: number;
  readonly route: Route;
  readonly controller: AbortController;
  start(ask: Ask): Promise<CallResult>;
}

/** The request that began a call: the name of its connection, and its id. */
export type Origin = readonly [connection: string, id: string | number];

const PREFIX = "agentcards.";
const SEALED = "agentcards-state.";
const KEPT_MS = 10 * 60_000;
/** So many states of servers are kept for one client; the oldest makes room. */
const MOST_SEALED = 1_000;

/** The text by which a repeated request is recognised. */
export function identity({ _meta, inputResponses: _answers, requestState: _state, ...call }: Message): string {
  return canonicalJson(call);
}

/** A server's own state, and how often it has asked by now. */
export interface SealedState {
  readonly state?: string;
  readonly rounds: number;
  /** The key of the call that a human has allowed in this flow. */
  readonly approved?: string;
  /** By which the questions of this flow are counted. */
  readonly asked?: object;
}

/** A state that is kept for a client: for one request, once, for a while. */
interface KeptState extends SealedState {
  /** A hash of what the repeated request must be. */
  readonly call: string;
  readonly until: number;
}

/** The request to which the answers of a flow go; it changes with each request. */
export interface Route {
  id: unknown;
  token: unknown;
  approved: string | undefined;
  asked: object;
}

/** A server that keeps asking is cut off after this many rounds. */
const MAX_ROUNDS = 5;

function notOurs(): AgentCardsError {
  return new AgentCardsError("STATE_UNKNOWN", "This answer belongs to no call that is waiting", {
    hint: "The call may have expired; make it again.",
  });
}

/**
 * The stateless protocol knows no requests from server to client. When an older server asks something in the middle of a
 * call, the call is parked, the question goes out as the answer `input_required`, and the client's repeated request, which
 * must be the same call and carry the state we gave it, finds the call again. The state is a random name of what we keep,
 * with the name of this keeper and the request that began the call: the next engine does not have the call, but can tell
 * what that request had begun.
 */
export function createParking() {
  const parked = new Map<string, Parked>();
  const keeper = crypto.randomUUID();
  const sealedStates = new Map<string, KeptState>();

  /**
   * A server's question as it goes to the client. What the server wants to be reminded of stays here, under a random name
   * that is good for this client and the same request, once: nobody else can use it, and no approval in it counts twice.
   */
  async function sealed(answer: CallResult, { call, rounds, route }: Pick<Parked, "call" | "rounds" | "route">) {
    if (answer.kind !== "result" || answer.result.resultType !== "input_required") return answer;
    if (rounds >= MAX_ROUNDS) {
      const text = `The server asked for input ${MAX_ROUNDS} times and still has questions`;
      throw new AgentCardsError("INPUT_INVALID", text);
    }
    const { requestState: state } = answer.result;
    const name = SEALED + crypto.randomUUID();
    if (sealedStates.size >= MOST_SEALED) sealedStates.delete(sealedStates.keys().next().value!);
    sealedStates.set(name, {
      ...typeof state === "string" && { state },
      rounds: rounds + 1,
      ...route.approved !== undefined && { approved: route.approved },
      asked: route.asked,
      call: await sha256(call),
      until: performance.now() + KEPT_MS,
    });
    return { kind: "result", result: { ...answer.result, requestState: name } } as const;
  }

  async function settle(flow: Omit<Parked, "question" | "expire">): Promise<CallResult> {
    const first = await Promise.race([
      flow.outcome.then((outcome) => ({ outcome })),
      flow.next().then((question) => ({ question })),
    ]);
    if ("outcome" in first) return await sealed(first.outcome, flow);
    const origin = flow.origin ? `.${toBase64(flow.origin)}` : "";
    const state = `${PREFIX}${keeper}.${crypto.randomUUID()}${origin}`;
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
        inputRequests: { question: { method: first.question.request.method, params: first.question.request.params } },
        requestState: state,
      },
    };
  }

  return {
    /** The request that began the call of a state, where another keeper gave the state out. */
    originElsewhere({ requestState: state }: Message): Origin | undefined {
      if (typeof state !== "string" || !state.startsWith(PREFIX)) return undefined;
      const [owner, , origin] = state.slice(PREFIX.length).split(".");
      return owner === keeper || origin === undefined ? undefined : originIn(origin);
    },
    /** Gives the server's own state, which went through the client sealed. */
    async unseal(call: Message): Promise<SealedState> {
      const { requestState: state } = call;
      if (state === undefined || typeof state === "string" && state.startsWith(PREFIX)) return { rounds: 0 };
      const asked = await sha256(identity(call));
      // From here to its end without waiting: the same request may come twice at once.
      const kept = typeof state === "string" ? sealedStates.get(state) : undefined;
      if (!kept || kept.until < performance.now() || kept.call !== asked) throw notOurs();
      sealedStates.delete(state as string);
      return kept;
    },
    async run({ call: params, origin, rounds, route, controller, start }: ParkingRun): Promise<CallResult> {
      const call = identity(params);
      const state = params.requestState;
      if (typeof state === "string" && state.startsWith(PREFIX)) {
        const found = parked.get(state);
        if (!found || found.call !== call) throw notOurs();
        parked.delete(state);
        clearTimeout(found.expire);
        [found.route.id, found.route.token] = [route.id, route.token];
        controller.signal.addEventListener("abort", () => found.abort(controller.signal.reason));
        const responses = params.inputResponses as Message | undefined;
        found.question.answer((responses?.question as Message) ?? { action: "cancel" });
        return await settle(found);
      }
      const questions: Question[] = [];
      let arrived = Promise.withResolvers<void>();
      const ask: Ask = (request) =>
        new Promise((answer, reject) => {
          questions.push({ request, answer });
          arrived.resolve();
          const leave = () => reject(new AgentCardsError("CANCELLED", "The question was withdrawn"));
          controller.signal.addEventListener("abort", leave, { once: true });
        });
      const next = async () => {
        while (questions.length === 0) {
          await arrived.promise;
          arrived = Promise.withResolvers();
        }
        return questions.shift()!;
      };
      const outcome = start(ask);
      const abort = (reason: unknown) => controller.abort(reason);
      return await settle({ outcome, next, call, origin, rounds, route, abort });
    },
    close() {
      for (const { expire, abort } of parked.values()) {
        clearTimeout(expire);
        abort();
      }
      parked.clear();
      sealedStates.clear();
    },
  };
}

const ALPHABET = { alphabet: "base64url" } as const;

function toBase64(origin: Origin): string {
  return new TextEncoder().encode(JSON.stringify(origin)).toBase64(ALPHABET);
}

/** Reads an origin out of a text that a client sent back, which may be anything. */
function originIn(text: string): Origin | undefined {
  try {
    const [connection, id] = JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(text, ALPHABET)));
    const isId = typeof id === "string" || typeof id === "number";
    return typeof connection === "string" && isId ? [connection, id] : undefined;
  } catch {
    return undefined;
  }
}
