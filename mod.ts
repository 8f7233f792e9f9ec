/**
 * AgentCards as a library: a gateway to all configured MCP servers inside your own program.
 *
 * @example Search, call, and close
 * ```ts ignore
 * import { openGateway } from "agentcards";
 *
 * await using gateway = await openGateway();
 * const [best] = await gateway.search("read a file");
 * const result = await gateway.call(best.tool.id, { path: "README.md" });
 * ```
 *
 * @example A workflow as a stream of events
 * ```ts ignore
 * const run = gateway.runWorkflow({ tasks: [{ id: "sum", tool: "kit:add", arguments: { a: 1, b: 2 } }] });
 * let step = await run.next();
 * for (; !step.done; step = await run.next()) console.log(step.value.kind);
 * console.log(step.value.results);
 * ```
 *
 * @example A guardrail
 * ```ts ignore
 * const gateway = await openGateway({
 *   guardrails: [({ tool, effect }) => effect === "read" ? undefined : { deny: `${tool} may act on the world` }],
 * });
 * ```
 *
 * In Node the installed package is imported by the same name. The gateway then runs in a Deno of its own, so `stats()`
 * gives a promise there, and values pass as JSON. All else is the same: guardrails are functions of the program.
 *
 * @module
 */

export {
  type CallOptions,
  type EmbeddedGateway,
  type GatewayOptions,
  type GatewayStats,
  openGateway,
  type SearchOptions,
  type WorkflowAnswer,
  type WorkflowEvent,
  type WorkflowRequest,
} from "./src/engine/open_gateway.ts";
export type { GuardedCall, Guardrail, GuardVerdict } from "./src/call/stages/guard.ts";
/** A tool of a server. */
export type { Tool } from "./src/model/tool.ts";
/** The one error class, with its codes. */
export { AgentCardsError, type ErrorCode } from "./src/model/errors.ts";
export type { ToolResult } from "./src/model/call.ts";
