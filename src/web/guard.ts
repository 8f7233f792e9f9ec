import { isIP } from "node:net";

/** Headers of every response: nothing inline, nothing from elsewhere, in no frame, kept by no cache. */
export const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'",
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

/** Where the dashboard is reached. */
export interface OwnAddress {
  readonly scheme: "http" | "https";
  /** The port, known once the server listens. */
  readonly port: () => number;
  /** Names besides those of this machine. */
  readonly names: readonly string[];
}

const LOCAL = ["127.0.0.1", "localhost", "[::1]"];

/**
 * Refuses a request that did not reach us under our own name and port, or that comes from a page of another origin: a
 * name that was rebound to this machine, another local server, a form elsewhere.
 */
export function createAddressGuard({ scheme, port, names }: OwnAddress): (request: Request) => Response | undefined {
  const hosts = [...LOCAL, ...names.map((name) => isIP(name) === 6 ? `[${name}]` : name.toLowerCase())];
  return ({ headers, method }) => {
    const authorities = hosts.map((host) => `${host}:${port()}`);
    const usual = scheme === "https" ? 443 : 80;
    if (port() === usual) authorities.push(...hosts);
    const host = headers.get("host")?.toLowerCase();
    if (host === undefined || !authorities.includes(host)) return refusal(421, "This is not the name of the dashboard");
    const origin = headers.get("origin")?.toLowerCase();
    if (origin !== undefined && origin !== `${scheme}://${host}`) return refusal(403, "Another page may not ask");
    const site = headers.get("sec-fetch-site");
    if (method !== "GET" && (origin === undefined || (site !== null && site !== "same-origin"))) {
      return refusal(403, "Only the dashboard's own page may ask");
    }
    return undefined;
  };
}

/** A response that says why there is none. */
export function refusal(status: number, message: string): Response {
  return Response.json({ error: { code: "REFUSED", message } }, { status });
}
