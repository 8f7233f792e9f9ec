import assert from "node:assert/strict";
import { openDatabase } from "../../src/db/pglite/open.ts";
import { connectClient } from "../fixtures/client.ts";
import { createTestHome, testServer } from "../fixtures/gateway.ts";

interface Row {
  readonly tool: string;
  readonly ok: boolean;
  readonly made_by: string;
  readonly client: string | null;
  readonly folder: string;
  readonly run: string | null;
  readonly task: string | null;
}

Deno.test("every call is recorded once, under one name, with who made it, its client, folder, run and task", async () => {
  await using home = await createTestHome({
    servers: { kit: testServer("kit") },
    policy: { deny: ["kit:write"], effects: { "kit:add": "read", "kit:echo": "read" } },
  });
  {
    await using client = await connectClient(home);
    await client.use("kit:add", { a: 1, b: 2 });
    await client.use("add", { a: 1, b: 2 });
    await client.use("kit:write", { path: "/x", text: "y" }).catch(() => {});
    await client.call("search_tools", { query: "add two numbers" });
    await client.call("execute_code", { code: "return await kit.echo({ text: 'from code' })" });
    await client.call("run_workflow", {
      tasks: [
        { id: "sum", tool: "kit:add", arguments: { a: 1, b: 2 } },
        { id: "say", type: "code_execution", code: "return await kit.echo({ text: 'x' })", depends_on: ["sum"] },
      ],
    });
    await home.run(["call", "kit:add", '{"a":1,"b":2}']);
  }
  await home.run(["engine", "stop"]);
  const db = await openDatabase(`${home.dir}/data`);
  try {
    const rows = await db.query<Row>(
      "select tool, ok, made_by, client, folder, run, task from tool_call order by at, tool",
    );
    const of = (tool: string) => rows.filter((row) => row.tool === tool);
    assert.deepEqual([...new Set(rows.map(({ tool }) => tool))].sort(), [
      "agentcards:execute_code",
      "agentcards:run_workflow",
      "agentcards:search_tools",
      "kit:add",
      "kit:echo",
      "kit:write",
    ]);
    assert.equal(of("agentcards:search_tools").length, 1);
    assert.deepEqual(of("kit:add").map(({ made_by, task }) => [made_by, task]).sort(), [
      ["agent", null],
      ["agent", null],
      ["agent", "sum"],
      ["human", null],
    ]);
    assert.deepEqual(of("kit:echo").map(({ made_by, task }) => [made_by, task]).sort(), [
      ["code", null],
      ["code", "say"],
    ]);
    assert.deepEqual(
      of("kit:write").map(({ ok, made_by }) => [ok, made_by]),
      [[false, "agent"]],
      "refused, and recorded",
    );
    assert.ok(rows.filter(({ task }) => task !== null).every(({ run }) => /^wf_/.test(run ?? "")));
    const clients = rows.filter(({ made_by }) => made_by === "agent").map(({ client }) => client);
    assert.deepEqual([...new Set(clients)], ["test"]);
    assert.ok(rows.every(({ folder }) => folder.startsWith("/")));
  } finally {
    await db.close();
  }
});
