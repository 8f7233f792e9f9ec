import type { Ask } from "../model/mod.ts";
import type { WorkSession } from "../workflow/mod.ts";
import type { Gateway } from "./gateway.ts";

/** What a control method works with. */
export interface ControlContext {
  readonly gateway: Gateway;
  /** Rejects when the configuration cannot be used; methods that need none still work. */
  readonly session: Promise<WorkSession>;
  readonly signal: AbortSignal;
  /** Puts a server's question to the human at the terminal, where there is one. */
  readonly ask?: Ask;
  progress(value: unknown): void;
  stop(): void;
}

export type Params = Record<string, unknown>;
/** One thing the command line can ask for. */
export type Method = (context: ControlContext, params: Params) => Promise<unknown>;
