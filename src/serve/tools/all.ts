import { callTool } from "./call_tool.ts";
import { executeCode } from "./execute_code.ts";
import { resumeWorkflow } from "./resume_workflow.ts";
import { runWorkflow } from "./run_workflow.ts";
import { searchTools } from "./search_tools.ts";
import type { GatewayTool } from "./tool.ts";

/** The tools that an agent sees, in this order. */
export const TOOLS: readonly GatewayTool[] = [searchTools, callTool, runWorkflow, resumeWorkflow, executeCode];
