// `agentcards serve --http --host`: what may be opened to other machines, and what is refused.
import assert from "node:assert/strict";
import http from "node:http";
import https from "node:https";
import { placeOf } from "../../src/cli/http_place.ts";
import { createTestHome } from "../fixtures/gateway.ts";
import { type HttpServer, startHttp } from "../fixtures/http.ts";
import { CERTIFICATE, KEY } from "../fixtures/tls.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";
const HELLO = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
});

/** Says hello, under a name and with a token; the status of the answer. */
function greet({ url }: HttpServer, host: string, token = TOKEN): Promise<number> {
  const { port, protocol } = new URL(url);
  const headers = {
    host: `${host}:${port}`,
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const options = { hostname: "127.0.0.1", port, path: "/mcp", method: "POST", headers };
  return new Promise((resolve, reject) => {
    const answered = (response: http.IncomingMessage) => (response.resume(), resolve(response.statusCode!));
    const request = protocol === "https:"
      ? https.request({ ...options, ca: CERTIFICATE, servername: "gateway.test" }, answered)
      : http.request(options, answered);
    request.on("error", reject);
    request.end(HELLO);
  });
}

Deno.test("an endpoint for other machines wants TLS or a proxy, and a token of its owner alone", async (t) => {
  await using home = await createTestHome();
  const token = `${home.dir}/http.token`;
  const [cert, key] = [`${home.dir}/cert.pem`, `${home.dir}/key.pem`];
  await Deno.writeTextFile(cert, CERTIFICATE);
  await Deno.writeTextFile(key, KEY, { mode: 0o600 });
  const refused = async (...args: string[]) => {
    const { code, stderr } = await home.run(["serve", "--http", "--port", "0", ...args]);
    assert.equal(code, 2, stderr);
    return stderr;
  };

  await t.step("what is refused", async () => {
    assert.match(await refused("--host", "0.0.0.0"), /in the clear\nAdd --cert FILE and --key FILE, or --behind-proxy/);
    await assert.rejects(placeOf({ port: 0, host: "::" }), /in the clear/);
    await assert.rejects(placeOf({ port: 0, host: "gateway.test", behindProxy: true }), /is no address/);
    await assert.rejects(placeOf({ port: 0, host: "0.0.0.0", cert }), /belong together/);
    assert.match(await refused("--host", "0.0.0.0", "--behind-proxy"), /holds no token of 32 characters/);
    await Deno.writeTextFile(token, TOKEN, { mode: 0o644 });
    assert.match(await refused("--host", "0.0.0.0", "--behind-proxy"), /can be read by others/);
    await Deno.chmod(token, 0o600);
  });

  await t.step("over TLS: under its names, with the token, and not in the clear", async () => {
    const tls = ["--host", "0.0.0.0", "--name", "gateway.test", "--cert", cert, "--key", key];
    await using server = await startHttp(home, tls);
    assert.match(server.url, /^https:\/\/gateway\.test:\d+\/mcp$/);
    assert.equal(await greet(server, "gateway.test"), 200);
    assert.equal(await greet(server, "localhost"), 200);
    assert.equal(await greet(server, "evil.example"), 403);
    assert.equal(await greet(server, "gateway.test", "wrong"), 401);
    await assert.rejects(greet({ ...server, url: server.url.replace("https:", "http:") }, "gateway.test"));
  });

  await t.step("behind a proxy: Host and token are looked at as ever", async () => {
    await using server = await startHttp(home, ["--host", "0.0.0.0", "--name", "gateway.test", "--behind-proxy"]);
    assert.equal(await greet(server, "gateway.test"), 200);
    assert.equal(await greet(server, "evil.example"), 403);
    assert.equal(await greet(server, "gateway.test", "wrong"), 401);
  });
});
