import { callTool } from "./call_tool.ts";
import { searchTools } from "./search_tools.ts";
import type { GatewayTool } from "./tool.ts";

/** What an agent sees, in this order. */
export const TOOLS: readonly GatewayTool[] = [searchTools, callTool];
