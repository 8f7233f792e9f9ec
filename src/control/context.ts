import type { Ask } from "../model/mod.ts";
import type { WorkSession } from "../workflow/mod.ts";
import type { MethodName, Params, Progress, Result } from "./api.ts";
import type { Gateway } from "./gateway.ts";

/** The surroundings of a control method. */
export interface ControlContext<P = unknown> {
  readonly gateway: Gateway;
  /** Rejects when the configuration cannot be used; methods that need none still work. */
  readonly session: Promise<WorkSession>;
  readonly signal: AbortSignal;
  /** Puts a server's question to the human at the terminal, where there is one. */
  readonly ask?: Ask;
  progress(value: P): void;
  stop(): void;
}

/** A control method. */
export type Method<M extends MethodName> = (
  context: ControlContext<Progress<M>>,
  params: Params<M>,
) => Promise<Result<M>>;

/** A method for every name. */
export type Methods = { readonly [M in MethodName]: Method<M> };
