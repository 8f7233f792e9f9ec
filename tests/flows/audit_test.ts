import assert from "node:assert/strict";
import { connectClient } from "../fixtures/client.ts";
import { createTestHome, endProcess, testServer, until } from "../fixtures/gateway.ts";

Deno.test("every call on every path has its row in a chain that outlives a killed engine and can be checked", async () => {
  await using home = await createTestHome({
    servers: { kit: testServer("kit") },
    policy: { deny: ["kit:write"], effects: { "kit:add": "read", "kit:echo": "effectful" } },
  });
  const rows = async (...more: string[]) => {
    const { stdout } = await home.run(["audit", "--json", ...more]);
    return stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  };
  {
    await using client = await connectClient(home);
    await client.use("kit:add", { a: 1, b: 2 });
    await client.use("kit:echo", { text: "secret-of-mine" });
    await client.use("kit:write", { path: "/x", text: "y" });
    await client.call("execute_code", { code: "return await kit.echo({ text: 'from code' })" });
    await client.call("run_workflow", { tasks: [{ id: "sum", tool: "kit:add", arguments: { a: 1, b: 2 } }] });
    const engine = (await home.enginePid())!;
    await endProcess(engine, "SIGKILL");
    const told = (await rows()).filter(({ tool }) => /^kit:/.test(tool ?? ""));
    assert.deepEqual(
      told.map(({ kind, tool, by, outcome, client }) => [kind, tool, by, outcome, client].filter(Boolean).join(" ")),
      [
        "call kit:add agent ok test",
        "sent kit:echo agent test",
        "call kit:echo agent ok test",
        "call kit:write agent refused test",
        "sent kit:echo code test",
        "call kit:echo code ok test",
        "call kit:add agent ok test",
      ],
    );
    assert.match(told.at(-1).parent, /^wf_\w+\/sum$/);
    assert.ok(!JSON.stringify(told).includes("secret-of-mine"), "arguments are there as digests only");

    // Another engine goes on with the chain.
    await until("another engine", async () => {
      const result = await client.use("kit:add", { a: 3, b: 4 }).catch(() => undefined);
      return result !== undefined && result.isError !== true;
    });
    const engines = new Set((await rows("--tool", "kit:*")).map((row) => row.engine));
    assert.equal(engines.size, 2);
  }
  const exported = await home.run(["audit", "export", "--format", "ocsf"]);
  assert.equal(exported.code, 0, exported.stderr);
  assert.equal(JSON.parse(exported.stdout.split("\n")[0]!).class_uid, 6003);
  await home.run(["engine", "stop"]);
  const good = await home.run(["audit", "verify"]);
  assert.equal(good.code, 0, good.stdout);
  assert.match(good.stdout, /nothing was changed, added or removed/);
  assert.equal((await rows()).at(-1).kind, "export");

  const file = `${home.dir}/audit/rows-000000000001.jsonl`;
  const text = await Deno.readTextFile(file);
  await Deno.writeTextFile(file, text.replace('"outcome":"refused"', '"outcome":"failed"'));
  const bad = await home.run(["audit", "verify", "--json"]);
  assert.equal(bad.code, 1);
  assert.deepEqual(JSON.parse(bad.stdout).findings.map(({ problem }: { problem: string }) => problem), ["was changed"]);
});

Deno.test("without an audit nothing acts, reads go on, and status says why", async () => {
  await using home = await createTestHome({
    servers: { kit: testServer("kit") },
    policy: { effects: { "kit:add": "read", "kit:echo": "effectful" } },
  });
  // A file where the folder has to be.
  await Deno.writeTextFile(`${home.dir}/audit`, "");
  await using client = await connectClient(home);
  assert.notEqual((await client.use("kit:add", { a: 1, b: 2 })).isError, true);
  const refused = await client.use("kit:echo", { text: "x" });
  assert.equal(refused.isError, true);
  assert.match(JSON.stringify(refused.content), /The audit cannot be written/);
  const status = await home.run(["status"]);
  assert.equal(status.code, 1);
  assert.match(status.stdout, /The audit cannot be written/);

  await Deno.remove(`${home.dir}/audit`);
  await until("the audit again", async () => (await client.use("kit:echo", { text: "x" })).isError !== true);
  assert.equal((await home.run(["audit", "verify"])).code, 0);
});
