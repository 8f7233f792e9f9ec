import assert from "node:assert/strict";
import { Ajv } from "ajv";
import { parse } from "yaml";
import { ROOT } from "../fixtures/gateway.ts";
import { schemaText } from "../workflow_schema.ts";

Deno.test("the schema for editors says what the code checks, and takes every example", async () => {
  const text = await Deno.readTextFile(`${ROOT}workflow.schema.json`);
  assert.equal(text, schemaText(), "deno task schema writes it anew");
  const check = new Ajv({ strict: false, allErrors: true }).compile(JSON.parse(text));
  for await (const { name } of Deno.readDir(`${ROOT}docs/examples`)) {
    if (!name.endsWith(".yaml")) continue;
    const file = parse(await Deno.readTextFile(`${ROOT}docs/examples/${name}`));
    assert.ok(check(file), `${name}: ${JSON.stringify(check.errors)}`);
  }
  const task = { id: "a", tool: "s:t" };
  for (
    const wrong of [
      { tasks: [] },
      { tasks: [{ ...task, aproove: "human" }] },
      { tasks: [task], options: { priority: 6 } },
      { tasks: [task], on: [{ evry: "1m" }] },
      { tasks: [task], on: [{ every: "soon" }] },
    ]
  ) assert.ok(!check(wrong), JSON.stringify(wrong));
  assert.ok(check({ tasks: [{ ...task, when: "true", approve: "human" }], on: [{ run: "x", status: ["failed"] }] }));
});
