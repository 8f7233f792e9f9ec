// Figures through the front door: what `agentcards stats` tells of calls that a client made.
import assert from "node:assert/strict";
import { connectClient } from "../fixtures/client.ts";
import { createTestHome, testServer } from "../fixtures/gateway.ts";
import { webServer } from "../servers/web.ts";

Deno.test("stats tell results that do not fit their own schema, and tools that do the same", async () => {
  const outputSchema = {
    type: "object",
    properties: { id: { type: "number" }, city: { type: "string" } },
    required: ["id", "city"],
    additionalProperties: false,
  };
  const results = [{ id: 1, city: "Ulm" }, { id: 2 }, { id: 3, city: "Ulm", "ada@example.com": true }];
  await using web = webServer(undefined, {
    "tools/list": ({ id }) =>
      Response.json({
        jsonrpc: "2.0",
        id,
        result: { tools: [{ name: "place", description: "place", inputSchema: { type: "object" }, outputSchema }] },
      }),
    "tools/call": ({ id }) => {
      const structuredContent = results.shift();
      const content = [{ type: "text", text: JSON.stringify(structuredContent) }];
      return Response.json({ jsonrpc: "2.0", id, result: { content, structuredContent } });
    },
  });
  await using home = await createTestHome({
    servers: { web: { url: web.url }, kit: testServer("kit"), two: testServer("kit", "--name=two") },
    policy: { effects: { "*:*": "read" } },
  });
  await using client = await connectClient(home);
  for (let i = 0; i < 3; i++) await client.use("web:place");
  for (const tool of ["kit:echo", "kit:echo", "two:echo"]) await client.use(tool, { text: "a" });

  const json = JSON.parse((await home.run(["stats", "--json"])).stdout);
  assert.deepEqual(json.misfits, [
    { tool: "web:place", misfits: 2, problem: "result has a property that is not known" },
  ]);
  assert.deepEqual(json.tools.map(({ name, calls }: { name: string; calls: number }) => [name, calls]), [
    ["web:place", 3],
    ["kit:echo", 2],
    ["two:echo", 1],
  ]);
  assert.deepEqual(json.overlaps.map(({ tools }: { tools: string[] }) => tools), [["kit:echo", "two:echo"]]);
  assert.match(json.overlaps[0].advice, /policy\.deny with "(?:kit|two):echo" leaves one/);
  const { stdout } = await home.run(["stats"]);
  assert.match(stdout, /web:place: 2 results do not fit its own schema: result has a property that is not known/);
  assert.match(stdout, /kit:echo and two:echo: They seem to do the same/);
});
