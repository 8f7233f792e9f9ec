import type { ResolvedServer } from "../../config/mod.ts";
import { AgentCardsError, messageOf, oneLine } from "../../model/mod.ts";
import { guardedFetch, requireSafe } from "./addresses.ts";
import { listenForCallback } from "./callback.ts";
import { findChallenge } from "./challenge.ts";
import { byDevice, type DeviceCode } from "./device.ts";
import { CODE_GRANT, createAttempt } from "./provider.ts";
import type { Grant, TokenFile } from "./token_file.ts";

export interface SignInOptions {
  readonly file: TokenFile;
  readonly signal: AbortSignal;
  /** Shows the person the page where they sign in. `take`: takes the address at which a browser elsewhere has ended. */
  show(page: URL, take: (address: string) => boolean): void | Promise<void>;
}

export interface DeviceSignInOptions extends Pick<SignInOptions, "file" | "signal"> {
  show(code: DeviceCode): void;
}

const PATIENCE_MS = 10 * 60_000;

/** Lets a person sign in to a server with a browser, and keeps the tokens. */
export async function signIn(server: ResolvedServer, options: SignInOptions): Promise<Grant> {
  const { file, signal: given, show } = options;
  const signal = AbortSignal.any([given, AbortSignal.timeout(PATIENCE_MS)]);
  const serverUrl = requireRemote(server);
  const fetchFn = guardedFetch(serverUrl, signal);
  const asked = await challengeOf(server, { file, signal });
  const state = crypto.getRandomValues(new Uint8Array(32)).toHex();
  using callback = await listenForCallback({ state, ...placeOf(server) });
  const { auth, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const attempt = createAttempt(server, { grantType: CODE_GRANT, redirect: callback.redirect, state });
  try {
    await auth(attempt.provider, { serverUrl, ...asked, fetchFn, forceReauthorization: true });
    const page = attempt.page();
    if (!page) throw new Error("it named no page to sign in at");
    await requireSafe(page, serverUrl);
    await show(page, callback.take);
    const parameters = await arrival(callback.arrived, signal);
    // It compares the issuer before it reads anything else of the answer.
    const transport = new StreamableHTTPClientTransport(new URL(serverUrl), {
      authProvider: attempt.provider,
      fetch: fetchFn,
    });
    await transport.finishAuth(parameters);
    const grant = await keep(server, attempt.grant(Date.now()), file);
    callback.answer(`AgentCards is signed in to ${server.name}.`);
    return grant;
  } catch (error) {
    callback.answer(`AgentCards could not sign in to ${server.name}.`);
    throw failure(server.name, error, signal);
  }
}

/** Lets a person sign in by a code that they type on any device, where the authorization server offers that. */
export async function signInByDevice(server: ResolvedServer, options: DeviceSignInOptions): Promise<Grant> {
  const { file, signal: given, show } = options;
  const signal = AbortSignal.any([given, AbortSignal.timeout(PATIENCE_MS)]);
  const serverUrl = requireRemote(server);
  try {
    const asked = await challengeOf(server, { file, signal });
    const grant = await byDevice(server, { serverUrl, asked, signal, fetchFn: guardedFetch(serverUrl, signal), show });
    return await keep(server, grant, file);
  } catch (error) {
    throw failure(server.name, error, signal);
  }
}

/** The scopes that the next sign-in has to ask for: all that was granted and all that the server has refused a call for. */
async function challengeOf(server: ResolvedServer, { file, signal }: Pick<SignInOptions, "file" | "signal">) {
  const kept = file.find(keyOf(server));
  const found = await findChallenge(server, signal);
  const { computeScopeUnion } = await import("@modelcontextprotocol/client");
  const isStepUp = kept?.challenge?.scope !== undefined && kept.grant !== undefined;
  const scope = server.oauth?.scope !== undefined
    ? computeScopeUnion(server.oauth.scope, kept?.challenge?.scope)
    : computeScopeUnion(isStepUp ? kept.grant?.scope : undefined, found?.scope, kept?.challenge?.scope);
  const metadata = found?.metadata ?? kept?.challenge?.metadata;
  return {
    ...scope !== undefined && { scope },
    ...metadata !== undefined && { resourceMetadataUrl: new URL(metadata) },
  };
}

async function keep(server: ResolvedServer, grant: Grant, file: TokenFile): Promise<Grant> {
  await file.change(keyOf(server), () => ({ grant }));
  return grant;
}

async function arrival(arrived: Promise<URLSearchParams>, signal: AbortSignal): Promise<URLSearchParams> {
  const gone = Promise.withResolvers<never>();
  const leave = () => gone.reject(signal.reason);
  signal.addEventListener("abort", leave, { once: true });
  try {
    signal.throwIfAborted();
    return await Promise.race([arrived, gone.promise]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

export function keyOf({ name, url }: ResolvedServer): { name: string; url: string } {
  return { name, url: url! };
}

/** The place of the browser's return: that of a client that was registered by hand does not change with each sign-in. */
function placeOf({ oauth = {} }: ResolvedServer): { redirect?: string | undefined; path?: string | undefined } {
  return { redirect: oauth.redirect_uri, path: oauth.client_id === undefined ? undefined : "/callback" };
}

/** The address of a server that one can sign in to. */
function requireRemote({ name, url }: ResolvedServer): string {
  if (url !== undefined && URL.parse(url)) return url;
  throw new AgentCardsError(
    "USAGE",
    `Cannot sign in to "${name}": it is a program on this machine, not a remote server`,
  );
}

/** The words of the SDK and of the server, without what only an attacker wants to be read. */
function failure(name: string, error: unknown, signal: AbortSignal): AgentCardsError {
  if (signal.aborted) {
    return new AgentCardsError("CANCELLED", `The sign-in to server "${name}" was given up`, {
      hint: `Try again: agentcards login ${name}`,
    });
  }
  if (error instanceof AgentCardsError && error.code !== "SERVER_UNREACHABLE") return error;
  const reason = oneLine(messageOf(error), 300);
  const hint = /dynamic client registration/.test(reason)
    ? `Register a client with the provider, and set servers.${name}.oauth.client_id in config.yaml.`
    : undefined;
  return new AgentCardsError("SERVER_UNREACHABLE", `Cannot sign in to server "${name}": ${reason}`, {
    cause: error,
    ...hint && { hint },
  });
}
