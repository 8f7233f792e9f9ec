// The rules at the command line: what holds, what can never match, what would have been stopped.
import assert from "node:assert/strict";
import { connectClient } from "../fixtures/client.ts";
import { createTestHome, testServer, until } from "../fixtures/gateway.ts";
import { parse, stringify } from "yaml";

Deno.test("policy show, check, explain, test, replay, suggest and grants", async () => {
  const rules = [{ name: "loud", match: "kit:echo", when: 'args.text == "LOUD"', then: "deny" }];
  await using home = await createTestHome({
    servers: { kit: testServer("kit") },
    policy: { preset: "standard", rules, effects: { "kit:append": "effectful", "kit:echo": "read" } },
  });
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await home.run(["policy", ...args, "--json"]);
    assert.ok(stdout !== "", stderr);
    return { code, ...JSON.parse(stdout) };
  };
  const file = `${home.dir}/oracle`;
  {
    await using client = await connectClient(home, { capabilities: { elicitation: { form: {} } } });
    const answer = async (allow: string, made: Promise<unknown>) => {
      const seen = client.others.length;
      const find = () => client.others.slice(seen).find(({ method }) => method === "elicitation/create");
      await until("it asks", () => find() !== undefined);
      await client.send({ jsonrpc: "2.0", id: find()!.id, result: { action: "accept", content: { allow } } });
      await made;
    };
    for (const line of ["1", "2", "3"]) await answer("once", client.use("kit:append", { file, line }));
    const suggested = await json("suggest");
    assert.deepEqual(suggested[0], {
      tool: "kit:append",
      then: "allow",
      approved: 3,
      rejected: 0,
      why: "it was allowed 3 times, and never otherwise",
      line: '- { name: "allow kit:append", match: "kit:append", then: allow }',
    });
    await answer("always", client.use("kit:append", { file, line: "4" }));
    await client.use("kit:echo", { text: "fine" });
  }
  const shown = await json("show");
  assert.equal(shown.preset, "standard");
  assert.deepEqual(shown.rules.map(({ name, then }: Record<string, string>) => [name, then]), [["loud", "deny"]]);
  assert.match(shown.rules[0].at, /config\.yaml: line \d+$/);
  assert.match((await home.run(["policy", "show"])).stdout, /approve {2}first use: .*\n[^]*loud +kit:echo +deny/);
  assert.deepEqual(await json("check"), { code: 0, ok: true, rules: 1, problems: [] });

  const explained = await json("explain", "kit:echo", '{"text": "LOUD"}');
  assert.deepEqual([explained.verdict.kind, explained.verdict.rule], ["deny", "loud"]);
  const granted = await json("explain", "kit:append");
  assert.deepEqual([granted.effect, granted.granted, granted.verdict.kind], ["effectful", true, "pass"]);
  assert.match((await home.run(["policy", "explain", "kit:echo"])).stdout, /kit:echo: read[^]*rule "loud"[^]*passes/);

  const tests = `${home.dir}/tests.yaml`;
  await Deno.writeTextFile(
    tests,
    stringify({
      calls: [{ call: "kit:echo", args: { text: "LOUD" }, expect: "deny" }, { call: "kit:echo", expect: "deny" }],
    }),
  );
  const tested = await home.run(["policy", "test", tests]);
  assert.equal(tested.code, 1);
  assert.match(tested.stdout, /✗ line \d+: kit:echo: expected deny, got pass\n✗ 1 of 2 calls as expected/);

  await until("the calls are kept", async () => (await json("replay")).calls >= 5);
  const replayed = await json("replay");
  assert.deepEqual([replayed.denied, replayed.asked, replayed.unjudged], [0, 0, 0]);
  const other = `${home.dir}/other.yaml`;
  const stricter = [
    { name: "no 3", match: "kit:append", when: 'args.line == "3"', then: "deny" },
    { name: "from outside", match: "kit:echo", when: "untrusted(args.text)", then: "deny" },
  ];
  await Deno.writeTextFile(other, stringify({ policy: { preset: "minimal", rules: stricter } }));
  const would = await json("replay", other);
  assert.deepEqual([would.calls, would.denied, would.unjudged], [5, 1, 1], JSON.stringify(would));
  assert.deepEqual([would.rules[0].rule, would.rules[0].example.args.line], ["no 3", "3"]);
  assert.match((await home.run(["policy", "replay", other])).stdout, /Of 5 calls 1 would have been stopped/);

  assert.match((await home.run(["policy", "grants"])).stdout, /kit:append/);
  assert.match((await home.run(["policy", "grants", "revoke", "kit:*"])).stdout, /kit:append is asked about again/);
  assert.equal((await home.run(["policy", "grants", "revoke", "kit:*"])).code, 1);

  const path = `${home.dir}/config.yaml`;
  const config = parse(await Deno.readTextFile(path));
  const write = (rule: Record<string, unknown>) =>
    Deno.writeTextFile(path, stringify({ ...config, policy: { ...config.policy, rules: [rule] } }));
  await write({ name: "typo", match: "kit:echo", when: 'args.txet == "x"', then: "deny" });
  const never = await json("check");
  assert.equal(never.code, 1);
  assert.match(never.problems[0], /rule "typo": it can never match: none of its tools has the argument "txet"/);
  assert.match((await home.run(["status"])).stdout, /rule "typo": it can never match/);
  await write({ name: "broken", match: "kit:echo", when: "args.text ==", then: "deny" });
  const broken = await json("check");
  assert.equal(broken.code, 1);
  assert.match(broken.problems[0], /config\.yaml: line \d+: rule "broken": when: /);
});
