// The least a server needs to speak MCP over stdio by hand, so that tests can make it do anything.

export type Message = Record<string, unknown>;
export type Handler = (params: Message, context: Context) => unknown | Promise<unknown>;

export interface Context {
  readonly id: unknown;
  readonly meta: Message;
  /** Aborted when the client cancels the request. */
  readonly signal: AbortSignal;
}

export interface Wire {
  write(text: string): void;
  send(message: Message): void;
  /** Asks the client something and waits for its answer. */
  ask(method: string, params: Message): Promise<Message>;
}

export class RpcError extends Error {
  constructor(readonly code: number, message: string, readonly data?: unknown) {
    super(message);
  }
}

const encoder = new TextEncoder();

function write(text: string): void {
  const bytes = encoder.encode(text);
  for (let sent = 0; sent < bytes.length;) sent += Deno.stdout.writeSync(bytes.subarray(sent));
}

export const wire: Wire = {
  write,
  send: (message) => write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n"),
  ask(method, params) {
    const id = `q${++questions}`;
    const waiter = Promise.withResolvers<Message>();
    asked.set(id, waiter);
    wire.send({ id, method, params });
    return waiter.promise;
  },
};
let questions = 0;
const asked = new Map<unknown, PromiseWithResolvers<Message>>();

/** Serves requests until stdin ends; unknown methods get the usual error. */
export async function serve(handlers: Record<string, Handler>, stayAfterEof = false): Promise<void> {
  const running = new Map<unknown, AbortController>();
  let rest = "";
  for await (const chunk of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    for (const line of lines) void answer(JSON.parse(line), handlers, running);
  }
  if (!stayAfterEof) Deno.exit(0);
}

async function answer(message: Message, handlers: Record<string, Handler>, running: Map<unknown, AbortController>) {
  const { id, method } = message;
  const params = (message.params ?? {}) as Message;
  if (method === undefined) {
    asked.get(id)?.resolve((message.result ?? message.error) as Message);
    return;
  }
  if (method === "notifications/cancelled") return running.get(params.requestId)?.abort();
  const controller = new AbortController();
  running.set(id, controller);
  try {
    const handler = handlers[method as string];
    if (!handler && id === undefined) return;
    if (!handler) throw new RpcError(-32601, "Method not found");
    const result = await handler(params, { id, meta: (params._meta ?? {}) as Message, signal: controller.signal });
    if (id !== undefined && !controller.signal.aborted) wire.send({ id, result });
  } catch (error) {
    const { code, data } = error instanceof RpcError ? error : { code: -32603, data: undefined };
    if (id !== undefined) wire.send({ id, error: { code, message: (error as Error).message, data } });
  } finally {
    running.delete(id);
  }
}

/** The old handshake. */
export function initialize(params: Message, capabilities: Message = { tools: { listChanged: true } }): Message {
  return { protocolVersion: params.protocolVersion, capabilities, serverInfo: { name: "test", version: "1.0.0" } };
}

/** The answer of the stateless protocol to `server/discover`. */
export function discover(capabilities: Message = { tools: { listChanged: true } }): Message {
  return {
    resultType: "complete",
    supportedVersions: ["2026-07-28"],
    capabilities,
    ttlMs: 0,
    cacheScope: "private",
    _meta: { "io.modelcontextprotocol/serverInfo": { name: "test", version: "1.0.0" } },
  };
}

export function text(value: string, more: Message = {}): Message {
  return { content: [{ type: "text", text: value }], ...more };
}
