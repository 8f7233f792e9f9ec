import type { ResolvedServer } from "../../config/mod.ts";
import { AgentCardsError, isObject, oneLine } from "../../model/mod.ts";
import { type Fetch, requireSafe } from "./addresses.ts";
import { createAttempt, DEVICE_GRANT } from "./provider.ts";
import type { Grant } from "./token_file.ts";

/** The code that a person types, and the address of the page. */
export interface DeviceCode {
  readonly code: string;
  readonly page: URL;
  /** The same page with the code in it. */
  readonly whole?: URL;
}

export interface DeviceOptions {
  readonly serverUrl: string;
  readonly asked: { readonly scope?: string; readonly resourceMetadataUrl?: URL };
  readonly signal: AbortSignal;
  readonly fetchFn: Fetch;
  show(code: DeviceCode): void;
}

const FIRST_PAUSE_S = 5;
const SLOWER_S = 5;
const LONGEST_PAUSE_S = 60;

/** The device grant (RFC 8628): the SDK finds the server, registers the client and asks for tokens. */
export async function byDevice(server: ResolvedServer, options: DeviceOptions): Promise<Grant> {
  const { serverUrl, asked, signal, fetchFn, show } = options;
  const sdk = await import("@modelcontextprotocol/client");
  const attempt = createAttempt(server, { grantType: DEVICE_GRANT, redirect: NO_REDIRECT, state: "" });
  const { provider } = attempt;
  const found = await sdk.discoverOAuthServerInfo(serverUrl, {
    ...asked.resourceMetadataUrl && { resourceMetadataUrl: asked.resourceMetadataUrl },
    fetchFn,
  });
  const { authorizationServerUrl, authorizationServerMetadata: metadata, resourceMetadata } = found;
  await provider.saveDiscoveryState!({
    authorizationServerUrl,
    ...metadata && { authorizationServerMetadata: metadata },
  });
  const endpoint = (metadata as Record<string, unknown> | undefined)?.device_authorization_endpoint;
  if (typeof endpoint !== "string") {
    throw new AgentCardsError("USAGE", `Cannot sign in to server "${server.name}" by a code: it does not offer that`, {
      hint: `Sign in with a browser: agentcards login ${server.name}`,
    });
  }
  const resource = resourceMetadata && await sdk.selectResourceURL(serverUrl, provider, resourceMetadata)
    ? resourceMetadata.resource
    : undefined;
  if (resource !== undefined) await provider.saveResourceUrl!(resource);
  const scope = asked.scope ?? resourceMetadata?.scopes_supported?.join(" ");
  const issuer = metadata!.issuer;
  await registered();
  const device = await begin();
  show(device.shown);
  await poll(device);
  return attempt.grant(Date.now());

  async function registered(): Promise<void> {
    if (await provider.clientInformation()) return;
    const document = provider.clientMetadataUrl;
    const takesDocuments = (metadata as Record<string, unknown>).client_id_metadata_document_supported === true;
    const client = document !== undefined && takesDocuments ? { client_id: document } : await sdk.registerClient(
      authorizationServerUrl,
      { metadata: metadata!, clientMetadata: provider.clientMetadata, ...scope && { scope }, fetchFn },
    );
    await provider.saveClientInformation!({ ...client, issuer });
  }

  async function begin() {
    const { client_id } = (await provider.clientInformation())!;
    const body = new URLSearchParams({ client_id, ...scope && { scope }, ...resource && { resource } });
    const response = await fetchFn(endpoint as string, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
      body,
    });
    const said: unknown = await response.json().catch(() => undefined);
    const { device_code, user_code, verification_uri, verification_uri_complete, interval, expires_in } = isObject(said)
      ? said
      : {};
    const page = typeof verification_uri === "string" ? URL.parse(verification_uri) : null;
    if (!response.ok || typeof device_code !== "string" || typeof user_code !== "string" || !page) {
      throw new Error(`it gave no code (status ${response.status})`);
    }
    await requireSafe(page, serverUrl);
    const whole = typeof verification_uri_complete === "string" ? URL.parse(verification_uri_complete) : null;
    if (whole) await requireSafe(whole, serverUrl);
    return {
      device_code,
      shown: { code: oneLine(user_code, 60), page, ...whole && { whole } },
      pauseS: seconds(interval, FIRST_PAUSE_S),
      until: performance.now() + seconds(expires_in, 600) * 1_000,
    };
  }

  async function poll({ device_code, pauseS, until }: Awaited<ReturnType<typeof begin>>): Promise<void> {
    const asking = {
      ...provider,
      clientInformation: provider.clientInformation,
      prepareTokenRequest: () => new URLSearchParams({ grant_type: DEVICE_GRANT, device_code }),
    };
    for (let pause = pauseS; performance.now() < until;) {
      await later(pause * 1_000, signal);
      try {
        const tokens = await sdk.fetchToken(asking, authorizationServerUrl, {
          metadata: metadata!,
          ...resource !== undefined && { resource },
          fetchFn,
        });
        return await provider.saveTokens(tokens);
      } catch (error) {
        const code = error instanceof sdk.OAuthError ? String(error.code) : undefined;
        if (code === "slow_down") pause = Math.min(pause + SLOWER_S, LONGEST_PAUSE_S);
        else if (code !== "authorization_pending") throw error;
      }
    }
    throw new Error("nobody typed the code in time");
  }
}

/** A client that is registered has to name an address; no browser comes back to this one. */
const NO_REDIRECT = "http://127.0.0.1/";

/** A number of seconds that a server names, within reason. */
function seconds(value: unknown, otherwise: number): number {
  return typeof value === "number" && value >= 0 && value <= 3_600 ? value : otherwise;
}

async function later(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const leave = () => (clearTimeout(timer), reject(signal.reason));
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", leave);
      resolve();
    }, ms);
    signal.addEventListener("abort", leave, { once: true });
  });
}
