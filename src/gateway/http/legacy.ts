import { isInitializeRequest, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { refusal } from "./guard.ts";
import { type ConnectEngine, type Message, openWire, type Wire } from "./wire.ts";

interface HttpSession {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly wire: Wire;
  lastUsed: number;
}

/** A session that nobody has used for so long is forgotten; its client begins another. */
const KEPT_MS = 60 * 60_000;
const MAX_SESSIONS = 100;
const LOOK_EVERY_MS = 60_000;

/** Clients of the older protocol: each has a session, and each session a connection of its own to the engine. */
export function createLegacyHandler(connect: ConnectEngine) {
  const sessions = new Map<string, HttpSession>();
  const looking = setInterval(() => {
    for (const session of sessions.values()) {
      if (performance.now() - session.lastUsed > KEPT_MS) void session.transport.close();
    }
  }, LOOK_EVERY_MS);

  async function begin(): Promise<WebStandardStreamableHTTPServerTransport> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, { transport, wire, lastUsed: performance.now() }),
    });
    const wire = openWire(() => connect(false), (message, related) => {
      // A stream that its client has closed takes nothing more: what was meant for it is lost with it.
      transport.send(message as never, related === undefined ? undefined : { relatedRequestId: related as never })
        .catch(() => {});
    });
    transport.onmessage = (message) => wire.send(message as Message);
    transport.onclose = () => {
      wire.close();
      if (transport.sessionId) sessions.delete(transport.sessionId);
    };
    await transport.start();
    return transport;
  }

  return {
    async fetch(request: Request, parsedBody: unknown): Promise<Response> {
      const id = request.headers.get("mcp-session-id");
      const session = id === null ? undefined : sessions.get(id);
      if (session) {
        session.lastUsed = performance.now();
        return await session.transport.handleRequest(request, { parsedBody });
      }
      if (id !== null) return refusal(404, "There is no such session; initialize again");
      if (!isInitializeRequest(parsedBody)) return refusal(400, "Mcp-Session-Id is missing; initialize first");
      // Clients leave without a word: the one that was not heard of for longest makes room.
      if (sessions.size >= MAX_SESSIONS) {
        const [oldest] = [...sessions.values()].sort((a, b) => a.lastUsed - b.lastUsed);
        await oldest!.transport.close();
      }
      const transport = await begin();
      const response = await transport.handleRequest(request, { parsedBody });
      // One that was refused has begun nothing.
      if (transport.sessionId === undefined) await transport.close();
      return response;
    },
    async close(): Promise<void> {
      clearInterval(looking);
      await Promise.all([...sessions.values()].map(({ transport }) => transport.close()));
    },
  };
}
