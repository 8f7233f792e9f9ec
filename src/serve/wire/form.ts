import type { createParking } from "../../call/mod.ts";
import type { CallResult, ToolResult } from "../../model/mod.ts";

type Message = Record<string, unknown>;

/** The facts that a client told in its handshake. */
export interface Handshake {
  readonly capabilities: Message | undefined;
  readonly logLevel: string | undefined;
}

/** The form of requests and responses in one revision of the protocol. */
export interface Codec {
  /** The capabilities of the client behind a request. */
  capabilities(meta: Message, handshake: Handshake): Message | undefined;
  /** The level from which on the client behind a request wants to hear log messages. */
  logLevel(meta: Message, handshake: Handshake): unknown;
  /** True if a question may be the response of a request. */
  readonly takesQuestions: boolean;
  result(result: ToolResult, method: string): ToolResult;
  error(error: CallResult & { kind: "error" }): { code: number; message: string; data?: unknown };
  /** The beginning of a result object, up to its first own key. */
  readonly resultHead: string;
}

/** The way in which a request waits for the answers of its client. */
export type Flow = Pick<ReturnType<typeof createParking>, "originElsewhere" | "unseal" | "run">;
