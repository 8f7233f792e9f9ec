import {
  AgentCardsError,
  type CallResult,
  type Capabilities,
  isObject,
  oneLine,
  type ServerRequest,
} from "../model/mod.ts";
import type { Client, PriorDiscovery } from "@modelcontextprotocol/client";

export interface RequestOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs: number;
  readonly onProgress?: (progress: Record<string, unknown>) => void;
  /** Told when the request goes out, which is after its server has started. */
  readonly onSent?: () => void;
  /** The questions that the caller can answer; a server of the stateless protocol is told with every request. */
  readonly capabilities?: () => Capabilities;
  /** From which level on whoever asks wants to hear what the server logs meanwhile; told likewise. */
  readonly logLevel?: string;
}

/** A server that is connected and has said which protocol it speaks. */
export interface Upstream {
  readonly era: Era;
  /** The capabilities that it declares. */
  readonly capabilities: Capabilities;
  readonly instructions?: string;
  /** The version that it says it has. */
  readonly version?: string | undefined;
  readonly pid?: number;
  request(method: string, params: Record<string, unknown>, options: RequestOptions): Promise<CallResult>;
  /** The reason why a tool that it lists cannot be called, where its transport says so. */
  unusable?(definition: Record<string, unknown>): string | undefined;
  /** Tells the server something, where its protocol has such notes. */
  notify(method: string): void;
  /** From now on these resources are watched, and no others. */
  watch(uris: readonly string[]): Promise<void>;
  /** Resolves with the reason when the connection ends. */
  readonly closed: Promise<string>;
  close(): Promise<void>;
}

/** The verdict on a server's protocol, kept so that nobody has to probe for it again. */
export type Era = PriorDiscovery;

/** A message that a server sends by itself. */
export type ServerEvent =
  | { readonly kind: "list_changed"; readonly list: ListName }
  | { readonly kind: "resource_updated" | "log" | "elicitation_complete"; readonly params: Record<string, unknown> };

export type ListName = "tools" | "resources" | "prompts";

/** Does something for which a server waits; the time of its calls stands still meanwhile. */
export type WhileAsked = <T>(work: () => Promise<T>) => Promise<T>;

/** The functions that an upstream needs from above. */
export interface UpstreamHandlers {
  onEvent(event: ServerEvent): void;
  /** Answers a server's question, or throws. */
  onRequest(
    request: ServerRequest,
    how: { readonly signal: AbortSignal; readonly whileAsked: WhileAsked },
  ): Promise<Record<string, unknown>>;
}

export const QUESTIONS: ReadonlySet<string> = new Set(["elicitation/create", "sampling/createMessage", "roots/list"]);

const EVENTS: Readonly<Record<string, ListName | Exclude<ServerEvent["kind"], "list_changed">>> = {
  "notifications/tools/list_changed": "tools",
  "notifications/resources/list_changed": "resources",
  "notifications/prompts/list_changed": "prompts",
  "notifications/resources/updated": "resource_updated",
  "notifications/message": "log",
  "notifications/elicitation/complete": "elicitation_complete",
};

/** A notification as an event, if it is one that somebody may want to hear of. */
function eventOf(method: string, params: unknown): ServerEvent | undefined {
  const kind = EVENTS[method];
  if (kind === undefined) return undefined;
  return kind === "tools" || kind === "resources" || kind === "prompts"
    ? { kind: "list_changed", list: kind }
    : { kind, params: isObject(params) ? params : {} };
}

export interface ClientOptions {
  readonly version: string;
  readonly capabilities: Capabilities;
}

/** The SDK's client for one connection; loaded with the first server, since it costs 0.2 s. */
export async function createClient(
  { version, capabilities }: ClientOptions,
  handlers: UpstreamHandlers,
  whileAsked: WhileAsked,
): Promise<Client> {
  const { Client, ProtocolError, ProtocolErrorCode } = await import("@modelcontextprotocol/client");
  const client = new Client({ name: "agentcards", version }, {
    capabilities,
    versionNegotiation: { mode: "auto", probe: { timeoutMs: 5_000 } },
  });
  // Neither questions nor answers are held against a schema here: what a server asks reaches whoever can answer as it is.
  client.fallbackRequestHandler = async ({ method, params }, context) => {
    if (!QUESTIONS.has(method)) throw new ProtocolError(ProtocolErrorCode.MethodNotFound, "Method not found");
    const { signal } = context.mcpReq;
    return await handlers.onRequest({ method, params: isObject(params) ? params : {} }, { signal, whileAsked });
  };
  client.fallbackNotificationHandler = ({ method, params }) => {
    const event = eventOf(method, params);
    if (event) handlers.onEvent(event);
    return Promise.resolve();
  };
  return client;
}

/** Keeps a connection's subscriptions: to lists, as far as the server tells of them, and to single resources. */
export function createWatcher(client: Client, era: Era) {
  const { tools, resources, prompts } = client.getServerCapabilities() ?? {};
  const lists = {
    ...tools?.listChanged && { toolsListChanged: true },
    ...resources?.listChanged && { resourcesListChanged: true },
    ...prompts?.listChanged && { promptsListChanged: true },
  };
  let watched: readonly string[] = [];
  let listening: Promise<{ close(): Promise<void> } | undefined> | undefined;

  /** The stateless protocol has one request for everything that is watched; a new set replaces the old one. */
  async function listen(): Promise<void> {
    const before = listening;
    const filter = { ...lists, ...watched.length > 0 && { resourceSubscriptions: [...watched] } };
    listening = Object.keys(filter).length === 0 ? undefined : client.listen(filter).catch(() => undefined);
    await listening;
    await (await before)?.close();
  }

  if (era.kind === "modern") listen().catch(() => {});
  return async (uris: readonly string[]): Promise<void> => {
    const before = new Set(watched);
    watched = uris;
    if (era.kind === "modern") return await listen();
    const wanted = new Set(uris);
    const ask = (method: "resources/subscribe" | "resources/unsubscribe", uri: string) =>
      client.request({ method, params: { uri } });
    await Promise.all([
      ...uris.filter((uri) => !before.has(uri)).map((uri) => ask("resources/subscribe", uri)),
      ...[...before].filter((uri) => !wanted.has(uri)).map((uri) => ask("resources/unsubscribe", uri)),
    ]);
  };
}

/** The verdict after a successful connect. */
export function eraOf(client: Client): Era {
  const discover = client.getDiscoverResult();
  return discover ? { kind: "modern", discover } : { kind: "legacy" };
}

/** True if a stored verdict is one (it comes out of the database, so it is checked). */
export function isEra(value: unknown): value is Era {
  return isObject(value) && (value.kind === "legacy" || (value.kind === "modern" && isObject(value.discover)));
}

/** The error of a call that was given up, by its caller or by the clock. */
export function gaveUp(server: string, signal: AbortSignal | undefined, timeoutMs: number): AgentCardsError {
  return signal?.aborted
    ? new AgentCardsError("CANCELLED", `The call to server "${server}" was cancelled`)
    : new AgentCardsError("TIMEOUT", `Server "${server}" did not answer within ${timeoutMs / 1000} s`, {
      hint: `The call was cancelled. Raise servers.${server}.timeout in config.yaml if it needs longer.`,
    });
}

const CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

/** Params with what the stateless protocol wants to know of whoever asks. */
export function withCaller(
  params: Record<string, unknown>,
  era: Era,
  { capabilities, logLevel }: RequestOptions,
): Record<string, unknown> {
  if (era.kind === "legacy" || !(capabilities || logLevel)) return params;
  return withMeta(params, {
    ...capabilities && { [CLIENT_CAPABILITIES]: capabilities() },
    ...logLevel && { "io.modelcontextprotocol/logLevel": logLevel },
  });
}

/** Params with more meta data than they had. */
export function withMeta(params: Record<string, unknown>, meta: Record<string, unknown>): Record<string, unknown> {
  return { ...params, _meta: { ...meta, ...isObject(params._meta) ? params._meta : {} } };
}

/** The metadata about us in every request of the stateless protocol. */
export function modernEnvelope({ version, capabilities }: ClientOptions, protocol: string): Record<string, unknown> {
  return {
    "io.modelcontextprotocol/protocolVersion": protocol,
    [CLIENT_CAPABILITIES]: capabilities,
    "io.modelcontextprotocol/clientInfo": { name: "agentcards", version },
  };
}

/** A result of the stateless protocol says what it is; one that does not, or says something unknown, is not believed. */
export function checkedReply(reply: CallResult, era: Era): CallResult {
  if (era.kind === "legacy" || reply.kind !== "result") return reply;
  const { resultType } = reply.result;
  if (resultType === "complete" || resultType === "input_required") return reply;
  const said = resultType === undefined
    ? "no resultType"
    : `the unknown resultType ${oneLine(JSON.stringify(resultType), 60)}`;
  return { kind: "error", code: -32603, message: `the server's answer has ${said}` };
}
