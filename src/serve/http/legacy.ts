import {
  isInitializeRequest,
  isJSONRPCNotification,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { refusal } from "./guard.ts";
import { type ConnectEngine, type Message, openWire, type Wire } from "./wire.ts";

interface HttpSession {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly wire: Wire;
  /** Requests that wait for their answer: a session that has some is in use. */
  readonly open: Set<unknown>;
  lastUsed: number;
}

/** A session that nobody has used for so long is forgotten; its client begins another. */
const KEPT_MS = 60 * 60_000;
const MAX_SESSIONS = 100;
const LOOK_EVERY_MS = 60_000;
/** A call that takes so many times as long waits for somebody who has left. */
const LONGEST_CALL = 24;

export interface LegacyOptions {
  readonly keptMs?: number;
  readonly lookEveryMs?: number;
  readonly maxSessions?: number;
}

/** Clients of the older protocol: each has a session, and each session a connection of its own to the engine. */
export function createLegacyHandler(connect: ConnectEngine, options: LegacyOptions = {}) {
  const { keptMs = KEPT_MS, lookEveryMs = LOOK_EVERY_MS, maxSessions = MAX_SESSIONS } = options;
  const sessions = new Map<string, HttpSession>();
  const looking = setInterval(() => {
    for (const { transport, open, lastUsed } of sessions.values()) {
      const patience = open.size > 0 ? LONGEST_CALL * keptMs : keptMs;
      if (performance.now() - lastUsed > patience) void transport.close();
    }
  }, lookEveryMs);

  async function begin(): Promise<WebStandardStreamableHTTPServerTransport> {
    const open = new Set<unknown>();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, { transport, wire, open, lastUsed: performance.now() }),
    });
    const answered = (id: unknown) => {
      if (!open.delete(id)) return;
      const session = sessions.get(transport.sessionId ?? "");
      if (session) session.lastUsed = performance.now();
    };
    const wire = openWire((connection) => connect(false, connection), (message, related) => {
      if (message.method === undefined) answered(message.id);
      // A stream that its client has closed takes nothing more: what was meant for it is lost with it.
      transport.send(message as never, related === undefined ? undefined : { relatedRequestId: related as never })
        .catch(() => {});
    });
    transport.onmessage = (given) => {
      const message = given as Message;
      if (message.method !== undefined && message.id !== undefined) open.add(message.id);
      // It gets no answer any more.
      if (isJSONRPCNotification(given) && given.method === "notifications/cancelled") answered(given.params?.requestId);
      wire.send(message);
    };
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
      if (sessions.size >= maxSessions) {
        const rank = ({ open, lastUsed }: HttpSession) => open.size > 0 ? Infinity : lastUsed;
        const [oldest] = [...sessions.values()].sort((a, b) => rank(a) - rank(b) || a.lastUsed - b.lastUsed);
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
