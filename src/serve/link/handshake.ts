import { CLIENT_NAME, isObject } from "../../model/start.ts";

/** The first line on the engine's socket, in both directions; raised when its meaning changes. */
export const PROTOCOL = 2;
/** The first version of it that an engine still understands: there the client sends its whole environment unasked. */
export const OLDEST_PROTOCOL = 1;

/** True if an engine understands a client that speaks this version. */
export function isSpoken(protocol: number): boolean {
  return protocol >= OLDEST_PROTOCOL && protocol <= PROTOCOL;
}

/** True if a version of AgentCards comes after another one. */
export function isNewer(version: string, other: string): boolean {
  const [left, right] = [version, other].map((text) => text.split(/[.+-]/).map(Number));
  const at = left!.findIndex((part, index) => part !== right![index]);
  return at >= 0 && !(left![at]! < right![at]!);
}

/** The first line of a client of the engine. */
export interface Hello {
  readonly agentcards: number;
  readonly version: string;
  readonly kind: "mcp" | "control";
  readonly cwd: string;
  /** Harmless variables; for others the engine asks by name (`variables.ts`). */
  readonly env: Readonly<Record<string, string>>;
  /** The client, as `serve --client` names it: it sees the servers that are for it. */
  readonly client?: string;
  /** True if each message is to say which request it belongs to. */
  readonly tellsRelated?: boolean;
  /** True if it carries the requests of many clients. */
  readonly isCrowd?: boolean;
  /**
   * The name of the client's connection: the same in every hello of one `serve`, so that the next engine can tell which
   * requests it has heard of. Whoever says it sends an `Again` as the line after the hello.
   */
  readonly connection?: string;
}

/**
 * The second line of a `serve` that named its connection, sent always and once, before any frame of the client, so that
 * no frame of a client can be taken for it. It lists the ids of requests that an engine before this one was sent and did
 * not answer; their frames follow as they were. An engine whose welcome does not say `takesAgain` gets no such line.
 */
export interface Again {
  readonly again: readonly (string | number)[];
}

/** The engine's answer to a hello. */
export interface Welcome {
  readonly agentcards: number;
  readonly version: string;
  readonly pid: number;
  /** The engine is of another version and idle: it leaves now, so that the caller can start its own. */
  readonly leaving?: boolean;
  /** True if it takes requests again that an engine before it was sent. Older versions do not say so. */
  readonly takesAgain?: boolean;
  /** The identity of the lock that the engine holds: a copied lock file leads to the engine of another home. */
  readonly lock?: string;
  readonly error?: string;
}

export function isHello(value: unknown): value is Hello {
  return isObject(value) && typeof value.agentcards === "number" && typeof value.version === "string" &&
    (value.kind === "mcp" || value.kind === "control") && typeof value.cwd === "string" && isObject(value.env) &&
    (value.connection === undefined || typeof value.connection === "string" && CONNECTION.test(value.connection)) &&
    (value.client === undefined || typeof value.client === "string" && CLIENT_NAME.test(value.client));
}

const CONNECTION = /^[0-9a-f]{32}$/;

/** A name for a connection that no other one has. */
export function newConnection(): string {
  return crypto.getRandomValues(new Uint8Array(16)).toHex();
}

export function isAgain(value: unknown): value is Again {
  return isObject(value) && Array.isArray(value.again);
}

export function isWelcome(value: unknown): value is Welcome {
  return isObject(value) && typeof value.agentcards === "number" && typeof value.pid === "number";
}

/** No hello reply within this time means that the engine hangs. */
export const HELLO_TIMEOUT_MS = 5_000;
/** The longest line a client may send. */
export const MAX_CLIENT_FRAME = 16 * 1024 * 1024;

/** The exit code of an engine that found another one at work: its starter connects to that one. */
export const LOST_THE_RACE = 75;
/** The exit code of an engine whose home was removed or replaced under it. */
export const LOST_ITS_HOME = 76;
/** The exit code of an engine that has to be started with other variables. */
export const STARTS_AGAIN = 77;
/** The exit code of an engine that cannot use its home at all: starting it again would not help. */
export const HOME_REFUSED = 78;
