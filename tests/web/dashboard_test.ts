// The dashboard's process: whom it talks to, what it serves, how it outlives an engine.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { request as plainRequest } from "node:http";
import { closure } from "../../packaging/packages.ts";
import { createAdmission } from "../../src/web/admission.ts";
import { connectClient } from "../fixtures/client.ts";
import { admitted, startDashboard } from "../fixtures/dashboard.ts";
import { createTestHome, endProcess, ROOT, testServer, until } from "../fixtures/gateway.ts";
import { run, task } from "../fixtures/workflow.ts";

const CONFIG = { servers: { kit: testServer("kit") }, policy: { approve: ["kit:append"] } };

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** A request with any Host and Origin: `fetch` would not send them. */
function send(url: string, { method = "POST", path = "/api/ask", headers = {}, body = {} }: Sent) {
  const { hostname, port, host, origin } = new URL(url);
  const all = { host, origin, "content-type": "application/json", ...headers };
  return new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
    const sent = plainRequest({ hostname, port, path, method, headers: all }, async (response) => {
      let text = "";
      for await (const chunk of response) text += chunk;
      resolve({ status: response.statusCode!, headers: response.headers, text });
    });
    sent.on("error", reject);
    sent.end(method === "GET" ? undefined : JSON.stringify(body));
  });
}

Deno.test("the dashboard talks to its own page alone, and outlives an engine", async () => {
  await using home = await createTestHome(CONFIG);
  const refused = await home.run(["dashboard", "--port", "0"]);
  assert.deepEqual([refused.code, /human at a terminal/.test(refused.stderr)], [2, true], refused.stderr);
  await using dashboard = await startDashboard(home);
  const { url } = dashboard;
  const { origin, port } = new URL(url);

  // Every route refuses other names, other origins, and callers without a token.
  for (const path of ["/", "/page/main.js", "/api/ask", "/api/session", "/api/pair", "/nothing"]) {
    const method = path.startsWith("/api") ? "POST" : "GET";
    const rebound = await send(url, { method, path, headers: { host: `evil.example:${port}` } });
    assert.equal(rebound.status, 421, path);
    const otherPort = await send(url, { method, path, headers: { host: "127.0.0.1:1" } });
    assert.equal(otherPort.status, 421, path);
    for (const other of ["https://evil.example", "http://127.0.0.1:1", "null"]) {
      assert.equal((await send(url, { method, path, headers: { origin: other } })).status, 403, `${path} ${other}`);
    }
  }
  for (const path of ["/api/ask", "/api/stream", "/api/answer", "/api/record", "/api/methods", "/api/nothing"]) {
    for (const authorization of ["", "Bearer x", `Basic ${btoa("a:b")}`, `Bearer ${"0".repeat(64)}`]) {
      const headers = { ...authorization && { authorization } };
      assert.equal(
        (await send(url, { path, headers, body: { method: "now" } })).status,
        401,
        `${path} ${authorization}`,
      );
    }
  }
  assert.equal((await send(url, { headers: { "sec-fetch-site": "cross-site" } })).status, 403);
  assert.equal((await send(url, { headers: { "content-type": "text/plain" } })).status, 415);
  assert.equal((await send(url, { path: "/api/session", body: { code: "0".repeat(64) } })).status, 401);

  // Files of the page and of packages, nothing else; headers on every answer.
  const page = await send(url, { method: "GET", path: "/" });
  assert.match(String(page.headers["content-security-policy"]), /default-src 'self'; frame-ancestors 'none'/);
  assert.equal(page.headers["set-cookie"], undefined);
  assert.doesNotMatch(
    page.text,
    /<script(?![^>]*\bsrc=)|<style|\son\w+=|https?:\/\//,
    "nothing inline, nothing foreign",
  );
  for (const file of ["preact.js", "uplot.js", "uplot.css", "dagre.js", "graphology.js", "sigma.js"]) {
    const found = await send(url, { method: "GET", path: `/lib/${file}` });
    assert.equal(found.status, 200, file);
    assert.equal(found.headers["x-content-type-options"], "nosniff");
  }
  for (
    const path of ["/page/../server.ts", "/page/%2e%2e/server.ts", "/lib/toString", "/page/index.html.ts", "/deno.json"]
  ) {
    assert.equal((await send(url, { method: "GET", path })).status, 404, path);
  }

  // Digits at the terminal let a page in; the terminal says so where there is no such page.
  await dashboard.type("000000x");
  await until("it says so", () => /No page shows these digits/.test(dashboard.printed()));
  const ask = await admitted(dashboard);
  const now = await (await ask("/api/ask", { method: "now" })).json();
  assert.equal(now.result.database, "open");
  for (const method of ["stop", "backup", "accept_sandbox", "toString", undefined]) {
    assert.equal((await ask("/api/ask", { method })).status, 400, `${method}`);
  }

  // The stream of events goes on in the next engine, from the row that the page has.
  await using client = await connectClient(home);
  const answer = await run(client, [
    task("a", "kit:echo", { text: "x" }),
    task("b", "kit:echo", { text: "$OUTPUT[a]" }),
  ]);
  const id = answer.workflow_id;
  const pid = (await home.enginePid())!;
  const seqs = await rowsOf(ask, { id, after: 0 });
  assert.deepEqual(seqs, seqs.map((_, i) => i + 1));
  assert.ok(seqs.length >= 6, String(seqs));
  await endProcess(pid, "SIGKILL");
  assert.deepEqual(await rowsOf(ask, { id, after: seqs.length - 2 }), seqs.slice(-2));
  assert.notEqual(await home.enginePid(), pid);
  const shown = await (await ask("/api/ask", { method: "run_page", params: { id } })).json();
  assert.deepEqual([shown.result.status, shown.result.reports.length], ["completed", 2]);
  const one = await (await ask("/api/ask", { method: "run_task", params: { id, task: "b" } })).json();
  assert.match(JSON.stringify(one.result.output), /kit: kit: x/);
  assert.deepEqual((await (await ask("/api/record", { method: "audit_verify" })).json()).result.findings, []);
  // No code, no token and no page is left in the home.
  assert.deepEqual(
    (await readdir(`${home.dir}/run`).catch(() => [])).filter((name) => name.startsWith("dashboard")),
    [],
  );
  assert.ok(!(await home.log()).includes(origin));
});

/** The rows of a run that a page is told, until it has caught up; a stream that breaks off is opened again, as a page does. */
async function rowsOf(
  ask: (path: string, body: unknown) => Promise<Response>,
  run: { id: string; after: number },
  tries = 5,
): Promise<number[]> {
  const response = await ask("/api/stream", { method: "watch", params: { runs: [run] } });
  let text = "";
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  while (!text.includes('"caught_up"')) {
    const { value, done } = await reader.read();
    if (done && text.includes("ENGINE_UNREACHABLE") && tries > 0) return await rowsOf(ask, run, tries - 1);
    assert.ok(!done, text);
    text += value;
  }
  await reader.cancel();
  return text.split("\n").filter((line) => line.includes('"event"')).map((line) => JSON.parse(line).progress.event.seq);
}

Deno.test("a code is good once and for a minute, and so many pages wait for their digits at the most", () => {
  let clock = 0;
  const { newCode, exchange, isAdmitted, pair, confirm } = createAdmission(() => clock);
  const code = newCode();
  const token = exchange(code)!;
  assert.ok(isAdmitted(token) && !isAdmitted(code) && !isAdmitted(""));
  assert.equal(exchange(code), undefined);
  const old = newCode();
  clock += 61_000;
  assert.equal(exchange(old), undefined);
  const pairs = Array.from({ length: 6 }, pair);
  assert.deepEqual(pairs.map((one) => one !== undefined), [true, true, true, true, true, false]);
  assert.equal(confirm(pairs[0]!.digits), true);
  assert.equal(confirm(pairs[0]!.digits), false);
  clock += 301_000;
  assert.equal(confirm(pairs[1]!.digits), false);
});

Deno.test("a package of the program has the packages that the page loads", async () => {
  const assets = await readFile(`${ROOT}src/web/assets.ts`, "utf8");
  const named = [...assets.matchAll(/import\.meta\.resolve\("([^"]+)"\)/g)].map(([, name]) => name!);
  const packed = closure(await readFile(`${ROOT}deno.lock`, "utf8"), named).map(({ name }) => name);
  assert.deepEqual(named.filter((name) => !packed.includes(name)), []);
  assert.ok(named.includes("htm") && named.includes("sigma"));
});
