// Rules as a configuration file has them, judged without servers.
import assert from "node:assert/strict";
import { joinConfig } from "../../../src/config/join.ts";
import { parseConfig } from "../../../src/config/read.ts";
import {
  compileRules,
  createRulebook,
  createRuleHistory,
  type JudgedCall,
  neverMatches,
} from "../../../src/policy/mod.ts";

interface Options {
  readonly isGranted?: boolean;
  readonly untrusted?: readonly unknown[];
}

/** Judges calls by the `policy` of a file. */
async function judging(policy: string, { isGranted = false, untrusted = [] }: Options = {}) {
  const file = parseConfig(`policy:\n${policy.replace(/^/gm, "  ")}`, "config.yaml");
  const config = joinConfig({ global: file, trusted: [], untrusted: [], folderOf: () => undefined });
  const history = createRuleHistory("/nowhere");
  const rules = await compileRules(config.policy);
  const book = createRulebook(config.policy, {
    rules,
    history,
    counters: history.counters,
    check: () => Promise.resolve({ verdict: "deny" }),
    isGranted: () => isGranted,
  });
  const sources = {
    origin: (value: unknown) => untrusted.includes(value) ? "web:read_page" : "agent",
    untrusted: (value: unknown) => untrusted.includes(value),
    isField: () => false,
  };
  const callOf = (tool: string, args: Record<string, unknown> = {}, more: Partial<JudgedCall> = {}): JudgedCall => ({
    tool,
    args,
    effect: "effectful",
    by: "agent",
    isToolCall: true,
    sources,
    ...more,
  });
  const judge = async (...given: Parameters<typeof callOf>) => {
    const call = callOf(...given);
    const ruling = await book.judge(call);
    if (ruling.kind !== "deny") {
      for (const one of ruling.counted) history.counters.add(one);
      history.begin(call.tool, call.args).ended("ok");
    }
    return ruling.kind === "pass" ? "pass" : `${ruling.kind} ${ruling.rule}`;
  };
  return { judge, book, rules, callOf };
}

const declares = (...names: string[]) => ({
  definition: { hash: "1", inputSchema: { properties: Object.fromEntries(names.map((name) => [name, {}])) } },
});

Deno.test("the order: any denial, the first rule that allows or asks, grants, the preset", async () => {
  const { judge } = await judging(`rules:
  - { name: all of it, match: "bank:*", then: allow }
  - { name: asked, match: "bank:pay", then: approve }
  - { name: never, match: "*:pay", when: "args.amount > 100", then: deny }
  - { name: mail, match: "mail:*", then: approve }`);
  assert.equal(await judge("bank:pay", { amount: 5 }), "pass", "the first rule decides");
  assert.equal(await judge("bank:pay", { amount: 500 }), "deny never", "a denial counts wherever it stands");
  assert.equal(await judge("mail:send"), "ask mail");
  assert.equal(await judge("other:act"), "ask first use");
  assert.equal(await judge("other:act", {}, { effect: "read" }), "pass");
  assert.equal(await judge("other:act", {}, { by: "human" }), "pass", "a person is asked by rules only");
  const granted = await judging("preset: standard", { isGranted: true });
  assert.equal(await granted.judge("other:act"), "pass");
  const destructive = { definition: { hash: "1", inputSchema: {}, annotations: { destructiveHint: true } } };
  assert.equal(await granted.judge("other:act", {}, destructive), "ask destructive", "no grant counts");
  const named = await judging("allow: [other:act]");
  assert.equal(await named.judge("other:act", {}, destructive), "pass", "allowed by name");
  assert.equal(await (await judging("preset: minimal")).judge("other:act"), "pass");
  assert.equal(await (await judging("without: [first use]")).judge("other:act"), "pass");
});

Deno.test("absent arguments are null, a rule about an argument that a tool lacks does not apply, errors fail closed", async () => {
  const { judge } = await judging(`preset: minimal
rules:
  - { name: force, match: "git:*", when: 'args.force == true', then: deny }
  - { name: big, match: "git:*", when: 'args.size > 10', then: deny }
  - { name: path, match: "files:*", when: 'args.path.startsWith("/etc")', then: deny }
  - { name: open, match: "open:*", when: 'args.a + 1 > 0', then: allow }
  - { name: broken, match: "odd:*", when: 'args.a.b.c.startsWith(1)', then: approve }`);
  assert.equal(await judge("git:push", { force: true }, declares("force")), "deny force");
  assert.equal(await judge("git:push", {}, declares("force", "size")), "pass", "null is neither true nor more");
  assert.equal(await judge("git:push", { force: true }, declares("branch")), "deny force", "it was given all the same");
  assert.equal(await judge("files:read", {}, declares("path")), "pass");
  assert.equal(await judge("files:read", { path: "/etc/passwd" }, declares("path")), "deny path");
  assert.equal(await judge("files:list", {}, declares("folder")), "pass");
  assert.equal(await judge("odd:act", { a: { b: { c: 5 } } }), "ask broken");
});

Deno.test("rates and budgets count what they let pass, and history is counted over windows", async () => {
  const { judge } = await judging(`preset: minimal
rules:
  - { name: calm, match: "search:*", rate: { calls: 2, per: 1m }, then: deny }
  - { name: money, match: "stripe:*", budget: { usd: 5, per: 1d, cost: 'args.amount / 100.0' }, then: approve }
  - { name: many, match: "*", when: 'effect == "effectful" && count(tool, "1m") > 2', then: approve }
  - { name: after, match: "log:*", when: '!happened("db:dump", "1h")', then: deny }
  - { name: sums, match: "pay:*", when: 'sum("pay:*", "amount", "1d") + args.amount > 10.0', then: deny }`);
  const read = { effect: "read" } as const;
  assert.deepEqual(
    [await judge("search:web", {}, read), await judge("search:web", {}, read), await judge("search:x", {}, read)],
    ["pass", "pass", "deny calm"],
  );
  assert.equal(await judge("stripe:charge", { amount: 400 }, read), "pass");
  assert.equal(await judge("stripe:charge", { amount: 200 }, read), "ask money");
  for (let i = 0; i < 3; i++) assert.equal(await judge("w:act"), "pass");
  assert.equal(await judge("w:act"), "ask many");
  assert.equal(await judge("log:write", {}, read), "deny after");
  await judge("db:dump", {}, read);
  assert.equal(await judge("log:write", {}, read), "pass");
  assert.equal(await judge("pay:one", { amount: 8 }, read), "pass");
  assert.equal(await judge("pay:two", { amount: 3 }, read), "deny sums");
});

Deno.test("presets carry the lists of commands", async () => {
  const { judge } = await judging("preset: standard", { isGranted: true });
  const shell = (command: string) => judge("client:Bash", { command }, { isToolCall: false });
  for (
    const [command, word] of [
      ["rm -rf /tmp/x", "deny no rm -rf"],
      ["cd x && rm -f -r y", "deny no rm -rf"],
      ["rm --recursive --force y", "deny no rm -rf"],
      ["rm -r y", "pass"],
      ["echo harm -rf", "pass"],
      ["sudo ls", "deny no sudo"],
      ["echo a | sudo tee b", "deny no sudo"],
      ["cat sudoers", "pass"],
      ["chmod 777 x", "deny no chmod 777"],
      ["chmod -R 0777 x", "deny no chmod 777"],
      ["chmod 755 x", "pass"],
      ["psql -c 'DROP TABLE users'", "deny no drop table"],
      ["git push origin main", "ask git push"],
      ["git -C /x push", "ask git push"],
      ["git status", "pass"],
      ["kubectl apply -f x.yaml", "ask kubectl apply"],
      ["kubectl get pods", "pass"],
      ["systemctl restart nginx", "ask systemctl restart"],
      ["systemctl status nginx", "pass"],
    ] as const
  ) assert.equal(await shell(command), word, command);
  const sql = (query: string) => judge("pg:query", { query }, { effect: "read" });
  assert.equal(await sql("DELETE FROM users"), "deny no delete without where");
  assert.equal(await sql("delete from users where id = 1"), "pass");
  assert.equal(await sql("how to drop table legs"), "pass", "words of a search are no statement");
  assert.equal(await sql("DROP TABLE users"), "deny no drop table");
});

Deno.test("strict asks about values from outside, also where the tool was allowed", async () => {
  const { judge } = await judging("preset: strict", { isGranted: true, untrusted: ["mallory@evil.example"] });
  assert.equal(await judge("mail:send", { to: "ada@home.example" }), "pass");
  assert.equal(await judge("mail:send", { to: ["mallory@evil.example"] }), "ask values from outside");
});

Deno.test("observe writes a verdict down and lets the call pass", async () => {
  const { book, callOf } = await judging(`preset: minimal
rules:
  - { name: seen, match: "git:*", then: deny, mode: observe }`);
  const ruling = await book.judge(callOf("git:push"));
  assert.deepEqual([ruling.kind, ruling.observed], ["pass", ["seen: deny"]]);
});

Deno.test("what can never be allowed is known before it is called", async () => {
  const { book } = await judging(`rules:
  - { name: none, match: "a:never", then: deny }
  - { name: big, match: "a:*", when: "args.n > 5", then: deny }
  - { name: often, match: "a:*", when: 'count(tool, "1m") > 5', then: deny }`);
  const impossible = (tool: string, args?: Record<string, unknown>, open: string[] = []) =>
    book.impossible({ tool, args, effect: "read", open: new Set(open) }) !== undefined;
  assert.equal(impossible("a:never"), true);
  assert.equal(impossible("a:b"), false);
  assert.equal(impossible("a:b", { n: 6 }), true);
  assert.equal(impossible("a:b", { n: 4 }), false);
  assert.equal(impossible("a:b", { n: "$OUTPUT[x]" }, ["n"]), false, "it is not known yet");
});

Deno.test("a rule that cannot be read names its line, its name and the reason", async () => {
  const problem = async (rule: string) => {
    try {
      await judging(`rules:\n  - ${rule}`);
      return "";
    } catch (error) {
      return (error as Error).message;
    }
  };
  const ofWhen = (when: string) => problem(`{ name: r, match: "a:*", when: '${when}', then: deny }`);
  assert.match(await ofWhen("args.a =="), /config\.yaml: line 3: rule "r": when: /);
  assert.match(await ofWhen('args.a.matches("x")'), /matches\(\) is not available; use regex/);
  assert.match(await ofWhen('regex(args.a, "(")'), /regex\(\) cannot read/);
  assert.match(await ofWhen("nothing == 1"), /rule "r": when: .*nothing/);
  assert.match(await ofWhen('count(tool, "soon") > 1'), /"soon" is no window of time/);
  assert.match(await ofWhen('"a"'), /gives a value of type string, not true or false/);
  assert.match(await problem('{ name: r, match: "a:*", then: redact }'), /line 3: .*add on: result/);
  assert.match(await problem('{ name: r, match: "a:*", check: other }'), /no program "other" in policy\.checks/);
  assert.match(await problem('{ name: r, match: "a:*", then: dney }'), /line 3: .*must be one of "deny"/);
});

Deno.test("a rule that can never match is found, with the reason", async () => {
  const tools = [{ id: "git:push", hash: "", inputSchema: { properties: { force: {}, branch: {} } } }];
  const find = async (match: string, when = "true") => {
    const { rules } = await judging(`rules:\n  - { name: r, match: "${match}", when: '${when}', then: deny }`);
    return neverMatches(rules.all[0]!, ["git", "web"], (server) => server === "git" ? tools : undefined);
  };
  assert.equal(await find("git:*", "args.force == true"), undefined);
  assert.match(await find("gti:*") ?? "", /there is no server "gti"; configured: git, web/);
  assert.match(await find("git:pull") ?? "", /git has no tool "git:pull"/);
  assert.match(
    await find("git:*", "args.froce == true") ?? "",
    /none of its tools has the argument "froce"; they have force, branch/,
  );
  assert.equal(await find("web:*", "args.froce == true"), undefined, "its tools are not known");
  assert.equal(await find("*", "args.froce == true"), undefined);
});
