// A remote server that wants a sign-in: what an agent hears, `agentcards login`, what goes on afterwards, and who never
// sees a token.
import assert from "node:assert/strict";
import { connectClient, textOf } from "../fixtures/client.ts";
import { createTestHome, type TestHome, until } from "../fixtures/gateway.ts";
import { signIn } from "../fixtures/sign_in.ts";
import { oauthServer } from "../servers/oauth.ts";

Deno.test("a call waits for the sign-in to its server, goes on after it, and nobody sees the tokens", async (t) => {
  await using server = oauthServer({ more: "write" });
  await using home = await createTestHome({ servers: { docs: { url: server.url } } }, { hasModel: true });
  await using agent = await connectClient(home);
  const pending = async (tool: string) => JSON.parse(textOf(await agent.use(tool)));

  await t.step("before it, everybody is told what to do", async () => {
    includes(textOf(await agent.use("docs:whoami")), "needs a sign-in: agentcards login docs");
    includes(textOf(await agent.call("search_tools", { query: "account" })), "agentcards login docs");
    includes((await home.run(["tools"])).stderr, "agentcards login docs");
    const status = await home.run(["status"]);
    assert.deepEqual(status.code, 1);
    assert.match(status.stdout, /docs +needs sign-in/);
  });

  await t.step("a sign-in asks for the rights that the server names, and reads its tools", async () => {
    const { code, output } = await signIn(home, "docs");
    assert.deepEqual(code, 0, output);
    includes(output, "Signed in to docs: 2 tools.");
    assert.deepEqual((await Deno.stat(`${home.dir}/tokens.json`)).mode! & 0o777, 0o600);
    assert.deepEqual(textOf(await agent.use("docs:whoami")), "whoami with [redacted]");
    assert.deepEqual((await home.run(["status"])).code, 0);
  });

  await t.step("a call that wants more rights waits, and goes on by itself", async () => {
    const { status, workflow_id, pending: waits } = await pending("docs:delete_all");
    assert.deepEqual([status, waits.reason, waits.for], ["paused", "sign_in", "human"]);
    includes(waits.why, "with write: agentcards login docs");
    // The agent's own word tries again, and finds it as it was.
    const again = await agent.call("resume_workflow", { workflow_id, action: "continue" });
    assert.deepEqual(JSON.parse(textOf(again)).pending.reason, "sign_in");
    const { output } = await signIn(home, "docs");
    includes(output, `Going on: ${workflow_id}`);
    assert.match(output, /scope=read\+write/);
    await until("the run is completed", async () => (await state(agent, workflow_id)).status === "completed");
  });

  await t.step("a token that is about to end is renewed before", async () => {
    const before = server.grants.length;
    await age(home, 3_599_000);
    assert.deepEqual(textOf(await agent.use("docs:whoami")), "whoami with [redacted]");
    assert.deepEqual(server.grants.slice(before).map((form) => form.get("grant_type")), ["refresh_token"]);
  });

  await t.step("twenty windows with one token that has ended renew it once", async () => {
    server.expire();
    const before = server.grants.length;
    const windows = await Promise.all(Array.from({ length: 19 }, () => connectClient(home)));
    const answers = await Promise.all([agent, ...windows].map((window) => window.use("docs:whoami")));
    assert.deepEqual(new Set(answers.map(textOf)), new Set(["whoami with [redacted]"]));
    assert.deepEqual(server.grants.slice(before).map((form) => form.get("grant_type")), ["refresh_token"]);
    await Promise.all(windows.map((window) => window.close()));
  });

  await t.step("a sign-in that the server has ended pauses a workflow, which goes on after the next", async () => {
    server.forget();
    const tasks = [{ id: "who", tool: "docs:whoami", arguments: {} }];
    const { status, workflow_id, pending: waits } = JSON.parse(textOf(await agent.call("run_workflow", { tasks })));
    assert.deepEqual([status, waits.reason], ["paused", "sign_in"]);
    includes((await home.run(["runs"])).stdout, "agentcards login docs");
    assert.deepEqual((await signIn(home, "docs")).code, 0);
    await until("the run is completed", async () => (await state(agent, workflow_id)).status === "completed");
  });

  await t.step("no token is in a log, a row, an answer, an error", async () => {
    // Of all that is on the disk.
    assert.deepEqual(await filesWith(home, server.given), ["tokens.json"]);
  });

  await t.step("after a sign-out the tokens are gone, here and there", async () => {
    const { stdout } = await home.run(["logout", "docs"]);
    includes(stdout, "its tokens are revoked");
    assert.deepEqual(server.revoked.length, 2);
    assert.deepEqual(await filesWith(home, server.given), []);
    assert.deepEqual((await pending("docs:whoami")).pending.reason, "sign_in");
    includes((await home.run(["logout", "docs"])).stdout, "not signed in");
  });

  await t.step("a sign-in by a code that is typed elsewhere", async () => {
    const { code, output } = await signIn(home, "docs", {
      args: ["--device"],
      browse: () => Promise.resolve(server.allowDevices()),
    });
    assert.deepEqual(code, 0, output);
    includes(output, "ABCD-EFGH");
  });
});

function includes(text: string, part: string): void {
  assert.ok(text.includes(part), `${JSON.stringify(part)} is not in ${text}`);
}

async function state(agent: Awaited<ReturnType<typeof connectClient>>, workflow_id: string) {
  return JSON.parse(textOf(await agent.call("resume_workflow", { workflow_id, action: "status" })));
}

/** The files of a home that hold one of these texts. */
async function filesWith(home: TestHome, texts: readonly string[], folder = home.dir): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isFile, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) found.push(...await filesWith(home, texts, path));
    const bytes = isFile ? await Deno.readFile(path).catch(() => new Uint8Array()) : new Uint8Array();
    const text = new TextDecoder("latin1").decode(bytes);
    if (texts.some((one) => text.includes(one))) found.push(path.slice(home.dir.length + 1));
  }
  return found;
}

/** Makes all tokens of a home older. */
async function age(home: TestHome, ms: number): Promise<void> {
  const path = `${home.dir}/tokens.json`;
  const file = JSON.parse(await Deno.readTextFile(path));
  for (const { grant } of file.servers) [grant.since, grant.until] = [grant.since - ms, grant.until - ms];
  await Deno.writeTextFile(path, JSON.stringify(file));
}
