// Remote servers for tests, on loopback: a plain one, and ones that misbehave.

export type Message = Record<string, unknown>;

export interface WebServer extends AsyncDisposable {
  readonly url: string;
  /** Everything that was asked, with its headers. */
  readonly requests: { method: string; path: string; headers: Headers; body: Message }[];
}

/** A minimal Streamable HTTP server of the older protocol; `answer` may take over a `tools/call`, `others` other methods. */
export function webServer(
  answer: (call: Message) => Response | Promise<Response> | undefined = () => undefined,
  others: Readonly<Record<string, (request: Message) => Response>> = {},
): WebServer {
  const requests: WebServer["requests"] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    const body = request.method === "POST" ? await request.json() as Message : {};
    requests.push({ method: request.method, path: new URL(request.url).pathname, headers: request.headers, body });
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const other = others[String(body.method)];
    if (other) return other(body);
    const json = (result: unknown) => Response.json({ jsonrpc: "2.0", id: body.id, result });
    switch (body.method) {
      case "initialize":
        return Response.json({
          jsonrpc: "2.0",
          id: body.id,
          result: {
            protocolVersion: "2025-11-25",
            capabilities: { tools: {} },
            serverInfo: { name: "web", version: "1" },
          },
        }, { headers: { "mcp-session-id": crypto.randomUUID() } });
      case "tools/list":
        return json({ tools: [{ name: "act", description: "acts", inputSchema: { type: "object" } }] });
      case "tools/call":
        return await answer(body) ?? json({ content: [{ type: "text", text: "from the web" }] });
      case "server/discover":
        return Response.json({ jsonrpc: "2.0", id: body.id, error: { code: -32601, message: "no" } });
      default:
        return new Response(null, { status: 202 });
    }
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    requests,
    async [Symbol.asyncDispose]() {
      await server.shutdown();
    },
  };
}
