// Signing in to servers that mean harm, and what the parts of a sign-in let pass.
import assert from "node:assert/strict";
import { openTokenFile, signIn } from "../../src/mcp/mod.ts";
import { isPrivateIp, requireSafe } from "../../src/mcp/signin/addresses.ts";
import { listenForCallback } from "../../src/mcp/signin/callback.ts";
import { open } from "../fixtures/sign_in.ts";
import { oauthServer, type OAuthServerOptions } from "../servers/oauth.ts";

const METADATA = "/.well-known/oauth-authorization-server";
const RESOURCE = "/.well-known/oauth-protected-resource/mcp";

/** Signs in to a server as a person does who says yes to everything. */
async function tryOut(options: OAuthServerOptions, oauth: Record<string, string> = {}) {
  const server = oauthServer(options);
  const dir = await Deno.makeTempDir();
  const path = `${dir}/tokens.json`;
  const file = openTokenFile({ path, locks: `${dir}/locks`, onSecrets() {} });
  let browsing: Promise<void> | undefined;
  const entry = { name: "docs", url: server.url, origin: "global", secrets: [], oauth } as const;
  try {
    const { signal } = new AbortController();
    const grant = await signIn(entry, { file, signal, show: (page) => void (browsing = open(page.href)) });
    return { grant, server };
  } catch (error) {
    return { error: error as Error, server, isKept: await Deno.stat(path).then(() => true, () => false) };
  } finally {
    await browsing?.catch(() => {});
    await server[Symbol.asyncDispose]();
    await Deno.remove(dir, { recursive: true });
  }
}

const whole = (origin: string) => ({
  issuer: origin,
  authorization_endpoint: `${origin}/authorize`,
  token_endpoint: `${origin}/token`,
  registration_endpoint: `${origin}/register`,
  response_types_supported: ["code"],
});

const HOSTILE: Readonly<Record<string, readonly [OAuthServerOptions["answers"], RegExp]>> = {
  "metadata of another issuer": [
    { [METADATA]: (_, origin) => Response.json({ ...whole(origin), issuer: "https://evil.example" }) },
    /issuer/i,
  ],
  "a resource of somebody else": [
    {
      [RESOURCE]: (_, origin) =>
        Response.json({ resource: "https://evil.example/mcp", authorization_servers: [origin] }),
    },
    /does not match/,
  ],
  "a token from a plain address": [
    { [METADATA]: (_, origin) => Response.json({ ...whole(origin), token_endpoint: "http://192.0.2.1/token" }) },
    /neither https nor on this machine|non-https/,
  ],
  "a page that is no web page": [
    { [METADATA]: (_, origin) => Response.json({ ...whole(origin), authorization_endpoint: "file:///etc/passwd" }) },
    /neither https nor on this machine/,
  ],
  "an answer without the issuer that was promised": [
    {
      "/authorize"(request) {
        const { searchParams } = new URL(request.url);
        const back = new URL(searchParams.get("redirect_uri")!);
        back.search = String(new URLSearchParams({ code: "x", state: searchParams.get("state")! }));
        return new Response(null, { status: 302, headers: { location: back.href } });
      },
    },
    /issuer/i,
  ],
  "metadata without end": [
    { [METADATA]: () => new Response(new Uint8Array(1_000_000).fill(32)) },
    /more than 262144 bytes/,
  ],
  "a redirect to somebody else": [
    { "/token": () => new Response(null, { status: 307, headers: { location: "https://evil.example/token" } }) },
    /Cannot sign in/,
  ],
  "a token that is none": [
    { "/token": () => Response.json({ access_token: "a\r\nb", token_type: "Bearer" }) },
    /what is no token/,
  ],
};

Deno.test("a hostile sign-in is refused, and nothing of it is kept", async (t) => {
  for (const [what, [answers = {}, said]] of Object.entries(HOSTILE)) {
    await t.step(what, async () => {
      const { error, isKept, server } = await tryOut({ answers });
      assert.match(error?.message ?? "no error", said);
      assert.equal(isKept, false);
      assert.deepEqual(server.given, []);
    });
  }
});

Deno.test("a client that was registered by hand is told to its own authorization server only", async () => {
  const client = { client_id: "mine", client_secret: "a-secret-of-mine", redirect_uri: "http://127.0.0.1:39871/back" };
  const { error, server } = await tryOut({}, { ...client, issuer: "https://other.example" });
  assert.match(error?.message ?? "no error", /mismatch/);
  assert.equal(server.asked.includes("/token"), false);
});

Deno.test("a public server sends nobody into a private network", async () => {
  const to = (address: string, server: string) => requireSafe(new URL(address), server);
  for (const address of ["https://10.0.0.1/", "https://[fd00::1]/", "https://127.0.0.1/", "http://localhost:1/"]) {
    await assert.rejects(to(address, "https://93.184.215.14/mcp"), /private network/);
    await to(address, "http://127.0.0.1:8000/mcp");
  }
  for (const address of ["http://93.184.215.14/", "ftp://93.184.215.14/", "https://user:pass@93.184.215.14/"]) {
    await assert.rejects(to(address, "https://93.184.215.14/mcp"));
  }
  await to("https://93.184.215.14/", "https://93.184.215.15/mcp");
  const ips = [
    "0.0.0.0",
    "169.254.169.254",
    "100.64.1.1",
    "::1",
    "::ffff:10.0.0.1",
    "64:ff9b::a00:1",
    "fe80::1",
    "2002::1",
  ];
  for (const ip of ips) assert.ok(isPrivateIp(ip), ip);
  for (const ip of ["8.8.8.8", "172.32.0.1", "2606:4700::1"]) assert.ok(!isPrivateIp(ip), ip);
});

Deno.test("the browser comes back once, to a path and with a state that nobody else knows", async () => {
  const callback = await listenForCallback({ state: "right" });
  const { redirect, arrived, answer, take } = callback;
  assert.match(redirect, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}$/);
  const statusOf = async (address: string, init?: RequestInit) => {
    const response = await fetch(address, init);
    await response.body?.cancel();
    return response.status;
  };
  for (
    const forged of [`${redirect}?code=x&state=wrong`, `${redirect}?code=x`, new URL("/?state=right", redirect).href]
  ) {
    assert.equal(await statusOf(forged), 404);
    assert.equal(take(forged), false);
  }
  assert.equal(await statusOf(`${redirect}?state=right`, { method: "POST" }), 404);
  const browser = fetch(`${redirect}?code=x&state=right`);
  assert.equal((await arrived).get("code"), "x");
  assert.equal(await statusOf(`${redirect}?code=y&state=right`), 404);
  answer("<script>");
  assert.match(await (await browser).text(), /&#60;script&#62;/);
  callback[Symbol.dispose]();
  await assert.rejects(fetch(redirect));
});
