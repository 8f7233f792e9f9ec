// A remote server that wants a sign-in, with its authorization server, on loopback. It remembers what it was asked.

type Message = Record<string, unknown>;

export interface OAuthServerOptions {
  /** How long a token lives. */
  readonly seconds?: number;
  /** The right without which `delete_all` is refused. */
  readonly more?: string;
  /** Answers one of the addresses instead. */
  readonly answers?: Readonly<Record<string, (request: Request, origin: string) => Response | Promise<Response>>>;
}

export interface OAuthServer extends AsyncDisposable {
  readonly url: string;
  readonly origin: string;
  /** The paths that were asked for, in order. */
  readonly asked: string[];
  /** The forms of the token requests. */
  readonly grants: URLSearchParams[];
  /** Every access and refresh token that was given out. */
  readonly given: string[];
  readonly revoked: string[];
  /** Makes all access tokens invalid. */
  expire(): void;
  /** Makes all refresh tokens invalid, too. */
  forget(): void;
  /** Lets a person type the code of a device. */
  allowDevices(): void;
}

export function oauthServer({ seconds = 3_600, more, answers = {} }: OAuthServerOptions = {}): OAuthServer {
  const codes = new Map<string, { challenge: string; redirect: string; scope: string }>();
  const access = new Map<string, string>();
  const refresh = new Map<string, string>();
  const [asked, grants, given, revoked]: [string[], URLSearchParams[], string[], string[]] = [[], [], [], []];
  let isDeviceAllowed = false;
  const json = (value: unknown, status = 200) => Response.json(value, { status });

  function issue(scope: string): Response {
    const [token, next] = [`canary-access-${random()}`, `canary-refresh-${random()}`];
    access.set(token, scope);
    refresh.set(next, scope);
    given.push(token, next);
    return json({ access_token: token, refresh_token: next, token_type: "Bearer", expires_in: seconds, scope });
  }

  const routes: Record<string, (request: Request, url: URL) => Response | Promise<Response>> = {
    "/.well-known/oauth-protected-resource/mcp": () =>
      json({ resource: `${server.origin}/mcp`, authorization_servers: [server.origin], scopes_supported: ["read"] }),
    "/.well-known/oauth-authorization-server": () =>
      json({
        issuer: server.origin,
        authorization_endpoint: `${server.origin}/authorize`,
        token_endpoint: `${server.origin}/token`,
        registration_endpoint: `${server.origin}/register`,
        revocation_endpoint: `${server.origin}/revoke`,
        device_authorization_endpoint: `${server.origin}/device`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["none"],
        authorization_response_iss_parameter_supported: true,
      }),
    "/register": async (request) => json({ ...await request.json(), client_id: "registered" }, 201),
    "/authorize": (_request, { searchParams }) => {
      const code = random();
      const redirect = searchParams.get("redirect_uri")!;
      codes.set(code, {
        challenge: searchParams.get("code_challenge")!,
        redirect,
        scope: searchParams.get("scope") ?? "",
      });
      const back = new URL(redirect);
      back.search = String(
        new URLSearchParams({ code, state: searchParams.get("state")!, iss: server.origin }),
      );
      return new Response(null, { status: 302, headers: { location: back.href } });
    },
    "/device": () =>
      json({
        device_code: "device",
        user_code: "ABCD-EFGH",
        verification_uri: `${server.origin}/enter`,
        interval: 0,
        expires_in: 60,
      }),
    "/token": async (request) => {
      const form = new URLSearchParams(await request.text());
      grants.push(form);
      if (form.get("resource") !== `${server.origin}/mcp`) return json({ error: "invalid_target" }, 400);
      switch (form.get("grant_type")) {
        case "authorization_code": {
          const code = codes.get(form.get("code")!);
          codes.delete(form.get("code")!);
          const isRight = code && code.redirect === form.get("redirect_uri") &&
            code.challenge === await s256(form.get("code_verifier") ?? "");
          return isRight ? issue(code.scope) : json({ error: "invalid_grant" }, 400);
        }
        case "refresh_token": {
          const scope = refresh.get(form.get("refresh_token")!);
          refresh.delete(form.get("refresh_token")!);
          return scope === undefined ? json({ error: "invalid_grant" }, 400) : issue(scope);
        }
        default:
          return isDeviceAllowed ? issue("read") : json({ error: "authorization_pending" }, 400);
      }
    },
    "/revoke": async (request) => {
      const token = new URLSearchParams(await request.text()).get("token")!;
      revoked.push(token);
      access.delete(token);
      refresh.delete(token);
      return new Response();
    },
    "/mcp": async (request) => {
      if (request.method !== "POST") return new Response(null, { status: 405 });
      const token = request.headers.get("authorization")?.slice("Bearer ".length) ?? "";
      const scope = access.get(token);
      const metadata = `resource_metadata="${server.origin}/.well-known/oauth-protected-resource/mcp"`;
      const refuse = (status: number, more: string) =>
        new Response(null, { status, headers: { "www-authenticate": `Bearer ${metadata}, ${more}` } });
      if (scope === undefined) return refuse(401, 'scope="read"');
      const message = await request.json() as Message;
      const { name } = message.params as Message ?? {};
      if (more !== undefined && name === "delete_all" && !scope.split(" ").includes(more)) {
        return refuse(403, `error="insufficient_scope", scope="${more}"`);
      }
      return answer(message, token);
    },
  };

  const http = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    const url = new URL(request.url);
    asked.push(url.pathname);
    const own = answers[url.pathname];
    return await (own?.(request, server.origin) ?? routes[url.pathname]?.(request, url)) ??
      new Response(null, { status: 404 });
  });
  const server: OAuthServer = {
    url: `http://127.0.0.1:${http.addr.port}/mcp`,
    origin: `http://127.0.0.1:${http.addr.port}`,
    asked,
    grants,
    given,
    revoked,
    expire: () => access.clear(),
    forget() {
      access.clear();
      refresh.clear();
    },
    allowDevices: () => void (isDeviceAllowed = true),
    async [Symbol.asyncDispose]() {
      await http.shutdown();
    },
  };
  return server;
}

/** What the server says once a request is let in. Its tool `whoami` tells the token it was called with. */
function answer({ id, method, params }: Message, token: string): Response {
  const reply = (result: unknown) => Response.json({ jsonrpc: "2.0", id, result });
  const tool = (name: string) => ({ name, description: `${name} of the account`, inputSchema: { type: "object" } });
  switch (method) {
    case "initialize":
      return reply({
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "oauth", version: "1" },
      });
    case "tools/list":
      return reply({ tools: [tool("whoami"), tool("delete_all")] });
    case "tools/call":
      return reply({ content: [{ type: "text", text: `${(params as Message).name} with ${token}` }] });
    case "server/discover":
      return Response.json({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } });
    default:
      return new Response(null, { status: 202 });
  }
}

const random = () => crypto.getRandomValues(new Uint8Array(12)).toHex();

async function s256(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(hash).toBase64({ alphabet: "base64url", omitPadding: true });
}
