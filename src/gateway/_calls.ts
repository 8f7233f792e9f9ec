import { AgentCardsError, describe } from "../model/errors.ts";
import { isObject } from "../model/json.ts";
import { debug } from "../telemetry/log.ts";
import { shapeOf } from "../telemetry/redact.ts";
import { textResult, type ToolResult } from "./answer.ts";
import type { Caller } from "./caller.ts";
import type { Outcome } from "./execute.ts";
import { SERVER_INFO } from "./mcp_server.ts";
import { createParking } from "./_parking.ts";
import { TOOLS } from "./tools/all.ts";
import type { GatewayCall, GatewayTool } from "./tools/tool.ts";
import type { WorkSession } from "./workflows.ts";

type Message = Record<string, unknown>;

export interface CallsOptions {
  readonly session: Promise<WorkSession>;
  send(message: Message): void;
  /** Writes a response that is JSON already; the id stands at its beginning. */
  sendRaw(id: unknown, frame: string | Uint8Array): void;
}

const META = "io.modelcontextprotocol/";
const byName = new Map(TOOLS.map((tool) => [tool.definition.name, tool]));

/** The `tools/call` requests of one client: started, cancelled, questioned, answered. */
export function createCalls({ session, send, sendRaw }: CallsOptions) {
  const running = new Map<unknown, AbortController>();
  const asked = new Map<string, PromiseWithResolvers<Record<string, unknown>>>();
  const parking = createParking();
  let capabilities: unknown;
  let opened: WorkSession | undefined;
  session.then((open) => opened = open, () => {});

  /** Asks a client that takes requests from us. */
  function askDirectly(request: { method: string; params: Message }, signal: AbortSignal): Promise<Message> {
    // Never the same twice, in no engine: an answer must not find another question.
    const id = `agentcards-${crypto.randomUUID()}`;
    const waiter = Promise.withResolvers<Message>();
    asked.set(id, waiter);
    signal.addEventListener("abort", () => {
      if (!asked.delete(id)) return;
      send({ method: "notifications/cancelled", params: { requestId: id } });
      waiter.reject(new AgentCardsError("CANCELLED", "The question was withdrawn"));
    });
    send({ id, ...request });
    return waiter.promise;
  }

  async function run(message: Message, controller: AbortController): Promise<void> {
    const { id } = message;
    const began = performance.now();
    const params = isObject(message.params) ? message.params : {};
    const tool = byName.get(params.name as string);
    const input = params.arguments ?? {};
    const meta = isObject(params._meta) ? params._meta : {};
    const isModern = `${META}protocolVersion` in meta;
    const call: GatewayCall = { input: input as Message, ...callExtras(params, meta) };
    let outcome: Outcome;
    try {
      if (!tool) throw unknownTool(params.name);
      if (!isObject(input)) throw new AgentCardsError("INPUT_INVALID", "arguments must be an object");
      const open = opened ?? await session;
      const start = (ask: Caller["ask"]) => {
        const caller: Caller = {
          signal: controller.signal,
          ...isModern && { takesQuestions: true },
          ...ask && { ask },
          ...meta.progressToken !== undefined && {
            progress: (progress) =>
              send({ method: "notifications/progress", params: { ...progress, progressToken: meta.progressToken } }),
          },
        };
        return tool.run(open, call, caller);
      };
      const canAsk = takesElicitation(isModern ? meta[`${META}clientCapabilities`] : capabilities);
      outcome = isModern
        ? await parking.run({ params, canAsk, controller, start })
        : await start(canAsk ? askDirectly : undefined);
    } catch (error) {
      const text = describe(error);
      outcome = { kind: "result", result: textResult(opened?.privacy?.hide(text, "agentcards") ?? text, true) };
    }
    running.delete(id);
    if (controller.signal.aborted) return;
    const bytes = answer(id, outcome, isModern);
    if (tool) record(tool, call, { ms: performance.now() - began, outcome, bytes });
  }

  function answer(id: unknown, outcome: Outcome, isModern: boolean): number {
    if (outcome.kind === "large") {
      const frame = spliced(id, outcome.large.json, isModern);
      sendRaw(id, frame);
      return outcome.large.bytes;
    }
    const json = JSON.stringify(isModern ? modern(outcome.result) : outcome.result);
    sendRaw(id, `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${json}}`);
    return json.length;
  }

  /** Filed after the answer has gone out, never before. */
  function record(tool: GatewayTool, call: GatewayCall, done: { ms: number; outcome: Outcome; bytes: number }): void {
    const { ms, outcome, bytes } = done;
    const isError = outcome.kind === "large" ? outcome.large.isError : outcome.result.isError === true;
    opened?.shared.record({ tool: tool.label(call.input), ms, ok: !isError, bytes });
    debug("call", () => ({ tool: tool.label(call.input), ms, ok: !isError, input: shapeOf(call.input) }));
  }

  return {
    setCapabilities(params: unknown) {
      capabilities = isObject(params) ? params.capabilities : undefined;
    },
    start(message: Message) {
      const controller = new AbortController();
      running.set(message.id, controller);
      void run(message, controller);
    },
    /** Whether a cancellation was for a call of ours. */
    cancel(params: unknown): boolean {
      const controller = isObject(params) ? running.get(params.requestId) : undefined;
      controller?.abort({ cancelled: isObject(params) && typeof params.reason === "string" ? params.reason : "" });
      return controller !== undefined;
    },
    /** Whether a client's answer belongs to a question of ours. */
    takeAnswer(message: Message): boolean {
      const waiter = asked.get(message.id as string);
      if (!waiter) return false;
      asked.delete(message.id as string);
      if (isObject(message.result)) waiter.resolve(message.result);
      else waiter.reject(new AgentCardsError("INPUT_INVALID", "The client could not put the question to a human"));
      return true;
    },
    abortAll() {
      for (const controller of running.values()) controller.abort();
      parking.close();
    },
  };
}

/** What a call carries besides its arguments: trace context for the server, answers of a repeated call. */
function callExtras(params: Message, meta: Message): { meta?: Message; retry?: Message } {
  let passed: Message | undefined;
  for (const key in meta) {
    if (key !== "progressToken" && !key.startsWith(META)) (passed ??= {})[key] = meta[key];
  }
  const { inputResponses, requestState } = params;
  const retry = inputResponses === undefined && requestState === undefined ? undefined : {
    ...inputResponses !== undefined && { inputResponses },
    ...requestState !== undefined && { requestState },
  };
  return { ...passed && { meta: passed }, ...retry && { retry } };
}

function takesElicitation(capabilities: unknown): boolean {
  return isObject(capabilities) && isObject(capabilities.elicitation);
}

function unknownTool(name: unknown): AgentCardsError {
  return new AgentCardsError("TOOL_UNKNOWN", `There is no tool ${JSON.stringify(name)?.slice(0, 100)} here`, {
    hint: `There are ${[...byName.keys()].join(", ")}; tools of servers go through call_tool.`,
  });
}

/** A result as the stateless protocol wants it. */
function modern(result: ToolResult): ToolResult {
  return {
    resultType: "complete",
    ...result,
    _meta: { [`${META}serverInfo`]: SERVER_INFO, ...isObject(result._meta) ? result._meta : {} },
  };
}

/** A response around a result that is already JSON. */
function spliced(id: unknown, json: Uint8Array, isModern: boolean): Uint8Array {
  const encoder = new TextEncoder();
  const head = encoder.encode(
    `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${isModern ? '{"resultType":"complete",' : "{"}`,
  );
  // The first byte of the result, its brace, is in the head already; an empty object cannot be large.
  const frame = new Uint8Array(head.length + json.length);
  frame.set(head);
  frame.set(json.subarray(1), head.length);
  frame[frame.length - 1] = 0x7d;
  return frame;
}
