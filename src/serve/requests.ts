import { createParking, fileOf, type Route, shownJson, textResult } from "../call/mod.ts";
import {
  AgentCardsError,
  type Ask,
  type Caller,
  type CallResult,
  type Client,
  describe,
  type Human,
  isFailure,
  isObject,
  takes,
  toAgentCardsError,
} from "../model/mod.ts";
import { debug, type Redactor, shapeOf, type Traced } from "../telemetry/mod.ts";
import type { WorkSession } from "../workflow/mod.ts";
import type { Activity } from "./activity.ts";
import { keyOf, workAgain } from "./repeated_requests.ts";
import { isOwnTool, type Work, workFor } from "./dispatch.ts";
import { isLoggedAt } from "./log_level.ts";
import { type Codec, codecOf, splicedResponse } from "./wire/codec.ts";
import { INTERNAL_ERROR, INVALID_PARAMS } from "./wire/codes.ts";

type Message = Record<string, unknown>;

export interface CallsOptions {
  readonly session: Promise<WorkSession>;
  /** The name of the client's connection, where there may be a next engine for it. */
  readonly connection?: string | undefined;
  readonly activity?: Activity | undefined;
  /** `related`: the id of the request that a message belongs to. */
  send(message: Message, related?: unknown): void;
  /** Writes a response that is JSON already; the id stands at its beginning. */
  sendRaw(id: unknown, frame: string | Uint8Array): void;
}

/** The way in which a request waits for the answers of its client. */
type Flow = Pick<ReturnType<typeof createParking>, "originElsewhere" | "unseal" | "run">;

/** Common clients lose progress that they read together with the answer: so much later it comes by itself. */
const APART_MS = 3;
/** No session was opened, so no secret was read. */
const UNREDACTED: Pick<Redactor, "redact" | "clean"> = { redact: (text) => text, clean: (value) => value };
/** The codes of mistakes of the caller. */
const WRONG: ReadonlySet<string> = new Set([
  "INPUT_INVALID",
  "STATE_UNKNOWN",
  "TOOL_DENIED",
  "TOOL_UNKNOWN",
  "HUMAN_NEEDED",
  "NO_HUMAN",
  "SIGN_IN_NEEDED",
  "CLIENT_AMBIGUOUS",
  "CLIENT_UNABLE",
]);

/** The requests of one client that go to servers: started, cancelled, questioned, answered. */
export function createCalls({ session, connection, activity, send, sendRaw }: CallsOptions) {
  const running = new Map<unknown, AbortController>();
  const asked = new Map<string, PromiseWithResolvers<Record<string, unknown>>>();
  const parking = createParking();
  /** Requests that an engine before was sent, until it is known what they had begun. */
  const placing = new Set<Promise<void>>();
  let capabilities: Message | undefined;
  let logLevel: string | undefined;
  let opened: WorkSession | undefined;
  session.then((open) => opened = open, () => {});

  /** Asks a client that takes requests from us. */
  function askDirectly(related: unknown, request: { method: string; params: Message }, signal: AbortSignal) {
    // Never the same twice, in no engine: an answer must not find another question.
    const id = `agentcards-${crypto.randomUUID()}`;
    const waiter = Promise.withResolvers<Message>();
    asked.set(id, waiter);
    signal.addEventListener("abort", () => {
      if (!asked.delete(id)) return;
      send({ method: "notifications/cancelled", params: { requestId: id } }, related);
      waiter.reject(new AgentCardsError("CANCELLED", "The question was withdrawn"));
    });
    // Strict clients throw a message away that has more in it than the protocol knows.
    send({ id, method: request.method, params: request.params }, related);
    return waiter.promise;
  }

  /** Clients with a handshake take requests, and know no states: what stands there is none of ours. */
  const direct: Flow = {
    originElsewhere: () => undefined,
    unseal: () => Promise.resolve({ rounds: 0 }),
    run: ({ route, start }) => start((request, signal) => askDirectly(route.id, request, signal)),
  };

  async function run(message: Message, controller: AbortController, isRepeated: boolean): Promise<void> {
    const { id, method } = message;
    const began = performance.now();
    const at = Date.now();
    const params = isObject(message.params) ? message.params : {};
    const meta = isObject(params._meta) ? params._meta : {};
    const codec = codecOf(meta);
    const flow = codec.takesQuestions ? parking : direct;
    let work: Work | undefined;
    let outcome: CallResult;
    let span: Traced | undefined;
    let failure: string | undefined;
    let toldAt = -Infinity;
    // Where what is said meanwhile belongs: with the client's next request, once it has answered a question.
    const route: Route = { id, token: meta.progressToken, approved: undefined, asked: {} };
    const placed = Promise.withResolvers<void>();
    if (isRepeated) placing.add(placed.promise);
    try {
      const open = opened ?? await session;
      span = open.shared.traces?.request({ method: method as string, name: ownName(params), parent: meta, at });
      // What another engine had parked is lost with that engine, but a run that it had begun is not.
      const lost = flow.originElsewhere(params);
      const { requestState: _state, inputResponses: _answers, ...bare } = params;
      const given = lost ? bare : params;
      const call = method === "tools/call" ? given : { method, ...given };
      const origin = lost ?? (connection === undefined ? undefined : [connection, id as string] as const);
      const { state, rounds, approved, asked = route.asked } = await flow.unseal(call);
      route.approved = approved;
      route.asked = asked;
      work = workFor(open, method as string, { ...given, requestState: state }, meta);
      if (isRepeated || lost) work = workAgain(work, { method: method as string, params, onPlaced: placed.resolve });
      const handshake = { capabilities, logLevel };
      const client = codec.capabilities(meta, handshake);
      const level = codec.logLevel(meta, handshake);
      const told: Pick<Client, "progress" | "log" | "logLevel"> = {
        ...meta.progressToken !== undefined && {
          progress(progress) {
            toldAt = performance.now();
            if (route.token === undefined) return;
            send({ method: "notifications/progress", params: { ...progress, progressToken: route.token } }, route.id);
          },
        },
        ...typeof level === "string" && {
          logLevel: level,
          log: (said) =>
            isLoggedAt(said.level, level) && send({ method: "notifications/message", params: said }, route.id),
        },
      };
      const start = (ask: Ask) => {
        const human: Human = takesElicitation(client)
          ? {
            kind: "here",
            ask: only(client!, ask),
            approvals: "dialogue",
            approved: route.approved,
            onApproved: (key) => route.approved = key,
          }
          : { kind: "nobody" };
        const caller: Caller = {
          signal: controller.signal,
          client: {
            owner: open,
            capabilities: client,
            asked,
            // A stateless client gets a question as the answer of its own request, and may never come back.
            ...codec.takesQuestions && { takesQuestions: true, turn: asked },
            request: ask,
            ...told,
          },
          human,
          ...origin && { key: () => keyOf(origin, call) },
          ...traceOf({ ...meta, ...span?.context }),
        };
        return work!.run(open, caller);
      };
      outcome = await flow.run({ call, origin, rounds, route, controller, start });
    } catch (error) {
      failure = toAgentCardsError(error).code;
      outcome = failed(error, method as string);
    }
    span?.end(failure ?? failureOf(outcome));
    placed.resolve();
    placing.delete(placed.promise);
    if (performance.now() - toldAt < APART_MS) await new Promise((resolve) => setTimeout(resolve, APART_MS));
    running.delete(id);
    if (controller.signal.aborted) return;
    const bytes = answer(id, outcome, { codec, method: method as string });
    if (work?.label !== undefined) record(work.label, { ms: performance.now() - began, outcome, bytes, input: params });
  }

  /** The answer about an error: a tool's answer where the agent is to read it. */
  function failed(error: unknown, method: string): CallResult {
    const { redact, clean } = opened?.shared.redactor ?? UNREDACTED;
    const said = redact(describe(error));
    const text = opened?.privacy?.hide(said, "agentcards") ?? said;
    const { code, data } = toAgentCardsError(error);
    // A state that is not ours is its client's mistake, and nothing an agent could mend.
    if (method === "tools/call" && code !== "STATE_UNKNOWN") return { kind: "result", result: textResult(text, true) };
    const isWrong = WRONG.has(code);
    return {
      kind: "error",
      code: isWrong ? INVALID_PARAMS : INTERNAL_ERROR,
      message: text,
      ...data && { data: clean(opened?.privacy?.hide(data, "agentcards") ?? data) },
    };
  }

  function answer(
    id: unknown,
    outcome: CallResult,
    { codec, method }: { codec: Codec; method: string },
  ): number {
    if (outcome.kind === "large") {
      const frame = splicedResponse(id, outcome.large.shown ?? outcome.large.json, codec);
      sendRaw(id, frame);
      return outcome.large.bytes;
    }
    const [key, value] = outcome.kind === "error"
      ? ["error", codec.error(outcome)]
      : ["result", codec.result(outcome.result, method)];
    const json = shownJson(value);
    sendRaw(id, `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"${key}":${json}}`);
    return json.length;
  }

  /** Filed after the answer has gone out, never before. */
  function record(tool: string, done: { ms: number; outcome: CallResult; bytes: number; input: Message }): void {
    const { ms, outcome, bytes, input } = done;
    const ok = outcome.kind === "large" ? !outcome.large.isError : outcome.kind === "result" && !outcome.result.isError;
    if (opened) opened.shared.record({ ...fileOf(opened, { by: "agent" }), tool, ms, ok, bytes });
    debug("call", () => ({ tool, ms, ok, input: shapeOf(input.arguments) }));
  }

  return {
    setCapabilities(params: unknown) {
      capabilities = isObject(params) && isObject(params.capabilities) ? params.capabilities : undefined;
    },
    setLogLevel(level: string) {
      logLevel = level;
    },
    /** True if the client wants log messages of a level. */
    isLogged: (level: unknown) => isLoggedAt(level, logLevel),
    /** `isRepeated`: an engine before was sent it, too. */
    start(message: Message, isRepeated: boolean) {
      const controller = new AbortController();
      running.set(message.id, controller);
      if (activity) activity.open++;
      void run(message, controller, isRepeated).finally(() => {
        if (!activity) return;
        activity.open--;
        activity.endedAt = performance.now();
      });
    },
    /** Resolves once it is known of every repeated request what it had begun. */
    placed: async () => void await Promise.all(placing),
    /** True if a cancellation was for a call of this connection. */
    cancel(params: unknown): boolean {
      const controller = isObject(params) ? running.get(params.requestId) : undefined;
      controller?.abort({ cancelled: isObject(params) && typeof params.reason === "string" ? params.reason : "" });
      return controller !== undefined;
    },
    /** True if a client's answer belongs to a question of this connection. */
    takeAnswer(message: Message): boolean {
      const waiter = asked.get(message.id as string);
      if (!waiter) return false;
      asked.delete(message.id as string);
      if (isObject(message.result)) waiter.resolve(message.result);
      else waiter.reject(new AgentCardsError("NO_HUMAN", "The client could not put the question to a human"));
      return true;
    },
    abortAll() {
      for (const controller of running.values()) controller.abort();
      parking.close();
    },
  };
}

function failureOf(outcome: CallResult): string | undefined {
  if (outcome.kind === "error") return String(outcome.code);
  return isFailure(outcome) ? "tool_error" : undefined;
}

/** The name of a tool of ours. Any other name may be a client's own words. */
function ownName({ name }: Message): string | undefined {
  return typeof name === "string" && isOwnTool(name) ? name : undefined;
}

const TRACE = ["traceparent", "tracestate", "baggage"];

function traceOf(meta: Message): { trace?: Message } {
  const found = TRACE.filter((key) => meta[key] !== undefined).map((key) => [key, meta[key]]);
  return found.length > 0 ? { trace: Object.fromEntries(found) } : {};
}

function takesElicitation(capabilities: Message | undefined): boolean {
  return isObject(capabilities?.elicitation);
}

/** A client is asked only in the ways it has said it can be asked. */
function only(client: Message, ask: Ask): Ask {
  return (request, signal) => {
    if (takes(request, client)) return ask(request, signal);
    throw new AgentCardsError("CLIENT_UNABLE", "This client cannot put such a question to a human");
  };
}
