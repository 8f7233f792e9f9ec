import assert from "node:assert/strict";
import { worse } from "../../src/model/effect.ts";
import { effectOf } from "../../src/policy/effects.ts";
import type { JsonObject } from "../../src/model/json.ts";

const policy = (effects: Record<string, "read" | "idempotent" | "effectful"> = {}) => ({
  deny: [],
  approve: [],
  effects,
});
const effect = (name: string, annotations?: JsonObject, effects = {}) =>
  effectOf(policy(effects), { id: `s:${name}`, name, ...annotations && { annotations } });

Deno.test("a tool that says nothing of itself is effectful", () => {
  assert.equal(effect("frobnicate"), "effectful");
  assert.equal(effect("frobnicate", {}), "effectful");
  assert.equal(effect("frobnicate", { title: "x" }), "effectful");
});

Deno.test("names promise: reading where no word acts", () => {
  for (const name of ["get_issue", "listFiles", "search", "read-text-file", "API-get-user"]) {
    assert.equal(effect(name), "read", name);
  }
  for (const name of ["create_issue", "deleteFile", "get_or_create_user", "send", "list_and_delete"]) {
    assert.equal(effect(name), "effectful", name);
  }
});

Deno.test("a word that can be a thing acts only where it is not what is read", () => {
  for (
    const name of ["get_order_details", "list_open_issues", "getRunStatus", "search_commit", "repo_get_merge_base"]
  ) {
    assert.equal(effect(name), "read", name);
  }
  for (const name of ["order_get_status", "get_and_post", "check_book", "find_then_close", "run_query", "get_delete"]) {
    assert.equal(effect(name), "effectful", name);
  }
});

Deno.test("a name that reads only at its end, or that does something besides, promises nothing", () => {
  for (
    const name of [
      "set_status",
      "toggle_status",
      "mark_read",
      "find_and_replace",
      "check_out",
      "get_and_set",
      "list_and_archive",
    ]
  ) assert.equal(effect(name), "effectful", name);
  for (const name of ["git_fetch_merge", "fetch_push", "query_import", "count_start", "frobnicate_query"]) {
    assert.equal(effect(name), "effectful", name);
  }
});

Deno.test("of annotation and name the more dangerous one counts", () => {
  assert.equal(effect("delete_all", { readOnlyHint: true }), "effectful", "an annotation does not talk a name down");
  assert.equal(effect("get_thing", { readOnlyHint: false }), "effectful");
  assert.equal(effect("get_thing", { destructiveHint: true, readOnlyHint: true }), "effectful");
  assert.equal(effect("frobnicate", { readOnlyHint: true }), "read");
  assert.equal(effect("get_thing", { idempotentHint: true }), "idempotent");
  assert.equal(effect("get_thing", { readOnlyHint: "yes" }), "read", "a hint that is no boolean is none");
});

Deno.test("the configuration's word outranks both, the most exact pattern first", () => {
  const effects = { "s:*": "effectful", "s:get_*": "read", "s:get_secret": "effectful" } as const;
  assert.equal(effect("get_issue", { readOnlyHint: false }, effects), "read");
  assert.equal(effect("get_secret", { readOnlyHint: true }, effects), "effectful");
  assert.equal(effect("list", { readOnlyHint: true }, effects), "effectful");
});

Deno.test("worse() keeps the more dangerous", () => {
  assert.equal(worse("read", "idempotent"), "idempotent");
  assert.equal(worse("effectful", "read"), "effectful");
});
