import type { ResolvedServer } from "../../config/mod.ts";
import { AgentCardsError, messageOf, oneLine } from "../../model/mod.ts";
import type { AuthProvider } from "@modelcontextprotocol/client";
import { type Fetch, guardedFetch } from "./addresses.ts";
import { challengeIn, challengeOf } from "./challenge.ts";
import { tokensAsKept } from "./provider.ts";
import { keyOf } from "./sign_in.ts";
import type { Challenge, Grant, TokenFile } from "./token_file.ts";

/** Gives the requests of one connection their tokens. */
export interface Authorizer {
  readonly provider: AuthProvider;
  /** A `fetch` that remembers with which token each request was sent. */
  watch(fetch: Fetch): Fetch;
  /** The error of a request that was refused for lack of a sign-in or of a right; undefined for any other failure. */
  refusal(error: unknown): Promise<AgentCardsError | undefined>;
  /** The server has answered: it waits for no sign-in. */
  accepted(): Promise<void>;
}

/** True for a server that one can sign in to: a remote one whose definition has no credential of its own. */
export function canSignIn({ url, headers = {} }: Pick<ResolvedServer, "url" | "headers">): boolean {
  return url !== undefined && !Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
}

/** The error of a call that a sign-in lets go on. */
export function signInNeeded(name: string, why = ""): AgentCardsError {
  return new AgentCardsError("SIGN_IN_NEEDED", `Server "${name}" needs a sign-in${why}: agentcards login ${name}`, {
    data: { server: name, isUnsent: true },
  });
}

/** A token is renewed so long before its end, or for the last tenth of its life. */
const EARLY_MS = 60_000;
const EARLY_SHARE = 0.1;

/** Tokens for one connection to a server: from the file, renewed before they end, once for all who need them. */
export function createAuthorizer(server: ResolvedServer, file: TokenFile): Authorizer {
  const key = keyOf(server);
  const used = new WeakMap<Response, string>();
  // Many calls may be refused at once; the file is written for the first.
  const noteChallenge = (challenge: Challenge) =>
    file.change(key, (before) => sameChallenge(before?.challenge, challenge) ? before : { ...before, challenge });

  /** The token to send now; undefined where there is none. */
  async function current(): Promise<string | undefined> {
    const grant = file.find(key)?.grant;
    if (!grant || !isEnding(grant) || grant.refresh === undefined) return grant?.access;
    return (await renewed(server, file)).access;
  }

  return {
    provider: {
      token: current,
      async onUnauthorized({ response }) {
        const refused = used.get(response);
        const grant = file.find(key)?.grant;
        // Somebody else has renewed it, or has signed in, while this request was under way.
        if (grant && grant.access !== refused) return;
        if (grant?.refresh !== undefined) return void await renewed(server, file, refused);
        await noteChallenge(await challengeIn(response));
        throw signInNeeded(server.name);
      },
    },
    watch: (fetch) => async (url, init) => {
      const response = await fetch(url, init);
      const token = /^Bearer (.+)$/.exec(new Headers(init?.headers).get("authorization") ?? "")?.[1];
      if (token !== undefined) used.set(response, token);
      return response;
    },
    async refusal(error) {
      if (error instanceof AgentCardsError) return error.code === "SIGN_IN_NEEDED" ? error : undefined;
      const { InsufficientScopeError } = await import("@modelcontextprotocol/client");
      if (error instanceof InsufficientScopeError) {
        const { requiredScope, resourceMetadataUrl } = error;
        await noteChallenge(challengeOf({ scope: requiredScope, metadata: resourceMetadataUrl?.href }));
        return signInNeeded(server.name, requiredScope === undefined ? "" : ` with ${oneLine(requiredScope, 100)}`);
      }
      if (
        (error as { status?: unknown }).status !== 401 &&
        (error as { data?: { status?: unknown } }).data?.status !== 401
      ) {
        return undefined;
      }
      // A token that was just renewed is refused as well.
      await noteChallenge({});
      return signInNeeded(server.name);
    },
    async accepted() {
      const { challenge, grant } = file.find(key) ?? {};
      // One that wants more rights for some calls answers the others.
      if (challenge && !(challenge.scope !== undefined && grant)) {
        await file.change(key, (before) => before?.challenge ? { ...before.grant && { grant: before.grant } } : before);
      }
    },
  };
}

function sameChallenge(one: Challenge | undefined, other: Challenge): boolean {
  return one !== undefined && one.scope === other.scope && one.metadata === other.metadata;
}

function isEnding({ since, until }: Grant, now = Date.now()): boolean {
  return until !== undefined && now > until - Math.min(EARLY_MS, (until - since) * EARLY_SHARE);
}

/**
 * Renews a server's tokens, unless that has happened meanwhile. Of all connections, windows and processes that need them
 * one does it, and the others wait for it.
 */
async function renewed(server: ResolvedServer, file: TokenFile, refused?: string): Promise<Grant> {
  const key = keyOf(server);
  return await file.alone(key, async () => {
    const grant = file.find(key)?.grant;
    if (grant && grant.access !== refused && !isEnding(grant)) return grant;
    if (grant?.refresh === undefined) throw signInNeeded(server.name);
    try {
      const next = await refreshed(server, grant, grant.refresh);
      await file.change(key, (before) => ({ ...before, grant: next }));
      return next;
    } catch (error) {
      if (await isOver(error)) {
        await file.change(key, () => ({ challenge: grant.scope === undefined ? {} : { scope: grant.scope } }));
        throw signInNeeded(server.name, ", since the last one has ended");
      }
      // Early, the token still holds.
      if (grant.access !== refused && (grant.until ?? 0) > Date.now()) return grant;
      const reason = oneLine(messageOf(error), 300);
      throw new AgentCardsError(
        "SERVER_UNREACHABLE",
        `Cannot renew the sign-in to server "${server.name}": ${reason}`,
        {
          cause: error,
          hint: `Nothing was sent. If it stays so: agentcards login ${server.name}`,
          data: { isUnsent: true },
        },
      );
    }
  });
}

async function refreshed({ name, url }: ResolvedServer, grant: Grant, refresh: string): Promise<Grant> {
  const { issuer, metadata, client, resource, scope } = grant;
  const { refreshAuthorization } = await import("@modelcontextprotocol/client");
  const tokens = await refreshAuthorization(issuer, {
    ...metadata && { metadata },
    clientInformation: client,
    refreshToken: refresh,
    ...resource !== undefined && { resource },
    fetchFn: guardedFetch(url!),
  });
  const kept = tokensAsKept(name, tokens, Date.now());
  // A server that does not repeat them means that they are as before.
  return {
    issuer,
    client,
    ...metadata && { metadata },
    ...resource !== undefined && { resource },
    ...scope !== undefined && { scope },
    ...kept,
  };
}

/** True for an answer by which the authorization server says that the sign-in is over. */
async function isOver(error: unknown): Promise<boolean> {
  const { OAuthError } = await import("@modelcontextprotocol/client");
  return error instanceof OAuthError &&
    ["invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope"].includes(String(error.code));
}
