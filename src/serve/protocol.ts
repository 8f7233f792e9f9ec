import { describe } from "../model/start.ts";
import { ProtocolError, ProtocolErrorCode, Server, type Transport } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Shown } from "./handshake_cache.ts";
import { DEFINITIONS } from "./tools/definitions.ts";
import { SERVER_INFO } from "./wire/server_info.ts";

const SHOWN_SERVERS = 8;
/** Every client pays for this text. */
const LONGEST_NAMES = 90;

/** The server instructions of our own server: they name at most eight of the servers behind it. */
export function instructionsFor(servers: readonly string[] = []): string {
  let length = 0;
  const shown = servers.slice(0, SHOWN_SERVERS).filter((name) => (length += name.length + 2) <= LONGEST_NAMES);
  const more = servers.length > shown.length ? ` and ${servers.length - shown.length} more` : "";
  const names = shown.length > 0 ? ` (${shown.join(", ")}${more})` : "";
  return `The user's MCP servers${names} are behind search_tools, then call_tool, or run_workflow for several calls.`;
}

type Expose = Shown;

export interface ProtocolOptions {
  readonly transport: Transport;
  /** The tools and resources that are shown; undefined where the configuration cannot be read. */
  readonly expose: Promise<Expose | undefined>;
  /** Answers what is not about the connection itself; undefined: nobody knows such a request. */
  answer(method: string, params: Record<string, unknown>): Promise<Record<string, unknown> | undefined>;
  onError(error: Error): void;
  /** Told when the client has read the list of tools. */
  onListed(): void;
}

/** Answers what no server has to be asked for, in both eras of the protocol. */
export function serveProtocol({ transport, expose, answer, onError, onListed }: ProtocolOptions) {
  let current: Server | undefined;
  const { close } = serveStdio(async () => {
    const shown = await expose;
    const isDirect = shown?.tools === "direct";
    const server = new Server(SERVER_INFO, {
      capabilities: {
        tools: isDirect ? { listChanged: true } : {},
        ...shown?.resources && {
          resources: { subscribe: true, listChanged: true },
          prompts: { listChanged: true },
          completions: {},
        },
        ...shown && { logging: {} },
      },
      ...!isDirect && { instructions: instructionsFor(shown?.servers) },
    });
    if (!isDirect) {
      server.setRequestHandler("tools/list", () => {
        onListed();
        return { tools: Object.values(DEFINITIONS) as never[] };
      });
    }
    server.fallbackRequestHandler = async ({ method, params }) => {
      const result = await answer(method, params ?? {}).catch((error) => {
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, describe(error));
      });
      if (!result) throw new ProtocolError(ProtocolErrorCode.MethodNotFound, "Method not found");
      return result;
    };
    return current = server;
  }, { transport, onerror: onError });
  return {
    close,
    /** Tells the client something that belongs to no request of its own; the SDK knows who wants to hear it. */
    notify(method: string, params?: Record<string, unknown>): void {
      current?.notification({ method, ...params && { params } } as never).catch(onError);
    },
  };
}
