import assert from "node:assert/strict";
import { AgentCardsError, openGateway } from "../mod.ts";
import { createTestHome, testServer } from "./fixtures/gateway.ts";

Deno.test("a program can open a gateway, search it and call tools", async () => {
  await using home = await createTestHome({ servers: { kit: testServer("kit") } });
  {
    await using gateway = await openGateway({ home: home.dir });
    const [best] = await gateway.searchTools("add two numbers");
    assert.equal(best?.tool.id, "kit:add");
    const result = await gateway.callTool("kit:add", { a: 20, b: 22 });
    assert.deepEqual(result.structuredContent, { sum: 42 });
    await assert.rejects(
      gateway.callTool("kit:nothing"),
      (error) => error instanceof AgentCardsError && error.code === "TOOL_UNKNOWN",
    );
    await assert.rejects(openGateway({ home: home.dir }), /already uses/);
  }
});
