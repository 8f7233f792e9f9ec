import type { AddressInfo } from "node:net";
import type { Home } from "../config/mod.ts";
import { type ControlLink, METHOD_NAMES, type MethodName } from "../control/mod.ts";
import { AgentCardsError, isObject, type JsonObject, messageOf } from "../model/mod.ts";
import { type HttpPlace, listenHttp, readBody } from "../serve/mod.ts";
import { type Admission, createAdmission } from "./admission.ts";
import { createAssets } from "./assets.ts";
import { createEngineLink } from "./engine_link.ts";
import { errorOf } from "./errors.ts";
import { createAddressGuard, HEADERS, refusal } from "./guard.ts";
import { createRecords, type RecordName, RECORDS } from "./records.ts";
import { createStreams } from "./streams.ts";

export interface DashboardOptions extends HttpPlace {
  readonly home: Home;
  /** Connects to the engine, starting one when there is none. */
  connect(): Promise<ControlLink>;
  onError(what: string): void;
}

/** A dashboard that listens. */
export interface Dashboard {
  readonly url: string;
  readonly admission: Pick<Admission, "newCode" | "confirm">;
  close(): Promise<void>;
}

/** Methods of the engine that no page asks for: they belong to a terminal. */
const AT_A_TERMINAL: ReadonlySet<string> = new Set<MethodName>([
  "accept_database",
  "accept_sandbox",
  "audit_export",
  "backup",
  "drain",
  "stop",
]);
/** A page that waits for its digits is answered after so long, and asks again. */
const PAIR_WAIT_MS = 20_000;
const CLOSE_WITHIN_MS = 1_000;

/** Serves the dashboard until it is closed. */
export async function serveDashboard({ home, connect, onError, ...place }: DashboardOptions): Promise<Dashboard> {
  const admission = createAdmission();
  const assets = createAssets();
  const engine = createEngineLink(connect);
  const streams = createStreams(engine);
  const records = createRecords(home);
  let port = place.port;
  const scheme = place.tls ? "https" : "http";
  const guard = createAddressGuard({ scheme, port: () => port, names: place.names ?? [] });

  /** What needs no token: the files of the page, and the two ways to a token. */
  async function admit(path: string, body: Record<string, unknown>): Promise<Response | undefined> {
    switch (path) {
      case "/api/session": {
        const token = admission.exchange(String(body.code ?? ""));
        return token === undefined ? refusal(401, "The code was used or is too old") : Response.json({ token });
      }
      case "/api/pair": {
        const pairing = admission.pair();
        return pairing ? Response.json(pairing) : refusal(429, "Too many pages wait for their digits");
      }
      case "/api/pair/wait": {
        const paired = await admission.paired(String(body.id ?? ""), PAIR_WAIT_MS);
        return paired === "gone" ? refusal(410, "The digits are too old") : Response.json(
          paired === "waiting" ? { waiting: true } : paired,
        );
      }
    }
  }

  async function answer(path: string, body: Record<string, unknown>): Promise<Response> {
    const params = isObject(body.params) ? body.params as JsonObject : {};
    switch (path) {
      case "/api/ask":
        return Response.json({ result: await engine.ask({ method: methodOf(body), params: params as never }) ?? null });
      case "/api/stream":
        return streams.open({ method: methodOf(body), params, asks: body.asks === true });
      case "/api/answer": {
        const { stream, question, result } = body;
        const isTaken = streams.answer(
          String(stream),
          Number(question),
          isObject(result) ? result as JsonObject : null,
        );
        return isTaken ? Response.json({}) : refusal(410, "The question waits for no answer any more");
      }
      case "/api/record": {
        const name = body.method as RecordName;
        if (!Object.hasOwn(RECORDS, String(name))) return refusal(404, "There is no such record");
        return Response.json({ result: await records[name](RECORDS[name].parse(params) as never) });
      }
      case "/api/methods":
        return Response.json({ result: METHOD_NAMES.filter((name) => !AT_A_TERMINAL.has(name)) });
    }
    return refusal(404, "There is no such page");
  }

  async function handle(request: Request): Promise<Response> {
    const refused = guard(request);
    if (refused) return refused;
    const { pathname } = new URL(request.url);
    if (request.method === "GET") return await assets(pathname) ?? refusal(404, "There is no such page");
    if (request.method !== "POST" || !pathname.startsWith("/api/")) return refusal(405, "There is no such page");
    if (request.headers.get("content-type") !== "application/json") {
      return refusal(415, "Content-Type must be application/json");
    }
    const token = /^Bearer (\S+)$/.exec(request.headers.get("authorization") ?? "")?.[1];
    const isAdmitted = token !== undefined && admission.isAdmitted(token);
    const read = await readBody(request);
    if ("refused" in read) return read.refused;
    const body = isObject(read.body) ? read.body : {};
    const admitted = await admit(pathname, body);
    if (admitted) return admitted;
    if (!isAdmitted) return refusal(401, "The token is missing or wrong");
    try {
      return await answer(pathname, body);
    } catch (error) {
      return Response.json({ error: errorOf(error) }, { status: 400 });
    }
  }

  const server = await listen(place, onError, async (request) => {
    const response = await handle(request).catch((error) => {
      onError(messageOf(error));
      return refusal(500, "Something went wrong; the terminal says more");
    });
    for (const [name, value] of Object.entries(HEADERS)) response.headers.set(name, value);
    return response;
  });
  port = (server.address() as AddressInfo).port;
  const host = place.names?.[0] ?? "127.0.0.1";
  return {
    url: `${scheme}://${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}:${port}/`,
    admission,
    async close() {
      engine.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      setTimeout(() => server.closeAllConnections(), CLOSE_WITHIN_MS);
      server.closeIdleConnections();
      await closed;
    },
  };
}

function methodOf({ method }: Record<string, unknown>): MethodName {
  if (typeof method === "string" && METHOD_NAMES.includes(method as MethodName) && !AT_A_TERMINAL.has(method)) {
    return method as MethodName;
  }
  throw new AgentCardsError("USAGE", "The dashboard has no such method");
}

async function listen(
  { host, port, tls }: HttpPlace,
  onError: DashboardOptions["onError"],
  handle: (request: Request) => Promise<Response>,
) {
  try {
    return await listenHttp({ port, host, tls, handle, onError: (error) => onError(messageOf(error)) });
  } catch (cause) {
    throw new AgentCardsError("USAGE", `Cannot listen on port ${port}: ${messageOf(cause)}`, {
      cause,
      hint: "Choose another with --port; 0 takes any.",
    });
  }
}
