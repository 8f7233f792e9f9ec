/** The prefix of the keys that the protocol itself puts into metadata. */
export const META = "io.modelcontextprotocol/";
/** The revision whose requests carry all that a server has to know of their client. */
export const STATELESS_REVISION = "2026-07-28";

/** True if a request is of the stateless revision: its metadata name the revision. */
export function isStateless(meta: Readonly<Record<string, unknown>>): boolean {
  return `${META}protocolVersion` in meta;
}
