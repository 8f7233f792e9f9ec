import type { JsonObject } from "../../model/json.ts";
import type { Caller } from "../caller.ts";
import type { Outcome } from "../execute.ts";
import type { WorkSession } from "../workflows.ts";

/** What arrived with a `tools/call` for one of our tools. */
export interface GatewayCall {
  readonly input: Record<string, unknown>;
  readonly meta?: Record<string, unknown>;
  readonly retry?: Record<string, unknown>;
}

/** One of the few tools that an agent sees. */
export interface GatewayTool {
  readonly definition: JsonObject & { name: string; description: string; inputSchema: JsonObject };
  /** What a call is filed under. */
  label(input: Record<string, unknown>): string;
  run(session: WorkSession, call: GatewayCall, caller: Caller): Promise<Outcome>;
}
