import type { ResolvedServer } from "../config/mod.ts";
import {
  AgentCardsError,
  type CallResult,
  type Capabilities,
  messageOf,
  oneLine,
  toAgentCardsError,
} from "../model/mod.ts";
import type { Client, JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { boundedFetch } from "./bounded_fetch.ts";
import { type Authorizer, canSignIn, createAuthorizer, type TokenFile } from "./signin/mod.ts";
import { createMirror } from "./param_headers.ts";
import type { Traffic } from "./traffic.ts";
import {
  createClient,
  createWatcher,
  type Era,
  eraOf,
  gaveUp,
  type RequestOptions,
  type Upstream,
  type UpstreamHandlers,
  withCaller,
} from "./upstream.ts";
import { createPatience, type Patience } from "./pending.ts";

export interface ConnectHttpOptions {
  readonly version: string;
  /** The questions of the server that we can answer. */
  readonly capabilities: Capabilities;
  readonly maxFrameBytes: number;
  readonly startTimeoutMs: number;
  readonly era?: Era;
  /** Ends the attempt at once. */
  readonly signal: AbortSignal;
  readonly traffic: Traffic;
  /** The tokens of those servers that the user has signed in to. */
  readonly tokens: TokenFile;
  /** Takes configured secrets out of what the server says. */
  clean<T>(value: T): T;
}

/** Connects to a remote server: Streamable HTTP, or the older SSE transport when configured so or when that is all it speaks. */
export async function connectHttp(
  server: ResolvedServer,
  options: ConnectHttpOptions,
  handlers: UpstreamHandlers,
): Promise<Upstream> {
  const authorizer = canSignIn(server) ? createAuthorizer(server, options.tokens) : undefined;
  try {
    return await open(server, { transport: server.transport ?? "http", options, handlers, authorizer });
  } catch (cause) {
    const status = httpStatus(cause);
    // A server of the older transport does not know POST at this address.
    if (server.transport === undefined && (status === 404 || status === 405)) {
      const second = await open(server, { transport: "sse", options, handlers, authorizer }).catch(() => undefined);
      if (second) return second;
    }
    const refusal = await authorizer?.refusal(cause);
    if (refusal) throw refusal;
    if (isUnrenewed(cause)) throw cause;
    const reason = oneLine(options.clean(failureText(cause)), 300);
    throw new AgentCardsError("SERVER_UNREACHABLE", `Cannot connect to server "${server.name}": ${reason}`, {
      hint: status === 401 || status === 403 || /unauthorized/i.test(reason)
        ? `Check servers.${server.name}.headers.`
        : undefined,
    });
  }
}

/** The failure of a renewal says all by itself. */
function isUnrenewed(error: unknown): boolean {
  return error instanceof AgentCardsError && error.data?.isUnsent === true;
}

/** The status of an HTTP answer that an error stands for. */
function httpStatus(error: unknown): number | undefined {
  const { status, data } = error as { status?: unknown; data?: { status?: unknown } };
  return [status, data?.status].find((value) => typeof value === "number");
}

interface Opening {
  readonly transport: "http" | "sse";
  readonly options: ConnectHttpOptions;
  readonly handlers: UpstreamHandlers;
  readonly authorizer: Authorizer | undefined;
}

async function open(server: ResolvedServer, opening: Opening): Promise<Upstream> {
  const { transport: kind, options, handlers, authorizer } = opening;
  const { SSEClientTransport, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const url = parseUrl(server);
  const fetch = boundedFetch(options.maxFrameBytes, options.traffic);
  const common = {
    requestInit: { headers: { ...server.headers } },
    fetch: authorizer ? authorizer.watch(fetch) : fetch,
    ...authorizer && { authProvider: authorizer.provider },
  };
  const transport: Transport = kind === "sse"
    ? new SSEClientTransport(url, common)
    : new StreamableHTTPClientTransport(url, {
      ...common,
      // A server that keeps dropping us is asked again ever more slowly.
      reconnectionOptions: {
        initialReconnectionDelay: 1_000,
        maxReconnectionDelay: 60_000,
        reconnectionDelayGrowFactor: 2,
        maxRetries: 3,
      },
    });
  cleanMessages(transport, options.clean);
  const patience = createPatience();
  const bounded: UpstreamHandlers = {
    ...handlers,
    onEvent: (event) =>
      options.traffic.admit(event.kind === "log" ? "message" : "notification", 0) && handlers.onEvent(event),
  };
  const client = await createClient(options, bounded, patience.whileAsked);
  const closed = Promise.withResolvers<string>();
  client.onclose = () => closed.resolve("the connection ended");
  await withinTime(
    client.connect(transport, { timeout: options.startTimeoutMs, ...options.era && { prior: options.era } }),
    { options, close: () => transport.close() },
  );
  const era = eraOf(client);
  const instructions = client.getInstructions();
  let isAccepted = authorizer === undefined;
  const connection = { client, patience, clean: options.clean, authorizer };
  const mirror = era.kind === "modern" ? createMirror() : undefined;
  const upstream: Upstream = {
    era,
    capabilities: { ...client.getServerCapabilities() },
    ...instructions && { instructions },
    version: client.getServerVersion()?.version,
    closed: closed.promise,
    close: () => client.close(),
    notify: (method) => era.kind === "legacy" && void client.notification({ method }).catch(() => {}),
    watch: createWatcher(client, era),
    ...mirror && { unusable: mirror.unusable },
    async request(method, params, given) {
      const request = withinBudget(given, options.traffic);
      try {
        const sent = { method, params: withCaller(params, era, request), ...request };
        const put = (sent: Send) => send(server.name, connection, sent);
        const reply = await (mirror ? mirror.send(sent, put) : put(sent));
        // A handshake alone says nothing: some servers shake hands with everybody.
        if (!isAccepted) await authorizer?.accepted();
        isAccepted = true;
        return reply;
      } catch (error) {
        // A server that is gone, or has forgotten our session, is connected to anew by the next call.
        if (toAgentCardsError(error).code === "SERVER_LOST") {
          closed.resolve(messageOf(error));
          client.close().catch(() => {});
        }
        throw error;
      }
    },
  };
  return Object.freeze(upstream);
}

/**
 * Takes configured secrets out of every message before anybody reads it: answers, errors, progress, logs, questions and
 * the handshake. The SDK sets the handler, more than once.
 */
function cleanMessages(transport: Transport, clean: ConnectHttpOptions["clean"]): void {
  let handler: Transport["onmessage"];
  Object.defineProperty(transport, "onmessage", {
    get: () => handler,
    set(next: Transport["onmessage"]) {
      handler = next && ((message, extra) => {
        const cleaned = cleanedMessage(message, clean);
        if (cleaned) next(cleaned, extra);
      });
    },
  });
}

/** A message that is nested too deeply to be looked through is not passed on; an answer becomes an error. */
function cleanedMessage(message: JSONRPCMessage, clean: ConnectHttpOptions["clean"]): JSONRPCMessage | undefined {
  try {
    return clean(message);
  } catch {
    if ("method" in message || message.id === undefined) return undefined;
    return { jsonrpc: "2.0", id: message.id, error: { code: -32603, message: "the answer is nested too deeply" } };
  }
}

/** A request that hears of progress as often as the server's budget allows. */
function withinBudget(request: RequestOptions, traffic: Traffic): RequestOptions {
  const { onProgress } = request;
  return onProgress
    ? { ...request, onProgress: (progress) => traffic.admit("progress", 0) && onProgress(progress) }
    : request;
}

/** Some servers accept a connection and never say a word; the SDK would wait with them. */
async function withinTime(
  connecting: Promise<void>,
  { options, close }: { options: ConnectHttpOptions; close: () => Promise<void> },
): Promise<void> {
  const late = AbortSignal.any([options.signal, AbortSignal.timeout(options.startTimeoutMs)]);
  const aborted = new Promise<never>((_, reject) =>
    late.addEventListener("abort", () => reject(new Error(`no answer within ${options.startTimeoutMs / 1000} s`)))
  );
  connecting.catch(() => {});
  try {
    await Promise.race([connecting, aborted]);
  } catch (error) {
    close().catch(() => {});
    throw error;
  }
}

function parseUrl(server: ResolvedServer): URL {
  const url = URL.parse(server.url!);
  if (url?.protocol === "https:" || url?.protocol === "http:") return url;
  throw new AgentCardsError("CONFIG_INVALID", `servers.${server.name}.url is not an http or https address`);
}

/** A result as the server sent it: the SDK's own schemas would drop what they do not know. */
const ANY = {
  "~standard": { version: 1, vendor: "agentcards", validate: (value: unknown) => ({ value }) },
} as const;

type Send = {
  method: string;
  params: Record<string, unknown>;
  /** Arguments that are sent as headers, too. */
  headers?: Record<string, string>;
} & Parameters<Upstream["request"]>[2];

interface Connection {
  readonly client: Client;
  readonly patience: Patience;
  readonly clean: ConnectHttpOptions["clean"];
  readonly authorizer: Authorizer | undefined;
}

/** The SDK's own clock knows no patience, so ours decides. */
const NO_TIMEOUT = 2 ** 31 - 1;

/** True if a call cannot have reached its tool: nobody listens, or the request was refused. */
function wasRefused(error: unknown): boolean {
  const status = httpStatus(error);
  if (status !== undefined) return [400, 401, 403, 404, 405, 413, 429].includes(status);
  return /connection refused|ECONNREFUSED|dns error|ENOTFOUND|tcp connect error/i.test(causesOf(error));
}

function causesOf(error: unknown): string {
  const texts: string[] = [];
  for (let at = error; at instanceof Error && texts.length < 5; at = at.cause) texts.push(at.message);
  return texts.join(" ");
}

async function send(
  server: string,
  { client, patience, clean, authorizer }: Connection,
  request: Send,
): Promise<CallResult> {
  const { method, params, ...options } = request;
  const late = new AbortController();
  const left = patience.start(options.timeoutMs);
  const look = () => left() <= 0 ? late.abort() : timer = setTimeout(look, left());
  let timer = setTimeout(look, options.timeoutMs);
  try {
    const result = await client.request({ method, params }, ANY, {
      timeout: NO_TIMEOUT,
      allowInputRequired: true,
      ...options.headers && { headers: options.headers },
      signal: options.signal ? AbortSignal.any([options.signal, late.signal]) : late.signal,
      ...options.onProgress && { onprogress: (progress) => options.onProgress!({ ...progress }) },
    });
    return { kind: "result", result: result as Record<string, unknown> };
  } catch (error) {
    const { ProtocolError } = await import("@modelcontextprotocol/client");
    if (error instanceof ProtocolError) {
      const { code, message, data } = error;
      return { kind: "error", code, message, ...data !== undefined && { data } };
    }
    if (options.signal?.aborted || late.signal.aborted) throw gaveUp(server, options.signal, options.timeoutMs);
    const refusal = await authorizer?.refusal(error);
    if (refusal) throw refusal;
    if (isUnrenewed(error)) throw error;
    const isUnsent = wasRefused(error);
    throw new AgentCardsError(
      "SERVER_LOST",
      // The body of an HTTP error is no message. It is cleaned before it is cut: half a secret is not found.
      `The call to server "${server}" failed: ${oneLine(clean(failureText(error)), 300)}`,
      isUnsent ? { data: { isUnsent } } : { hint: "It was not repeated, since it may have had an effect." },
    );
  } finally {
    clearTimeout(timer);
  }
}

/** The text of a failure. A parser quotes the beginning of what it could not read, which may be half a secret. */
function failureText(error: unknown): string {
  const text = messageOf(error);
  return error instanceof SyntaxError || /is not valid JSON/.test(text) ? "its answer is not JSON" : text;
}
