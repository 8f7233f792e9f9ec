/**
 * AgentCards as a library: a gateway to all configured MCP servers inside your own program.
 *
 * @example
 * ```ts ignore
 * import { openGateway } from "./mod.ts";
 *
 * await using gateway = await openGateway();
 * const [best] = await gateway.searchTools("read a file");
 * const result = await gateway.callTool(best.tool.id, { path: "README.md" });
 * ```
 *
 * @module
 */

/** Opens a gateway in this process. */
export { type EmbeddedGateway, type GatewayOptions, openGateway } from "./src/engine/open_gateway.ts";
/** What a tool call gives back. */

/** A tool of a server. */
export type { Tool } from "./src/model/tool.ts";
/** The one error class, with its codes. */
export { AgentCardsError, type ErrorCode } from "./src/model/errors.ts";
export type { ToolResult } from "./src/model/call.ts";
