import { isObject, jsonDepth, TOO_LONG } from "../model/start.ts";
import type { WorkSession } from "../workflow/mod.ts";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import type { Activity } from "./activity.ts";
import type { Channel, Line } from "./link/channel.ts";
import { isAgain, MAX_CLIENT_FRAME } from "./link/handshake.ts";
import type { ClientWork } from "./client_work.ts";
import type { Shown } from "./handshake_cache.ts";
import { serveProtocol } from "./protocol.ts";
import { FORWARDED, INVALID_PARAMS } from "./wire/codes.ts";
import { isStateless, META, STATELESS_REVISION } from "./wire/era.ts";

export type Message = Record<string, unknown>;

export interface FrontOptions {
  /** The tools and resources that a client in this folder was shown before, if that still holds. */
  readonly shown?: Promise<Shown | undefined>;
  /** True if the transport wants the id of the request that each message belongs to. */
  readonly tellsRelated?: boolean;
  /** True if many clients share the connection, which is then asked and told nothing that is for one of them. */
  readonly isCrowd?: boolean;
  /** The name of the client's connection; where it has one, the first line is not the client's but an `Again`. */
  readonly connection?: string | undefined;
  /** Counts the requests of all connections. */
  readonly activity?: Activity | undefined;
  /** The rest of the engine is loaded once this is resolved; here it is, when the client has its list or wants more. */
  readonly rest?: Pick<PromiseWithResolvers<void>, "promise" | "resolve">;
}

interface Problem {
  readonly code?: number;
  readonly text: string;
  readonly data?: unknown;
}

const MAX_DEPTH = 64;
/** An agent that connects will search: the model is loaded before, but after the client has its list of tools. */
const WARM_UP_AFTER_MS = 1_000;
/** Runs that a crash interrupted go on as soon as their folder is connected again. */
const ADOPT_AFTER_MS = 100;
/** A stateless client has nothing to say before its next request; its runs do not wait for that. */
const SILENT_MS = 2_000;
/** The list of tools is on its way by then. */
const REST_AFTER_MS = 5;
const INVALID_REQUEST = -32600;
const PARSE_ERROR = -32700;
const UNSUPPORTED_VERSION = -32022;

/**
 * Serves one client until its connection ends. Frames are checked here before anything believes them; what goes to a
 * server goes there straight, so that results pass as they are; the rest of the protocol is the SDK's.
 */
export async function serveClient(
  wire: Channel,
  session: Promise<WorkSession>,
  {
    shown,
    tellsRelated = false,
    isCrowd = false,
    connection,
    activity,
    rest = { promise: session.then(() => {}), resolve() {} },
  }: FrontOptions = {},
): Promise<void> {
  const timers = [
    setTimeout(() => void adoptOnceGreeted(), ADOPT_AFTER_MS),
    setTimeout(() => void loading.then(({ warm }) => warm(), () => {}), WARM_UP_AFTER_MS),
  ];
  /** A server that a run starts is told what this client can do, so the client speaks first. */
  const greeted = Promise.withResolvers<void>();
  const adoptOnceGreeted = async () => {
    const silence = setTimeout(greeted.resolve, SILENT_MS);
    await greeted.promise;
    clearTimeout(silence);
    const { calls, adopt } = await loading;
    // Whoever waits for a run can be asked about it: it is taken up for them first.
    await calls.placed();
    await adopt();
  };
  const decoder = new TextDecoder();
  const open = new Set<unknown>();
  let handshake: "none" | "legacy" = "none";
  /** The requests that an engine before was sent and whose frames are still to come. */
  let again: Set<unknown> | undefined = connection === undefined ? new Set() : undefined;

  const send = (message: Message, related?: unknown) => {
    const { jsonrpc: _version, id, ...rest } = message;
    if (message.method === undefined) open.delete(id);
    const more = tellsRelated && related !== undefined ? { related } : {};
    // The pipe in front of us reads the id off the beginning of a line.
    wire.write(JSON.stringify({ jsonrpc: "2.0", ...id !== undefined && { id }, ...rest, ...more }));
  };
  const refuse = (id: unknown, code: number, message: string, data?: unknown) =>
    send({ id: id ?? null, error: { code, message, ...data !== undefined && { data } } });

  const transport: Transport = {
    start: () => Promise.resolve(),
    close: () => Promise.resolve(),
    send: (message) => Promise.resolve(send(message as Message)),
  };
  const sendRaw = (id: unknown, frame: string | Uint8Array) => (open.delete(id), wire.write(frame));
  let work: ClientWork | undefined;
  /** The messages that came before the work was loaded, in their order. */
  const early: ((work: ClientWork) => void)[] = [];
  let isOver = false;
  const loading = rest.promise.catch(() => {}).then(loadWork).then(({ createClientWork }) => {
    work = createClientWork({
      session,
      connection,
      activity,
      send,
      sendRaw,
      notify: (method, params) => protocol.notify(method, params),
      hasHandshake: () => handshake === "legacy",
      isCrowd,
    });
    if (isOver) close(work);
    else for (const use of early.splice(0)) use(work);
    return work;
  });
  loading.catch(wire.close);
  const later = (use: (work: ClientWork) => void) => {
    if (work) return use(work);
    early.push(use);
    rest.resolve();
  };
  const close = ({ calls, side }: ClientWork) => {
    calls.abortAll();
    side.close();
  };
  const actual = loading.then((work) => work.shown());
  actual.catch(() => {});
  const protocol = serveProtocol({
    transport,
    expose: Promise.resolve(isCrowd ? undefined : shown).then((known) => {
      if (!known) rest.resolve();
      return known ?? actual.catch(() => undefined);
    }),
    async answer(method, params) {
      rest.resolve();
      return await (await loading).side.answer(method, params);
    },
    onError: (error) => later(({ log }) => log("debug", "client_frame_refused", { reason: error.message })),
    onListed: () => void timers.push(setTimeout(rest.resolve, REST_AFTER_MS)),
  });

  function take(line: Uint8Array): void {
    if (line.length === 0) return;
    const text = decoder.decode(line);
    if (jsonDepth(line, MAX_DEPTH) > MAX_DEPTH) {
      return refuse(idIn(text), INVALID_REQUEST, `The message is nested deeper than ${MAX_DEPTH} levels`);
    }
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      return refuse(null, PARSE_ERROR, "The line is not JSON");
    }
    if (!isObject(message)) {
      return refuse(null, INVALID_REQUEST, "A frame is one JSON-RPC object; batches are not supported");
    }
    if (message.method === undefined) return takeResponse(message);
    const problem = check(message);
    if (problem) {
      const { code = INVALID_REQUEST, text: why, data } = typeof problem === "string" ? { text: problem } : problem;
      const wasOpen = open.has(message.id);
      refuse(isId(message.id) ? message.id : null, code, why, data);
      // The first request of that name is still to be answered.
      if (wasOpen) open.add(message.id);
      return;
    }
    const isRepeated = message.id !== undefined && again?.delete(message.id) === true;
    if (message.id !== undefined) open.add(message.id);
    if (message.method === "initialize") {
      handshake = "legacy";
      note(({ calls }) => calls.setCapabilities(message.params));
    }
    if (!isPlainCall(message)) note(({ side }) => side.see(message));
    greeted.resolve();
    if (message.method === "notifications/cancelled") {
      if (isObject(message.params)) open.delete(message.params.requestId);
      return later(({ calls }) => calls.cancel(message.params) || pass(message));
    }
    if (message.id !== undefined && (message.method === "tools/call" || FORWARDED.has(message.method as string))) {
      return later(({ calls }) => calls.start(message, isRepeated));
    }
    pass(message);
  }

  const pass = (message: Message) => transport.onmessage?.(message as unknown as JSONRPCMessage);

  /** As `later`, for news that make no work. */
  const note = (use: (work: ClientWork) => void) => void (work ? use(work) : early.push(use));

  function takeResponse(message: Message): void {
    later(({ calls, log }) => calls.takeAnswer(message) || log("debug", "client_answer_unexpected"));
  }

  /** The problem of a request or notification, if there is one. */
  function check(message: Message): string | Problem | undefined {
    const { id, method, params } = message;
    if (typeof method !== "string") return "method must be a string";
    if (params !== undefined && !isObject(params)) return "params must be an object";
    if (id === undefined) return;
    if (!isId(id)) return `id must be a number or a string of at most ${MAX_ID} characters`;
    if (open.has(id)) return `id ${JSON.stringify(id)} is still in use by another request`;
    const meta = isObject(params?._meta) ? params._meta : {};
    const token = meta.progressToken;
    if (token !== undefined && !isId(token)) return "progressToken must be a string or a number";
    const version = meta[`${META}protocolVersion`];
    if (version !== undefined && version !== STATELESS_REVISION) {
      const data = { supported: [STATELESS_REVISION], requested: version };
      return { code: UNSUPPORTED_VERSION, text: "Unsupported protocol version", data };
    }
    if (version !== undefined && !isObject(meta[`${META}clientCapabilities`])) {
      return { code: INVALID_PARAMS, text: `_meta must have ${META}clientCapabilities` };
    }
    if (version !== undefined || method === "server/discover" || method === "ping") return;
    if (method === "initialize") {
      return handshake === "legacy" ? "initialize was already done on this connection" : undefined;
    }
    if (handshake === "none") return "initialize must come first";
  }

  try {
    await wire.read((line) => {
      if (!again) {
        again = againIn(line);
        const count = again.size;
        // The log is open once the session is.
        if (count > 0) {
          later(({ log }) => void session.then(() => log("info", "requests_repeated", { count }), () => {}));
        }
      } else if (line === TOO_LONG) refuse(null, INVALID_REQUEST, `The frame is larger than ${MAX_CLIENT_FRAME} bytes`);
      else take(line);
    });
  } finally {
    isOver = true;
    timers.forEach(clearTimeout);
    if (work) close(work);
    // Nobody is there any more who could be told.
    await protocol.close().catch(() => {});
  }
}

/** A call of a client that shook hands: it says nothing about its client. */
function isPlainCall({ method, params }: Message): boolean {
  return method === "tools/call" && !(isObject(params) && isObject(params._meta) && isStateless(params._meta));
}

function loadWork(): Promise<typeof import("./client_work.ts")> {
  return import("./client_work.ts" as string);
}

/** The ids that the pipe in front of us sends again. */
function againIn(line: Line): Set<unknown> {
  const said: unknown = line === TOO_LONG ? undefined : JSON.parse(new TextDecoder().decode(line));
  if (!isAgain(said)) throw new TypeError("The line after the hello must say which requests are sent again");
  return new Set(said.again);
}

/** The pipe in front of us reads ids off the first few hundred bytes of a line. */
const MAX_ID = 200;

function isId(value: unknown): value is string | number {
  return typeof value === "number" || (typeof value === "string" && value.length <= MAX_ID);
}

/** The id of a frame that is not worth parsing, so that its sender does not wait for ever. */
function idIn(text: string): unknown {
  const edges = text.slice(0, 1_000) + text.slice(-1_000);
  const found = /"id"\s*:\s*(\d{1,15}|"[^"\\]{0,100}")/.exec(edges)?.[1];
  return found === undefined ? null : JSON.parse(found);
}
