import { AgentCardsError, oneLine } from "../../model/mod.ts";
import { untraced } from "../../telemetry/mod.ts";
import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { boundTotal } from "../bounded_fetch.ts";

/** Metadata, registrations and tokens are small. */
const LARGEST_BODY = 256 * 1024;
const PATIENCE_MS = 10_000;
const LONGEST_ADDRESS = 8_192;

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * `fetch` for the addresses that a remote server names for its sign-in. They are hostile: only https, or this machine's
 * own address; a public server sends nobody into a private network; answers have bounds in size and time. The SDK
 * follows a redirect within one origin only, and each step comes through here.
 */
export function guardedFetch(server: string, signal?: AbortSignal): Fetch {
  return async (url, init) => {
    const address = new URL(url);
    await requireSafe(address, server);
    const late = AbortSignal.any([
      AbortSignal.timeout(PATIENCE_MS),
      ...signal ? [signal] : [],
      ...init?.signal ? [init.signal] : [],
    ]);
    const redirect = init?.redirect === "manual" ? "manual" : "error";
    const response = await untraced(() => fetch(address, { ...init, redirect, signal: late }));
    if (!response.body) return response;
    return new Response(response.body.pipeThrough(boundTotal(LARGEST_BODY), { signal: late }), response);
  };
}

/** Refuses an address that a server must not send us, or its user, to. */
export async function requireSafe(address: URL, server: string): Promise<void> {
  const refuse = (why: string) =>
    new AgentCardsError("SERVER_UNREACHABLE", `The sign-in names ${oneLine(address.origin, 200)}, which ${why}`);
  if (address.href.length > LONGEST_ADDRESS) throw refuse("has too long an address");
  if (address.username || address.password) throw refuse("has a name or password in its address");
  if (address.protocol !== "https:" && !(address.protocol === "http:" && isLoopback(address))) {
    throw refuse("is neither https nor on this machine");
  }
  if (await isPrivate(address) && !await isPrivate(new URL(server))) {
    throw refuse("is in a private network, though the server itself is not");
  }
}

/** True for the names and addresses of this machine itself. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/** True if a host is, or leads to, an address that is not public. One that cannot be looked up leads nowhere. */
async function isPrivate(address: URL): Promise<boolean> {
  if (isLoopback(address)) return true;
  const host = address.hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(host)) return isPrivateIp(host);
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.some(({ address }) => isPrivateIp(address));
}

/** Addresses without a place in the public network: private, link-local, shared, reserved, multicast. */
const NOT_PUBLIC_V4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const;

/**
 * The same, with those that carry an address of the older protocol in them. Those that only map one (`::ffff:…`) are
 * compared with the list above by themselves.
 */
const NOT_PUBLIC_V6 = [
  ["::", 96],
  ["64:ff9b::", 96],
  ["64:ff9b:1::", 48],
  ["100::", 64],
  ["2001::", 32],
  ["2002::", 16],
  ["fc00::", 7],
  ["fe80::", 10],
  ["ff00::", 8],
] as const;

const notPublic = new BlockList();
for (const [net, prefix] of NOT_PUBLIC_V4) notPublic.addSubnet(net, prefix, "ipv4");
for (const [net, prefix] of NOT_PUBLIC_V6) notPublic.addSubnet(net, prefix, "ipv6");

/** True for an address that is not public. */
export function isPrivateIp(ip: string): boolean {
  return notPublic.check(ip, isIP(ip) === 6 ? "ipv6" : "ipv4");
}
