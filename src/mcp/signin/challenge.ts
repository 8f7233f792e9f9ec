import type { ResolvedServer } from "../../config/mod.ts";
import { VERSION } from "../../platform/mod.ts";
import { boundedFetch } from "../bounded_fetch.ts";
import { createTraffic } from "../traffic.ts";
import { LONGEST_SCOPE } from "./provider.ts";
import type { Challenge } from "./token_file.ts";

const PROBE_MS = 15_000;
const LARGEST_ANSWER = 8 * 1_048_576;
const LONGEST_ADDRESS = 2_048;

/** The challenge in a response that refused a request. */
export async function challengeIn(response: Response): Promise<Challenge> {
  const { extractWWWAuthenticateParams } = await import("@modelcontextprotocol/client");
  const { scope, resourceMetadataUrl } = extractWWWAuthenticateParams(response);
  return challengeOf({ scope, metadata: resourceMetadataUrl?.href });
}

/** A server's words within bounds: they are kept until the sign-in. */
export function challengeOf(
  { scope, metadata }: { scope?: string | undefined; metadata?: string | undefined },
): Challenge {
  return {
    ...scope !== undefined && scope.length <= LONGEST_SCOPE && { scope },
    ...metadata !== undefined && metadata.length <= LONGEST_ADDRESS && { metadata },
  };
}

/**
 * Asks a server for its tools without any token, to hear what it wants of a sign-in; undefined where it answers. Some
 * servers shake hands with everybody and refuse what follows.
 */
export async function findChallenge(server: ResolvedServer, signal: AbortSignal): Promise<Challenge | undefined> {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const client = new Client({ name: "agentcards", version: VERSION }, {
    capabilities: {},
    versionNegotiation: { mode: "auto", probe: { timeoutMs: 5_000 } },
  });
  let challenge: Challenge | undefined;
  const transport = new StreamableHTTPClientTransport(new URL(server.url!), {
    fetch: boundedFetch(LARGEST_ANSWER, createTraffic(() => {})),
    ...server.headers && { requestInit: { headers: { ...server.headers } } },
    authProvider: {
      token: () => Promise.resolve(undefined),
      async onUnauthorized({ response }) {
        challenge = await challengeIn(response);
        throw new Error("it wants a sign-in");
      },
    },
  });
  const late = AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]);
  const leave = () => void transport.close().catch(() => {});
  late.addEventListener("abort", leave, { once: true });
  try {
    await client.connect(transport, { timeout: PROBE_MS });
    await client.request({ method: "tools/list" }, { timeout: PROBE_MS, signal: late });
  } catch {
    // What it wants is known, or the sign-in itself will tell what is wrong.
  } finally {
    late.removeEventListener("abort", leave);
    leave();
  }
  return challenge;
}
