import { isObject } from "../../model/mod.ts";
import { createMcpHandler, ProtocolError, Server } from "@modelcontextprotocol/server";
import { META, STATELESS_REVISION } from "../wire/era.ts";
import { SERVER_INFO } from "../wire/server_info.ts";
import { MAX_CLIENT_FRAME } from "../link/handshake.ts";
import { FORWARDED } from "../wire/codes.ts";
import { type ConnectEngine, type Message, openWire } from "./wire.ts";

interface Waiting {
  readonly token: unknown;
  settle(message: Message): void;
  notify(notification: Message): void;
}

const KINDS: Readonly<Record<string, "tools_list_changed" | "prompts_list_changed" | "resources_list_changed">> = {
  "notifications/tools/list_changed": "tools_list_changed",
  "notifications/prompts/list_changed": "prompts_list_changed",
  "notifications/resources/list_changed": "resources_list_changed",
};

const PASSED_ON: ReadonlySet<string> = new Set([
  ...FORWARDED,
  "tools/call",
  "tools/list",
  "resources/list",
  "resources/templates/list",
  "prompts/list",
]);

/**
 * Clients of the stateless protocol: nothing connects one request with the next, so all of them share one connection to
 * the engine, each request under an id of ours. What HTTP wants of the protocol is the SDK's.
 */
export function createModernHandler(connect: ConnectEngine) {
  const waiting = new Map<unknown, Waiting>();
  const raws = new WeakMap<Request, Message>();
  let last = 0;
  /** The resources that open streams watch, by stream. */
  const watched = new Map<object, readonly string[]>();
  let listening: string | undefined;

  const wire = openWire((connection) => connect(true, connection), (message, related) => {
    const { id, method } = message;
    if (method === undefined) {
      waiting.get(id)?.settle(message);
      return;
    }
    const params = isObject(message.params) ? message.params : {};
    const waiter = waiting.get(related);
    if (waiter) {
      const isProgress = method === "notifications/progress";
      return waiter.notify({ method, params: isProgress ? { ...params, progressToken: waiter.token } : params });
    }
    const { _meta, ...event } = params;
    const kind = KINDS[method as string];
    if (kind) handler.bus.publish({ kind });
    else if (method === "notifications/resources/updated") {
      handler.bus.publish({ kind: "resource_updated", uri: String(event.uri), params: event });
    }
  });

  const envelope = { [`${META}protocolVersion`]: STATELESS_REVISION, [`${META}clientCapabilities`]: {} };

  /** Asks the engine something; what it says meanwhile goes to `notify`. */
  function ask(request: Message, { signal, notify = () => {} }: Asking): Promise<Message> {
    const id = `h-${++last}`;
    const params = isObject(request.params) ? request.params : {};
    const meta = isObject(params._meta) ? params._meta : {};
    const token = meta.progressToken;
    const answer = Promise.withResolvers<Message>();
    waiting.set(id, { token, notify, settle: answer.resolve });
    signal?.addEventListener("abort", () => {
      if (!waiting.delete(id)) return;
      wire.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
    });
    const _meta = token === undefined ? meta : { ...meta, progressToken: id };
    wire.send({ ...request, jsonrpc: "2.0", id, params: { ...params, _meta } });
    return answer.promise.finally(() => waiting.delete(id));
  }

  /** Hears of every change, and of the resources that somebody watches. */
  function listen(): void {
    const before = listening;
    const id = listening = `h-${++last}`;
    const resourceSubscriptions = [...new Set([...watched.values()].flat())];
    const notifications = {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      ...resourceSubscriptions.length > 0 && { resourceSubscriptions },
    };
    wire.send({ jsonrpc: "2.0", id, method: "subscriptions/listen", params: { notifications, _meta: envelope } });
    if (before) wire.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: before } });
  }

  let discovered: Promise<Message> | undefined;
  async function discover(): Promise<Message> {
    const { result } = await ask({ method: "server/discover", params: { _meta: envelope } }, {});
    if (!isObject(result)) throw new Error("the engine does not say what it can do");
    listen();
    return result;
  }

  const handler = createMcpHandler(async ({ requestInfo }) => {
    // Asked again after a failure: the engine may have been away.
    discovered ??= discover().catch((error) => {
      discovered = undefined;
      throw error;
    });
    const { capabilities, instructions } = await discovered;
    const server = new Server(SERVER_INFO, {
      capabilities: capabilities as Record<string, never>,
      ...typeof instructions === "string" && { instructions },
    });
    // As it came: the SDK takes out of it what belongs to the protocol.
    const raw = raws.get(requestInfo!);
    // To anything else the SDK has the answer that HTTP wants.
    if (!raw || !PASSED_ON.has(raw.method as string)) return server;
    server.fallbackRequestHandler = async (_request, context) => {
      const { result, error } = await ask(raw, {
        signal: context.mcpReq.signal,
        notify: (notification) => void context.mcpReq.notify(notification as never).catch(() => {}),
      });
      if (isObject(result)) return result;
      const { code, message, data } = isObject(error) ? error : {};
      throw new ProtocolError(Number(code ?? -32603), String(message ?? "the engine gave no answer"), data);
    };
    return server;
  }, { legacy: "reject", maxRequestBodySize: MAX_CLIENT_FRAME });

  return {
    async fetch(request: Request, parsedBody: unknown): Promise<Response> {
      if (isObject(parsedBody)) {
        raws.set(request, parsedBody);
        watch(request, parsedBody);
      }
      return await handler.fetch(request, { parsedBody });
    },
    async close(): Promise<void> {
      await handler.close();
      wire.close();
    },
  };

  /** A stream that is about single resources: they are watched until its client leaves. */
  function watch(request: Request, { method, params }: Message): void {
    const filter = isObject(params) && isObject(params.notifications) ? params.notifications : {};
    const uris = filter.resourceSubscriptions;
    if (method !== "subscriptions/listen" || !Array.isArray(uris) || uris.length === 0) return;
    watched.set(request, uris.filter((uri) => typeof uri === "string"));
    listen();
    request.signal.addEventListener("abort", () => {
      watched.delete(request);
      listen();
    }, { once: true });
  }
}

interface Asking {
  readonly signal?: AbortSignal;
  readonly notify?: (notification: Message) => void;
}
