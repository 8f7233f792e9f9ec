import type { Caller, CallResult } from "../../model/mod.ts";
import type { WorkSession } from "../../workflow/mod.ts";
import type { Definition } from "./definitions.ts";

/** The input of a `tools/call` for one of our tools. */
export interface GatewayCall {
  readonly input: Record<string, unknown>;
  readonly meta?: Record<string, unknown>;
  readonly retry?: Record<string, unknown>;
}

/** One of the few tools that an agent sees. */
export interface GatewayTool {
  readonly definition: Definition;
  /** The name under which its use is filed; none where it only makes a call that is filed by itself. */
  readonly label?: string;
  run(session: WorkSession, call: GatewayCall, caller: Caller): Promise<CallResult>;
}
