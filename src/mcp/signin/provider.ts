import type { ResolvedServer } from "../../config/mod.ts";
import { AgentCardsError } from "../../model/mod.ts";
import type {
  AuthorizationServerMetadata,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  OAuthTokens,
  StoredOAuthClientInformation,
} from "@modelcontextprotocol/client";
import type { Grant } from "./token_file.ts";

export const CODE_GRANT = "authorization_code";
export const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

/** The facts that the SDK learns in the course of one sign-in. Nothing of it is kept before the sign-in has succeeded. */
export interface Attempt {
  readonly provider: OAuthClientProvider;
  /** The page where the person signs in, once it is known. */
  page(): URL | undefined;
  /** All that was learned, as it is kept. */
  grant(now: number): Grant;
}

export interface AttemptOptions {
  readonly grantType: typeof CODE_GRANT | typeof DEVICE_GRANT;
  /** The address that the browser comes back to. */
  readonly redirect: string;
  readonly state: string;
}

/** A client's side of one sign-in to a server, in the form that the SDK's helpers take. */
export function createAttempt({ name, oauth = {} }: ResolvedServer, options: AttemptOptions): Attempt {
  const { grantType, redirect, state } = options;
  const { client_id, client_secret, issuer, scope } = oauth;
  // An https address is a document about the client: it is the client's name where the server takes such documents.
  const isDocument = client_id !== undefined && URL.parse(client_id)?.protocol === "https:";
  const isRegistered = client_id !== undefined && !isDocument;
  let client: StoredOAuthClientInformation | undefined = isRegistered
    ? { client_id, ...client_secret && { client_secret }, ...issuer && { issuer } }
    : undefined;
  let [page, verifier, tokens, discovery, resource] = [
    undefined as URL | undefined,
    undefined as string | undefined,
    undefined as (OAuthTokens & { issuer?: string }) | undefined,
    undefined as OAuthDiscoveryState | undefined,
    undefined as string | undefined,
  ];
  const clientMetadata: OAuthClientMetadata = {
    client_name: "AgentCards",
    redirect_uris: [redirect],
    grant_types: [grantType, "refresh_token"],
    response_types: grantType === CODE_GRANT ? ["code"] : [],
    token_endpoint_auth_method: "none",
    application_type: "native",
    ...scope && { scope },
  };
  const provider: OAuthClientProvider = {
    get redirectUrl() {
      return redirect;
    },
    clientMetadata,
    ...isDocument && { clientMetadataUrl: client_id },
    state: () => state,
    clientInformation: () => client,
    // Without it the SDK refuses to tell a client that was registered by hand to another authorization server.
    ...!isRegistered && {
      saveClientInformation: (given: StoredOAuthClientInformation) => void (client = given),
    },
    tokens: () => undefined,
    saveTokens: (given) => void (tokens = given),
    redirectToAuthorization: (url) => void (page = url),
    saveCodeVerifier: (given) => void (verifier = given),
    codeVerifier: () => verifier!,
    discoveryState: () => discovery,
    saveDiscoveryState: (given) => void (discovery = given),
    saveResourceUrl: (given) => void (resource = given),
  };
  return {
    provider,
    page: () => page,
    grant(now) {
      if (!tokens || !client || !discovery) throw new TypeError("The sign-in has not come to its end");
      const metadata = discovery.authorizationServerMetadata;
      return {
        ...tokensAsKept(name, tokens, now),
        issuer: metadata?.issuer ?? discovery.authorizationServerUrl,
        ...metadata && { metadata: neededOf(metadata) },
        client,
        ...resource !== undefined && { resource },
      };
    },
  };
}

/** A hostile server must not make each call renew its token. */
const SHORTEST_LIFE_S = 30;
const LONGEST_LIFE_S = 10 * 365 * 86_400;
/** The tokens that can stand in a header and in a file. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/;

/** Tokens as they are kept; refused where they are none. */
export function tokensAsKept(server: string, tokens: OAuthTokens, now: number) {
  const { access_token: access, refresh_token: refresh, scope, expires_in, token_type } = tokens;
  const refuse = (why: string) =>
    new AgentCardsError("SERVER_UNREACHABLE", `The sign-in to server "${server}" gave ${why}`);
  if (!/^bearer$/i.test(token_type)) throw refuse("a token of a kind that is not supported");
  if (!TOKEN.test(access) || refresh !== undefined && !TOKEN.test(refresh)) throw refuse("what is no token");
  const life = expires_in === undefined || !Number.isFinite(expires_in)
    ? undefined
    : Math.min(Math.max(expires_in, SHORTEST_LIFE_S), LONGEST_LIFE_S);
  return {
    access,
    ...refresh !== undefined && { refresh },
    ...scope !== undefined && { scope: scope.slice(0, LONGEST_SCOPE) },
    since: now,
    ...life !== undefined && { until: now + life * 1_000 },
  };
}

export const LONGEST_SCOPE = 4_096;

/** The part of a server's metadata that renewing and revoking its tokens takes. */
function neededOf(metadata: AuthorizationServerMetadata): AuthorizationServerMetadata {
  const { issuer, authorization_endpoint, token_endpoint, response_types_supported } = metadata;
  const { token_endpoint_auth_methods_supported } = metadata;
  const { revocation_endpoint } = metadata as { revocation_endpoint?: unknown };
  return {
    issuer,
    authorization_endpoint,
    token_endpoint,
    response_types_supported,
    ...token_endpoint_auth_methods_supported && { token_endpoint_auth_methods_supported },
    ...typeof revocation_endpoint === "string" && { revocation_endpoint },
  } as AuthorizationServerMetadata;
}
