import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";

/** The certificate of the endpoint and its key, as PEM. */
export interface TlsKeys {
  readonly cert: string;
  readonly key: string;
}

export interface NodeServerOptions {
  readonly port: number;
  /** The address to listen on; loopback where there is none. */
  readonly host?: string | undefined;
  readonly tls?: TlsKeys | undefined;
  handle(request: Request): Promise<Response>;
  /** Told what went wrong with the listening itself; it goes on. */
  onError(error: Error): void;
  readonly limits?: Partial<HttpLimits>;
}

/** The limits for every connection to the port, with a token or without. */
export interface HttpLimits {
  readonly connections: number;
  readonly headersMs: number;
  /** For a whole request, its body included. */
  readonly requestMs: number;
  readonly lookEveryMs: number;
}

/** Strangers on this machine can open connections without the token: they get so many, and so much time. */
const LIMITS: HttpLimits = { connections: 200, headersMs: 10_000, requestMs: 30_000, lookEveryMs: 2_000 };
const KEEP_ALIVE_MS = 5_000;
/** So long the rest of a body that was refused may still come. */
const DRAIN_MS = 2_000;
const MAX_HEADER_BYTES = 16_384;

/** An HTTP/1.1 server with bounds on connections, headers and bodies, for a handler of web requests. */
export async function listenHttp(
  { port, host = "127.0.0.1", tls, handle, onError, limits }: NodeServerOptions,
): Promise<Server> {
  const most = Math.min(LIMITS.connections, Math.floor(await openFiles() / 2));
  const { connections, headersMs, requestMs, lookEveryMs } = { ...LIMITS, connections: most, ...limits };
  const bounds = {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: lookEveryMs,
    maxHeaderSize: MAX_HEADER_BYTES,
  };
  const take = (incoming: IncomingMessage, outgoing: ServerResponse) => void answer(incoming, outgoing, handle);
  const server = tls
    ? createTlsServer({ ...bounds, ...tls, handshakeTimeout: headersMs, ALPNProtocols: ["http/1.1"] }, take)
    : createServer(bounds, take);
  server.maxConnections = connections;
  // Half a header, HTTP/2, garbage: nobody is there to read a reason.
  server.on("clientError", (_error, socket) => socket.destroy());
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  const refuse = (_request: IncomingMessage, socket: Socket) =>
    void socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
  server.on("upgrade", refuse);
  server.on("connect", refuse);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  // No more file descriptors, for example: whoever is connected stays so, and others can come later.
  server.on("error", onError);
  return server;
}

/** The number of files of a process where the system does not say: the usual value of macOS. */
const USUAL_OPEN_FILES = 256;

/** The number of files that the process may have open. The runtime itself ends when it needs one and there is none left. */
async function openFiles(): Promise<number> {
  const limits = await readFile("/proc/self/limits", "utf8").catch(() => "");
  return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? USUAL_OPEN_FILES);
}

async function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  handle: NodeServerOptions["handle"],
): Promise<void> {
  const gone = new AbortController();
  outgoing.on("close", () => gone.abort());
  outgoing.on("error", () => gone.abort());
  const request = requestOf(incoming, gone.signal);
  if (!request) return void outgoing.writeHead(400, { connection: "close" }).end();
  const response = await handle(request);
  if (gone.signal.aborted) return await response.body?.cancel().catch(() => {});
  const isUnread = !incoming.complete;
  // A body that nobody reads would be taken for the next request.
  if (isUnread) response.headers.set("connection", "close");
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  await pass(response, outgoing, gone.signal);
  // A connection that is cut off hides the answer from a client that is still sending.
  if (isUnread) await drained(incoming, gone.signal);
  outgoing.end();
}

/** Reads on for a while and throws away what comes. */
async function drained(incoming: IncomingMessage, gone: AbortSignal): Promise<void> {
  incoming.resume();
  await new Promise<void>((resolve) => {
    const late = setTimeout(resolve, DRAIN_MS);
    const end = () => (clearTimeout(late), resolve());
    incoming.once("end", end).once("close", end);
    gone.addEventListener("abort", end, { once: true });
    if (incoming.complete || gone.aborted) end();
  });
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request | undefined {
  const { method = "GET", url = "/", rawHeaders } = incoming;
  const headers = new Headers();
  try {
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) headers.append(rawHeaders[i]!, rawHeaders[i + 1]!);
    const hasBody = method !== "GET" && method !== "HEAD";
    return new Request(new URL(url, "http://127.0.0.1"), {
      method,
      headers,
      signal,
      ...hasBody && { body: bodyOf(incoming), duplex: "half" },
    });
  } catch {
    return undefined;
  }
}

/** The body as a web stream. One that is cancelled is read on and thrown away, so that its sender can read the answer. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array<ArrayBuffer>> {
  let isOver = false;
  return new ReadableStream({
    start(controller) {
      const end = (work: () => void) => {
        if (!isOver) work();
        isOver = true;
      };
      incoming.on("data", (chunk: Uint8Array) => {
        if (isOver) return;
        controller.enqueue(new Uint8Array(chunk));
        if (controller.desiredSize! <= 0) incoming.pause();
      });
      incoming.on("end", () => end(() => controller.close()));
      incoming.on("close", () => end(() => controller.error(new Error("the body did not come to its end"))));
      incoming.on("error", (error) => end(() => controller.error(error)));
      incoming.pause();
    },
    pull: () => void incoming.resume(),
    cancel() {
      isOver = true;
      incoming.resume();
    },
  });
}

/** Writes a body as fast as its reader takes it, and stops when the reader has left. */
async function pass({ body }: Response, outgoing: ServerResponse, gone: AbortSignal): Promise<void> {
  const reader = body?.getReader();
  gone.addEventListener("abort", () => void reader?.cancel().catch(() => {}));
  try {
    for (let read = await reader?.read(); read && !read.done && !gone.aborted; read = await reader!.read()) {
      if (outgoing.write(read.value)) continue;
      await new Promise<void>((resolve) => {
        outgoing.once("drain", resolve);
        gone.addEventListener("abort", () => resolve(), { once: true });
      });
    }
  } catch {
    // The stream broke off; so does the answer.
    return void outgoing.destroy();
  }
}
