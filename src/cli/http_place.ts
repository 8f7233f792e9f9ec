import { type Home, readableByOthers } from "../config/mod.ts";
import { AgentCardsError, messageOf } from "../model/mod.ts";
import { replaceFile } from "../platform/mod.ts";
import { fs } from "../platform/start.ts";
import type { HttpPlace } from "../serve/mod.ts";
import { isIP } from "node:net";

export interface PlaceOptions {
  readonly port: number;
  readonly host?: string | undefined;
  readonly name?: readonly string[] | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly behindProxy?: boolean | undefined;
}

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/;
const EVERY = new Set(["0.0.0.0", "::"]);
const NAME = /^[\w.-]{1,253}$/;

/** Where an endpoint is to listen. On an address that others reach, nothing goes over the network in the clear. */
export async function placeOf(options: PlaceOptions): Promise<HttpPlace> {
  const { port, host, name: names = [], cert, key, behindProxy = false } = options;
  const refuse = (message: string, hint: string) => new AgentCardsError("USAGE", message, { hint });
  if ((cert === undefined) !== (key === undefined)) {
    throw refuse("--cert and --key belong together", "Both are PEM files.");
  }
  if (host !== undefined && host !== "localhost" && !isIP(host)) {
    throw refuse(
      `Cannot listen on "${host}": it is no address`,
      "--host is an IP address such as 0.0.0.0; --name says how clients call it.",
    );
  }
  const wrong = names.find((one) => !NAME.test(one));
  if (wrong !== undefined) throw refuse(`"${wrong}" is no name of a host`, "Give it without scheme and port.");
  if (isOpen(host) && cert === undefined && !behindProxy) {
    throw refuse(
      `Cannot listen on ${host}: the token and all answers would go over the network in the clear`,
      "Add --cert FILE and --key FILE, or --behind-proxy where a proxy in front of it does TLS.",
    );
  }
  const own = host === undefined || EVERY.has(host) ? [] : [isIP(host) === 6 ? `[${host}]` : host];
  return {
    port,
    ...host !== undefined && { host },
    names: [...names, ...own],
    ...cert !== undefined && { tls: { cert: await read(cert), key: await read(key!) } },
  };
}

/** True for an address that other machines may reach. */
function isOpen(host: string | undefined): boolean {
  return host !== undefined && !LOOPBACK.test(host);
}

async function read(path: string): Promise<string> {
  try {
    return await fs.readTextFile(path);
  } catch (cause) {
    throw new AgentCardsError("USAGE", `Cannot read ${path}: ${messageOf(cause)}`, { cause });
  }
}

const TOKEN = /^\S{32,}$/;

/**
 * The secret that clients must know. For this machine it is made once; whoever opens an endpoint to others has to have one
 * that nobody else can read.
 */
export async function httpToken(home: Home, { host }: Pick<HttpPlace, "host">): Promise<string> {
  const kept = (await fs.readTextFile(home.httpToken).catch(() => "")).trim();
  const isExposed = isOpen(host) && (await readableByOthers([home.httpToken])).length > 0;
  if (TOKEN.test(kept) && !isExposed) return kept;
  if (isOpen(host)) {
    const why = isExposed ? "can be read by others" : "holds no token of 32 characters or more";
    throw new AgentCardsError("USAGE", `Cannot listen on ${host}: ${home.httpToken} ${why}`, {
      hint: isExposed
        ? `Run: chmod 600 '${home.httpToken}'`
        : `Make one: (umask 077; openssl rand -hex 32 > '${home.httpToken}')`,
    });
  }
  const token = crypto.getRandomValues(new Uint8Array(32)).toHex();
  await replaceFile(home.httpToken, `${token}\n`, { mode: 0o600 });
  return token;
}
