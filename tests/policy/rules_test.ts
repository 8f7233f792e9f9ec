import assert from "node:assert/strict";
import { judge } from "../../src/policy/rules.ts";

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
