import { sha256 } from "../../model/mod.ts";
import { timingSafeEqual } from "node:crypto";
import {
  hostHeaderValidationResponse,
  isJsonContentType,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from "@modelcontextprotocol/server";

/** The one address that is served. */
export const PATH = "/mcp";

const METHODS = ["GET", "POST", "DELETE"];

export type Guard = (request: Request) => Promise<Response | undefined>;

/**
 * Whom we talk to at all: somebody who reached us under our own name, not through a page of somebody else's, and who
 * knows the token. Every route, the ones that are not there too. `names`: how we are called besides this machine's own
 * names.
 */
export async function createGuard(token: string, names: readonly string[] = []): Promise<Guard> {
  const expected = await digest(token);
  const hosts = [...localhostAllowedHostnames(), ...names];
  const origins = [...localhostAllowedOrigins(), ...names];
  return async (request) => {
    const foreign = hostHeaderValidationResponse(request, hosts) ??
      originValidationResponse(request, origins);
    if (foreign) return foreign;
    if (request.headers.has("upgrade")) return refusal(403, "There is nothing to upgrade to");
    if (new URL(request.url).pathname !== PATH) return refusal(404, `There is only ${PATH}`);
    const given = /^Bearer ([^\s]+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
    // Of equal length whatever was sent, and compared in the same time.
    if (given === undefined || !timingSafeEqual(await digest(given), expected)) {
      return refusal(401, "The token is missing or wrong", { "www-authenticate": 'Bearer realm="agentcards"' });
    }
    if (!METHODS.includes(request.method)) return refusal(405, "Method not allowed", { allow: METHODS.join(", ") });
    if (request.method !== "POST") return undefined;
    if (!isJsonContentType(request.headers.get("content-type"))) {
      return refusal(415, "Content-Type must be application/json");
    }
    const encoding = request.headers.get("content-encoding") ?? "identity";
    if (encoding !== "identity") return refusal(415, "Compressed bodies are not taken");
  };
}

async function digest(text: string): Promise<Uint8Array> {
  return new TextEncoder().encode(await sha256(text));
}

/** An answer that is no answer of the protocol's, in the form that its clients expect. */
export function refusal(status: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error: { code: -32000, message } }, { status, headers });
}
