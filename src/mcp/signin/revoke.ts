import type { ResolvedServer } from "../../config/mod.ts";
import { guardedFetch } from "./addresses.ts";
import { keyOf } from "./sign_in.ts";
import type { TokenFile } from "./token_file.ts";

/** The end of the tokens at the authorization server. */
export type Revoked = "revoked" | "not offered" | "failed";

/** Forgets the tokens of a server, and tells its authorization server so (RFC 7009); undefined where there were none. */
export async function signOut(server: ResolvedServer, file: TokenFile): Promise<Revoked | undefined> {
  const key = keyOf(server);
  return await file.alone(key, async () => {
    const grant = file.find(key)?.grant;
    // First of all, they are gone here.
    await file.change(key, () => undefined);
    if (!grant) return undefined;
    const { metadata, client, access, refresh } = grant;
    const endpoint = (metadata as Record<string, unknown> | undefined)?.revocation_endpoint;
    if (typeof endpoint !== "string") return "not offered";
    const { client_id, client_secret } = client;
    const fetchFn = guardedFetch(server.url!);
    try {
      for (const [hint, token] of [["refresh_token", refresh], ["access_token", access]] as const) {
        if (token === undefined) continue;
        const response = await fetchFn(endpoint, {
          method: "POST",
          headers: { "content-type": "application/x-www-form-urlencoded" },
          body: new URLSearchParams({
            token,
            token_type_hint: hint,
            client_id,
            ...client_secret !== undefined && { client_secret },
          }),
        });
        await response.body?.cancel();
        if (!response.ok) return "failed";
      }
      return "revoked";
    } catch {
      return "failed";
    }
  });
}
