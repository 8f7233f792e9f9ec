// What a person hears of: programs and addresses of the configuration get alerts, each of the kinds it is for.
import assert from "node:assert/strict";
import { connectClient } from "../fixtures/client.ts";
import { createTestHome, testServer, until } from "../fixtures/gateway.ts";
import { run, task } from "../fixtures/workflow.ts";
import { webServer } from "../servers/web.ts";

interface Told {
  readonly kind: string;
  readonly subject: string;
  readonly title: string;
  readonly detail: string;
  readonly text: string;
}

Deno.test("an approval that waits and a server that went silent reach the channels that are for them", async () => {
  const posted: { told: Told; headers: Headers; path: string }[] = [];
  await using hook = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    posted.push({ told: await request.json(), headers: request.headers, path: pathname });
    return pathname === "/away" ? Response.redirect(new URL("/elsewhere", request.url)) : new Response("ok");
  });
  let pings = 0;
  let isSilent = false;
  await using web = webServer(undefined, {
    ping: ({ id }) => {
      pings++;
      return isSilent ? new Response(null, { status: 500 }) : Response.json({ jsonrpc: "2.0", id, result: {} });
    },
  });
  const address = `http://127.0.0.1:${hook.addr.port}`;
  await using home = await createTestHome((dir) => ({
    servers: { kit: testServer("kit"), web: { url: web.url } },
    policy: { approve: ["kit:append"] },
    health: { every: "200ms" },
    notify: {
      channels: {
        file: { command: "/bin/sh", args: ["-c", `cat >> '${dir}/told'`] },
        chat: { url: `${address}/\${HOOK_PATH}`, headers: { "x-key": "${HOOK_KEY}" }, for: ["act", "note"] },
        away: { url: `${address}/away` },
        unset: { url: "https://127.0.0.1:1/${NEVER_SET}" },
      },
    },
  }));
  await Deno.writeTextFile(`${home.dir}/secrets.env`, "HOOK_PATH=path-that-is-secret\nHOOK_KEY=key-that-is-secret\n", {
    mode: 0o600,
  });
  await using client = await connectClient(home);
  await client.use("web:act");
  await until("two pings", () => pings >= 2, 20_000);

  const paused = await run(client, [task("a", "kit:append", { file: "/tmp/x", line: "words-of-the-call" })]);
  assert.equal(paused.status, "paused");
  await until("the alert", async () => {
    const told = await Deno.readTextFile(`${home.dir}/told`).catch(() => "");
    return told.includes("\n") && posted.some(({ path }) => path === "/away") && posted.length >= 2;
  }, 10_000);
  const [line, ...more] = (await Deno.readTextFile(`${home.dir}/told`)).trim().split("\n");
  assert.equal(more.length, 0);
  const told: Told = JSON.parse(line!);
  assert.deepEqual([told.kind, told.subject], ["act", paused.workflow_id]);
  assert.match(told.text, new RegExp(`waits for you\\nkit:append .*agentcards approve ${paused.workflow_id}`));
  const chat = posted.find(({ path }) => path === "/path-that-is-secret")!;
  assert.equal(chat.headers.get("x-key"), "key-that-is-secret");
  assert.equal(chat.told.text, told.text);

  isSilent = true;
  await until("the note", () => posted.some(({ told }) => told.kind === "note"), 10_000);
  const { servers } = JSON.parse((await home.run(["status", "--json"])).stdout);
  assert.match(servers.find(({ name }: { name: string }) => name === "web").error, /Error POSTing|sign of life/);
  assert.deepEqual(posted.filter(({ told }) => told.kind === "note").map(({ told, path }) => [told.subject, path]), [
    ["silent web", "/path-that-is-secret"],
  ]);
  assert.ok(!posted.some(({ path }) => path === "/elsewhere"), "no redirect is followed");
  assert.doesNotMatch(JSON.stringify(posted.map(({ told }) => told)) + line, /words-of-the-call/);
  const log = await home.log();
  assert.match(log, /alert_not_sent.*away/);
  assert.match(log, /NEVER_SET is not in secrets\.env/);
  assert.doesNotMatch(log, /that-is-secret/);
});
