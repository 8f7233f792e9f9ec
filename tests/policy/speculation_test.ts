import assert from "node:assert/strict";
import { DEFAULTS } from "../../src/config/schema.ts";
import type { JsonObject } from "../../src/model/json.ts";
import { costOf, maySpeculate } from "../../src/policy/speculation.ts";

const policy = (more: Record<string, unknown> = {}) =>
  ({ ...DEFAULTS.policy, ...more }) as Parameters<typeof maySpeculate>[0];
const tool = (name: string, annotations?: JsonObject, properties: JsonObject = {}) => ({
  id: `s:${name}`,
  name,
  inputSchema: { type: "object", properties },
  ...annotations && { annotations },
});

Deno.test("only what plainly reads is called unasked", () => {
  for (const name of ["get_issue", "listFiles", "search-docs", "read_text_file", "find_user_by_id"]) {
    assert.equal(maySpeculate(policy(), tool(name)), true, name);
  }
  for (
    const name of [
      "set_status",
      "mark_read",
      "query",
      "find_and_replace",
      "getOrCreate",
      "check_out",
      "pods_list",
      "get_payment_form",
      "send_get",
      "list_then_purge",
      "getaway",
    ]
  ) assert.equal(maySpeculate(policy(), tool(name)), false, name);
  assert.equal(maySpeculate(policy(), tool("pods_list", { readOnlyHint: true })), true, "its server says so");
  assert.equal(maySpeculate(policy({ effects: { "s:peek": "read" } }), tool("peek")), true, "the user says so");
  assert.equal(
    maySpeculate(policy({ effects: { "s:*": "read" } }), tool("delete_all")),
    false,
    "nobody is believed that",
  );
  assert.equal(maySpeculate(policy(), tool("get_rows", { readOnlyHint: true }, { sql: { type: "string" } })), false);
  assert.equal(maySpeculate(policy(), tool("get_issue", { destructiveHint: true })), false);
});

Deno.test("what a call costs is what the longest pattern says", () => {
  const speculate = { ...DEFAULTS.policy.speculate, costs: { "s:*": 1, "s:get_*": 0.5 } };
  assert.equal(costOf(speculate.costs, "s:get_x"), 0.5);
  assert.equal(costOf(speculate.costs, "s:list"), 1);
  assert.equal(costOf(speculate.costs, "t:list"), 0);
});
