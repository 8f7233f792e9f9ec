import { AgentCardsError } from "../../model/mod.ts";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A place on this machine to which the browser comes back, once. */
export interface Callback extends Disposable {
  /** The address that the authorization server sends the browser to. */
  readonly redirect: string;
  /** The parameters with which the browser comes. */
  readonly arrived: Promise<URLSearchParams>;
  /** Takes an address that a person has copied out of the browser; false if it is none of this sign-in. */
  take(address: string): boolean;
  /** Tells the browser what came of it. */
  answer(message: string): void;
}

export interface CallbackOptions {
  readonly state: string;
  /** The address that was registered for the client by hand; otherwise a new one is made. */
  readonly redirect?: string | undefined;
  /** The path that was registered, where any port will do. */
  readonly path?: string | undefined;
}

/**
 * Listens on 127.0.0.1 for one request: at a path and with a state that nobody else can know, under our own name. Other
 * requests get 404 and change nothing.
 */
export async function listenForCallback({ state, redirect, path: registered }: CallbackOptions): Promise<Callback> {
  const wanted = redirect === undefined ? undefined : new URL(redirect);
  const path = wanted?.pathname ?? registered ?? `/${crypto.getRandomValues(new Uint8Array(16)).toHex()}`;
  const arrival = Promise.withResolvers<URLSearchParams>();
  arrival.promise.catch(() => {});
  let waiting: ServerResponse | undefined;
  let isTaken = false;
  let origin = "";

  function takeUrl(url: URL | null): boolean {
    if (isTaken || url?.origin !== origin || url.pathname !== path || url.searchParams.get("state") !== state) {
      return false;
    }
    isTaken = true;
    arrival.resolve(url.searchParams);
    return true;
  }

  const server = createServer({ headersTimeout: 5_000, requestTimeout: 5_000 }, (request, response) => {
    const url = URL.parse(request.url ?? "", `http://${request.headers.host ?? ""}`);
    if (request.method !== "GET" || !takeUrl(url)) return void response.writeHead(404, HEADERS).end("Not found\n");
    waiting = response;
  });
  server.maxConnections = 20;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) =>
      reject(
        new AgentCardsError(
          "USAGE",
          `Cannot listen for the browser at ${wanted?.origin ?? "127.0.0.1"}: ${cause.message}`,
          {
            cause,
          },
        ),
      ));
    server.listen(Number(wanted?.port || 0), "127.0.0.1", resolve);
  });
  const host = wanted?.hostname ?? "127.0.0.1";
  origin = `http://${host}:${(server.address() as AddressInfo).port}`;
  const answer = (message: string) => {
    waiting?.writeHead(200, HEADERS).end(page(message));
    waiting = undefined;
  };
  return {
    redirect: wanted?.href ?? `${origin}${path}`,
    arrived: arrival.promise,
    take: (address) => takeUrl(URL.parse(address.trim())),
    answer,
    [Symbol.dispose]() {
      arrival.reject(new AgentCardsError("CANCELLED", "The sign-in was given up"));
      answer("The sign-in was given up.");
      server.close();
      server.closeIdleConnections();
    },
  };
}

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "connection": "close",
};

function page(message: string): string {
  const text = message.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
  return `<!doctype html><title>AgentCards</title><p>${text}</p><p>You can close this window.</p>\n`;
}
