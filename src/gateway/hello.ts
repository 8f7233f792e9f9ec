import denoJson from "../../deno.json" with { type: "json" };
import { isObject } from "../model/json.ts";

/** The version of this AgentCards. */
export const VERSION: string = denoJson.version;

/** The first line on the engine's socket, in both directions; raised when its meaning changes. */
export const PROTOCOL = 1;

/** What a client of the engine says first. */
export interface Hello {
  readonly agentcards: number;
  readonly version: string;
  readonly kind: "mcp" | "control";
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Whether each message is to say which request it belongs to. */
  readonly tellsRelated?: boolean;
  /** Whether it carries the requests of many clients. */
  readonly isCrowd?: boolean;
}

/** What the engine answers. */
export interface Welcome {
  readonly agentcards: number;
  readonly version: string;
  readonly pid: number;
  /** The engine is of another version and idle: it leaves now, so that the caller can start its own. */
  readonly leaving?: boolean;
  readonly error?: string;
}

export function isHello(value: unknown): value is Hello {
  return isObject(value) && typeof value.agentcards === "number" && typeof value.version === "string" &&
    (value.kind === "mcp" || value.kind === "control") && typeof value.cwd === "string" && isObject(value.env);
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
/** The exit code of an engine that cannot use its home at all: starting it again would not help. */
export const HOME_REFUSED = 78;
