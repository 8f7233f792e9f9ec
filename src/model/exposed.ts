import { createHash } from "node:crypto";

/** The longest name that every client takes. */
const MAX_NAME = 64;
const HASH_LENGTH = 10;
const SCHEME = "agentcards://";

/**
 * What a client sees a server's tool or prompt as: `server__name`. Never the same for two, whatever else there is: where
 * the plain form is too long, holds characters that clients refuse or could be read in two ways, a hash stands at its end.
 */
export function exposedName(server: string, name: string): string {
  const plain = `${server}__${name}`;
  const isClear = !server.includes("__") && !server.endsWith("_") && !/_[0-9a-f]{10}$/.test(plain);
  if (isClear && plain.length <= MAX_NAME && /^[A-Za-z0-9_-]+$/.test(plain)) return plain;
  const hash = createHash("sha256").update(JSON.stringify([server, name])).digest("hex").slice(0, HASH_LENGTH);
  const clean = plain.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_NAME - HASH_LENGTH - 1);
  return `${clean}_${hash}`;
}

/** True if a name that a client sees can be that of one of a server's tools. */
export function mayBeOf(seen: string, server: string): boolean {
  return seen.startsWith(`${server}__`.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_NAME - HASH_LENGTH - 1));
}

/** The URI under which a client sees a server's resource; templates stay templates. */
export function exposedUri(server: string, uri: string): string {
  return `${SCHEME}${server}/${uri}`;
}

/** The server and its own URI, if a URI is one of those above. */
export function exposedUriParts(uri: string): { server: string; uri: string } | undefined {
  const slash = uri.indexOf("/", SCHEME.length);
  if (!uri.startsWith(SCHEME) || slash < 0) return undefined;
  return { server: uri.slice(SCHEME.length, slash), uri: uri.slice(slash + 1) };
}
