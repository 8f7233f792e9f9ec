import { AgentCardsError, describe, messageOf } from "../../model/mod.ts";
import type { AddressInfo } from "node:net";
import { isLegacyRequest } from "@modelcontextprotocol/server";
import { readBody } from "./body.ts";
import { createGuard, PATH, refusal } from "./guard.ts";
import { createLegacyHandler } from "./legacy.ts";
import { createModernHandler } from "./modern.ts";
import { listenHttp, type TlsKeys } from "./node_server.ts";
import type { ConnectEngine } from "./wire.ts";

/** The address of an endpoint: on loopback by default. */
export interface HttpPlace {
  readonly port: number;
  readonly host?: string | undefined;
  /** The names by which clients reach it, besides those of this machine. */
  readonly names?: readonly string[] | undefined;
  readonly tls?: TlsKeys | undefined;
}

export interface HttpOptions extends HttpPlace {
  readonly token: string;
  connect: ConnectEngine;
  onError(what: string): void;
}

/** An endpoint that listens. */
export interface HttpEndpoint {
  readonly url: string;
  close(): Promise<void>;
}

/** The time that requests under way may take when the endpoint closes. */
const SHUTDOWN_MS = 2_000;
/** Nobody else's pages may read, keep or guess anything of what is answered. */
const HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** Serves Streamable HTTP in both eras of the protocol to whoever knows the token. */
export async function serveHttp({ token, connect, onError, ...place }: HttpOptions): Promise<HttpEndpoint> {
  const guard = await createGuard(token, place.names);
  const legacy = createLegacyHandler(connect);
  const modern = createModernHandler(connect);

  async function answer(request: Request): Promise<Response> {
    const refused = await guard(request);
    if (refused) return refused;
    if (request.method !== "POST") return await legacy.fetch(request, undefined);
    const read = await readBody(request);
    if ("refused" in read) return read.refused;
    return await isLegacyRequest(request, read.body)
      ? await legacy.fetch(request, read.body)
      : await modern.fetch(request, read.body);
  }

  const server = await listen(place, onError, async (request) => {
    const response = await answer(request).catch((error) => {
      onError(describe(error));
      return refusal(500, "Something went wrong; the log says more");
    });
    for (const [name, value] of Object.entries(HEADERS)) response.headers.set(name, value);
    return response;
  });
  return {
    url: `${place.tls ? "https" : "http"}://${shownHost(place)}:${(server.address() as AddressInfo).port}${PATH}`,
    async close() {
      await Promise.all([legacy.close(), modern.close()]);
      // What is under way may end; what never ends does not keep us.
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(late.resolve, SHUTDOWN_MS);
      await Promise.race([closed, late.promise]);
      clearTimeout(timer);
      server.closeAllConnections();
    },
  };
}

/** The name of the endpoint that is told to clients. */
function shownHost({ host = "127.0.0.1", names = [] }: HttpPlace): string {
  const isEvery = host === "0.0.0.0" || host === "::";
  return names[0] ?? (isEvery ? "localhost" : host.includes(":") ? `[${host}]` : host);
}

async function listen(
  { host, port, tls }: HttpPlace,
  onError: HttpOptions["onError"],
  handle: (request: Request) => Promise<Response>,
) {
  try {
    return await listenHttp({ port, host, tls, handle, onError: (error) => onError(describe(error)) });
  } catch (cause) {
    const at = host === undefined ? `127.0.0.1:${port}` : `${host}, port ${port}`;
    throw new AgentCardsError("USAGE", `Cannot listen on ${at}: ${messageOf(cause)}`, {
      cause,
      hint: host === undefined ? "Choose another with --port." : "Look at --host, --port, --cert and --key.",
    });
  }
}
