import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Transport } from "@modelcontextprotocol/server";
import { VERSION } from "./hello.ts";
import { TOOLS } from "./tools/all.ts";

export const SERVER_INFO = Object.freeze({ name: "agentcards", version: VERSION });

/** What the agent reads about us before it reads our tools. */
export const INSTRUCTIONS =
  "All of the user's MCP servers stand behind these tools: search_tools, then call_tool, or run_workflow for several calls at once.";

/** Answers everything but `tools/call` (see `front.ts`), in both eras of the protocol. */
export function serveProtocol(transport: Transport, onError: (error: Error) => void): { close(): Promise<void> } {
  return serveStdio(() => {
    const server = new Server(SERVER_INFO, { capabilities: { tools: {} }, instructions: INSTRUCTIONS });
    server.setRequestHandler("tools/list", () => ({ tools: TOOLS.map((tool) => tool.definition) as never[] }));
    return server;
  }, { transport, onerror: onError });
}
