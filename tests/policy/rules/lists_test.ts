import assert from "node:assert/strict";
import { judge } from "../../../src/policy/rules/lists.ts";

const POLICY = { deny: ["*:delete_*", "shell:*"], approve: ["slack:post_message", "*:delete_draft", "git*:*"] };

Deno.test("what no rule names is allowed", () => {
  assert.deepEqual(judge(POLICY, "files:read"), { kind: "allow" });
  assert.deepEqual(judge({ deny: [], approve: [] }, "shell:run"), { kind: "allow" });
});

Deno.test("a rule that fits is named", () => {
  assert.deepEqual(judge(POLICY, "shell:run"), { kind: "deny", pattern: "shell:*" });
  assert.deepEqual(judge(POLICY, "slack:post_message"), { kind: "approve", pattern: "slack:post_message" });
  assert.deepEqual(judge(POLICY, "github:create_issue"), { kind: "approve", pattern: "git*:*" });
});

Deno.test("deny outranks approve, whichever is more exact", () => {
  assert.deepEqual(judge(POLICY, "mail:delete_draft"), { kind: "deny", pattern: "*:delete_*" });
});

Deno.test("a server cannot slip through with a name that only looks like another", () => {
  assert.equal(judge(POLICY, "shell:").kind, "deny");
  assert.equal(judge(POLICY, "shell:a:b").kind, "deny");
  assert.equal(judge(POLICY, "files:delete_x:y").kind, "deny");
  assert.equal(judge(POLICY, "xshell:run").kind, "allow");
});

Deno.test("the verdict that everyone shares cannot be changed", () => {
  const verdict = judge(POLICY, "files:read") as { kind: string };
  assert.throws(() => verdict.kind = "deny", TypeError);
});

Deno.test("a rule holds for every entry of the same program, unless it names one entry with =", () => {
  const twins = { github: ["github-cursor"], "github-cursor": ["github"] };
  const policy = { deny: ["github:delete_*", "=github:fork"], approve: ["github-cursor:merge"], twins };
  assert.deepEqual(judge(policy, "github-cursor:delete_repo"), { kind: "deny", pattern: "github:delete_*" });
  assert.deepEqual(judge(policy, "github:merge"), { kind: "approve", pattern: "github-cursor:merge" });
  assert.deepEqual(judge(policy, "github:fork"), { kind: "deny", pattern: "=github:fork" });
  assert.equal(judge(policy, "github-cursor:fork").kind, "allow");
  assert.equal(judge(policy, "gitlab:delete_repo").kind, "allow");
});

Deno.test("once allow names a server, only what it or approve names passes; deny comes first, asking stays", () => {
  const allow = [{ allow: ["github:list_*", "=github:get_issue"], approve: ["github:create_*"] }];
  const policy = { deny: ["github:list_secrets"], approve: ["github:create_*", "github:list_orgs"], allow };
  assert.equal(judge(policy, "github:list_issues").kind, "allow");
  assert.equal(judge(policy, "github:get_issue").kind, "allow");
  assert.deepEqual(judge(policy, "github:delete_repo"), { kind: "deny" });
  assert.deepEqual(judge(policy, "github:list_secrets"), { kind: "deny", pattern: "github:list_secrets" });
  assert.equal(judge(policy, "github:create_issue").kind, "approve");
  assert.equal(judge(policy, "github:list_orgs").kind, "approve", "what is allowed may still be asked about");
  assert.equal(judge(policy, "files:anything").kind, "allow", "other servers are not concerned");
  const twins = { github: ["github-2"], "github-2": ["github"] };
  const second = [{ allow: ["github-2:get_*"], approve: [] }];
  assert.equal(judge({ deny: [], approve: [], allow: second, twins }, "github:x").kind, "allow");
  assert.equal(judge({ deny: [], approve: [], allow: second, twins }, "github-2:x").kind, "deny");
});

Deno.test("the lists of several files must all let a call pass, and another file's approve opens none", () => {
  const policy = {
    deny: [],
    approve: ["*:*"],
    allow: [{ allow: ["a:*"], approve: [] }, { allow: ["a:read", "b:*"], approve: [] }],
  };
  assert.equal(judge(policy, "a:read").kind, "approve");
  assert.equal(judge(policy, "a:write").kind, "deny");
});

Deno.test("a pattern for all servers leaves our own names alone", () => {
  const policy = { deny: [], approve: [], allow: [{ allow: ["*:get_*"], approve: [] }] };
  assert.equal(judge(policy, "files:read").kind, "deny");
  assert.equal(judge(policy, "agentcards:read_result").kind, "allow");
  assert.equal(judge(policy, "workflow:daily").kind, "allow");
});
