import type { PlacedServer } from "../config/mod.ts";
import { AgentCardsError, type Capabilities, type LargeResult, messageOf } from "../model/mod.ts";
import { createPatience, createPending } from "./pending.ts";
import { MAX_LIST_BYTES } from "./list_bounds.ts";
import { type ServerProcess, type SpawnContext, spawnServer } from "./process.ts";
import { createStdioTransport, type Message } from "./stdio.ts";
import type { Traffic } from "./traffic.ts";
import {
  checkedReply,
  createClient,
  createWatcher,
  type Era,
  eraOf,
  modernEnvelope,
  type Upstream,
  type UpstreamHandlers,
  withCaller,
  withMeta,
} from "./upstream.ts";

export interface ConnectOptions extends SpawnContext {
  readonly version: string;
  /** The questions of the server that we can answer. */
  readonly capabilities: Capabilities;
  readonly maxFrameBytes: number;
  /** Above this a frame is parsed elsewhere. */
  readonly largeFrameBytes?: number;
  readonly traffic: Traffic;
  readonly startTimeoutMs: number;
  /** Ends the attempt at once. */
  readonly signal: AbortSignal;
  readonly era?: Era;
  /** Parses a frame and takes configured secrets out of it. */
  parse(json: string): unknown;
  /** Takes configured secrets out of a text. */
  redact(text: string): string;
  /** Parses a large frame elsewhere; results of the named calls come back shaped, anything else as it is. */
  parseLarge(frame: Uint8Array, waiting: WaitingIds): Promise<LargeMessage>;
  onGarbage(what: string): void;
}

/** The ids of requests that wait for an answer: calls of tools, and lists. */
export interface WaitingIds {
  readonly calls: readonly string[];
  readonly lists: readonly string[];
}

export type LargeMessage =
  | { readonly kind: "shaped"; readonly id: string; readonly large: LargeResult }
  | { readonly kind: "message"; readonly message: Message };

/** Starts a server's program and shakes hands. */
export async function connectStdio(
  server: PlacedServer,
  options: ConnectOptions,
  handlers: UpstreamHandlers,
): Promise<Upstream> {
  const process = await spawnServer(server, options);
  const late = AbortSignal.any([options.signal, AbortSignal.timeout(options.startTimeoutMs)]);
  const giveUp = () => void process.stop(0);
  late.addEventListener("abort", giveUp);
  try {
    if (late.aborted) giveUp();
    return await shakeHands(server, process, { options, handlers });
  } catch (cause) {
    late.removeEventListener("abort", giveUp);
    await process.stop(0);
    if (late.aborted) throw notInTime(server, options);
    // Some servers die of any request before initialize; they get a second process and the old handshake.
    const diedOfProbe = options.era === undefined && cause instanceof HandshakeError && cause.processEnded;
    if (diedOfProbe) return await connectStdio(server, { ...options, era: { kind: "legacy" } }, handlers);
    const { name, avoided } = server;
    const where = avoided === undefined ? "" : `; it was started outside of ${avoided}, which is not trusted`;
    throw new AgentCardsError("SERVER_UNREACHABLE", `Cannot connect to server "${name}": ${messageOf(cause)}${where}`, {
      cause,
      ...avoided !== undefined && {
        hint: `If it needs that folder, run \`agentcards trust\` there, or set servers.${name}.cwd.`,
      },
    });
  } finally {
    late.removeEventListener("abort", giveUp);
  }
}

function notInTime(server: PlacedServer, { signal, startTimeoutMs }: ConnectOptions): AgentCardsError {
  const why = signal.aborted
    ? "it was stopped while it started"
    : `it did not answer within ${startTimeoutMs / 1000} s`;
  return new AgentCardsError("SERVER_UNREACHABLE", `Cannot connect to server "${server.name}": ${why}`, {
    hint: signal.aborted ? undefined : `Raise servers.${server.name}.start_timeout in config.yaml if it needs longer.`,
  });
}

class HandshakeError extends Error {
  constructor(message: string, readonly processEnded: boolean) {
    super(message);
  }
}

interface Handshake {
  readonly options: ConnectOptions;
  readonly handlers: UpstreamHandlers;
}

async function shakeHands(server: PlacedServer, process: ServerProcess, { options, handlers }: Handshake) {
  const closed = Promise.withResolvers<string>();
  const patience = createPatience();
  const pending = createPending(server.name, patience);
  const transport = createStdioTransport(process, {
    mostBytes: pending.bound(options.maxFrameBytes),
    onTooLong: () =>
      pending.refuseLists(`the list is too long: the most is ${MAX_LIST_BYTES} bytes`)
        ? undefined
        : `it sent a message larger than ${options.maxFrameBytes} bytes`,
    ...options.largeFrameBytes !== undefined && { largeFrameBytes: options.largeFrameBytes },
    traffic: options.traffic,
    parse: options.parse,
    onGarbage: options.onGarbage,
    intercept: pending.take,
    redact: options.redact,
    async onLargeFrame(bytes) {
      if (!pending.isWaiting()) return options.onGarbage("a large message that nobody asked for");
      try {
        const parsed = await options.parseLarge(bytes, { calls: pending.calls(), lists: pending.lists() });
        if (parsed.kind === "shaped") pending.settle(parsed.id, { kind: "large", large: parsed.large });
        else if (!pending.take(parsed.message)) transport.onmessage?.(parsed.message as never);
      } catch (error) {
        transport.fail(`it sent a large message that cannot be read: ${messageOf(error)}`);
      }
    },
  });
  const client = await createClient(options, handlers, patience.whileAsked);
  client.onclose = () => {
    const reason = transport.reason ?? "the connection ended";
    pending.failAll(reason);
    closed.resolve(reason);
  };
  try {
    await client.connect(transport, {
      timeout: options.startTimeoutMs,
      ...options.era && { prior: options.era },
    });
  } catch (cause) {
    // The SDK reports a lost process as a closed connection; wait for the words that say why.
    const reason = transport.reason ?? await Promise.race([closed.promise, later(200)]);
    throw new HandshakeError(reason ?? messageOf(cause), reason !== undefined);
  }
  const era = eraOf(client);
  const instructions = client.getInstructions();
  const envelope = era.kind === "modern" ? modernEnvelope(options, client.getNegotiatedProtocolVersion()!) : {};
  const send = pending.over(transport);
  const upstream: Upstream = {
    era,
    capabilities: { ...client.getServerCapabilities() },
    ...instructions && { instructions },
    version: client.getServerVersion()?.version,
    pid: process.pid,
    closed: closed.promise,
    close: () => transport.close(),
    notify: (method) => era.kind === "legacy" && transport.write({ jsonrpc: "2.0", method }),
    watch: createWatcher(client, era),
    // The older protocol has nothing to be told with each request.
    request: era.kind === "legacy" ? send : async (method, given, request) => {
      const reply = await send(method, withMeta(withCaller(given, era, request), envelope), request);
      // A list is a list, whatever it says of itself.
      return method.endsWith("/list") ? reply : checkedReply(reply, era);
    },
  };
  return Object.freeze(upstream);
}

function later(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms));
}
