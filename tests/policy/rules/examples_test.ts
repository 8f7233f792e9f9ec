// The examples of docs/POLICY.md, each a file of `policy test`.
import assert from "node:assert/strict";
import { DEFAULTS } from "../../../src/config/schema.ts";
import { joinPolicy, parseConfig } from "../../../src/config/mod.ts";
import { compileRules, createRehearsal } from "../../../src/policy/mod.ts";
import { readRuleTests, runRuleTests } from "../../../src/policy/rules/test_file.ts";

const PAGE = new URL("../../../docs/POLICY.md", import.meta.url);

async function judged(text: string, path: string) {
  const tests = readRuleTests(text, path);
  const global = parseConfig(tests.config ?? "", path);
  const parts = { own: {}, twins: DEFAULTS.policy.twins };
  const policy = joinPolicy({ global, trusted: [], untrusted: [] }, parts);
  const rehearsal = createRehearsal(policy, await compileRules(policy));
  return await runRuleTests(tests, { policy, rehearsal, find: () => undefined });
}

Deno.test("every example of docs/POLICY.md holds, and has a call that passes and one that does not", async () => {
  const page = await Deno.readTextFile(PAGE);
  const examples = [...page.matchAll(/^### (\d+\. .*)\n[^#]*?```yaml\n([^]*?)```/gm)];
  assert.ok(examples.length >= 20, `${examples.length} examples`);
  for (const [, title, text] of examples) {
    const results = await judged(text!, title!);
    assert.deepEqual(results.filter(({ ok }) => !ok), [], title!);
    assert.ok(results.some(({ got }) => got === "pass"), `${title}: nothing passes`);
    assert.ok(results.some(({ got }) => got !== "pass"), `${title}: everything passes`);
  }
});

Deno.test("a verdict that is not the expected one is told with its line, and a wrong file with its place", async () => {
  const text = `calls:
  - { call: "a:b", effect: read, expect: deny }
policy:
  rules:
    - { name: r, match: "x:*", when: "args.n >", then: deny }
`;
  await assert.rejects(judged(text, "t.yaml"), /t\.yaml: line 5: rule "r": when: /);
  const [result] = await judged(text.replace("args.n >", "args.n > 1"), "t.yaml");
  assert.deepEqual([result!.line, result!.got, result!.ok], [2, "pass", false]);
  await assert.rejects(judged("calls: [{ call: a }]", "t.yaml"), /t\.yaml: calls\.0\.expect/);
  await assert.rejects(judged("rules: []\ncalls: [{ call: a, expect: deny }]", "t.yaml"), /"rules" is not a known key/);
});
