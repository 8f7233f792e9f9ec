import assert from "node:assert/strict";
import { parseConfig, readConfigFile } from "../../src/config/read.ts";
import { AgentCardsError } from "../../src/model/errors.ts";

/** What parseConfig() says about a text that it refuses. */
function problemsOf(text: string): string[] {
  try {
    parseConfig(text, "/x/config.yaml");
  } catch (error) {
    assert.ok(error instanceof AgentCardsError, `a ${error} came through`);
    assert.equal(error.code, "CONFIG_INVALID");
    assert.ok(error.message.startsWith("Cannot use /x/config.yaml: "), error.message);
    assert.ok(error.hint);
    return error.data!.problems as string[];
  }
  assert.fail(`accepted: ${text}`);
}

Deno.test("a wrong key is named with its line and the nearest one", () => {
  assert.deepEqual(problemsOf("servers:\n  a:\n    comand: x\n    url: http://x\n"), [
    'line 3: servers.a.comand is not a known key; did you mean "command"?',
  ]);
  assert.deepEqual(problemsOf("\nservres: {}\n"), ['line 2: servres is not a known key; did you mean "servers"?']);
  assert.deepEqual(problemsOf("engine:\n  idle_exit: 1s\n  zzzzzzzz: 1\n"), [
    "line 3: engine.zzzzzzzz is not a known key; known here: idle_exit, server_idle_stop, auto_resume, log_level, lease, owner, share",
  ]);
});

Deno.test("a wrong type or value is named with its line and what was expected", () => {
  for (
    const [text, problem] of [
      ["servers: 3", "line 1: servers must be a mapping (key: value)"],
      ["servers:\n  a: text", "line 2: servers.a must be a mapping (key: value)"],
      ["servers:\n  a:\n    command: 3", "line 3: servers.a.command must be a string"],
      ["servers:\n  a:\n    command: x\n    args: y", "line 4: servers.a.args must be a list"],
      ["servers:\n  a:\n    command: x\n    args:\n      - y\n      - true", "line 6: servers.a.args.1 must be text"],
      ["servers:\n  a:\n    command: x\n    env:\n      A:", "line 5: servers.a.env.A must be text"],
      ["servers:\n  a:\n    command: x\n    disabled: maybe", "line 4: servers.a.disabled must be a boolean"],
      ["engine:\n  log_level: loud", 'line 2: engine.log_level must be one of "debug", "info", "warning", "error"'],
      [
        "engine:\n  idle_exit: 3 weeks",
        'line 2: engine.idle_exit must be milliseconds or text such as "30s" or "10m"',
      ],
      ["engine:\n  idle_exit: []", 'line 2: engine.idle_exit must be milliseconds or text such as "30s" or "10m"'],
      ["limits:\n  answer_tokens: 1.5", "line 2: limits.answer_tokens must be a whole number"],
      ["limits:\n  answer_tokens: 5", "line 2: limits.answer_tokens Too small: expected number to be >=100"],
      ["policy:\n  deny:\n    - 3", "line 3: policy.deny.0 must be a string"],
      [
        "policy:\n  deny: [delete_repo]",
        'line 2: policy.deny.0 must be like "github:*", "*:delete_*" or "github:create_issue"',
      ],
      ["servers:\n  a: {}", "line 2: servers.a needs a command (a program to start) or a url (a remote server)"],
      [
        "servers:\n  a: { command: x, url: y }",
        "line 2: servers.a has both command and url; a server is one or the other",
      ],
      ["servers:\n  a: { url: y, args: [], cwd: / }", "line 2: servers.a args, cwd does not go with url"],
      [
        "servers:\n  a b: { url: y }",
        "line 2: servers.a b has a bad name: a server name is 1 to 64 letters, digits, _ . or -",
      ],
      [
        "servers:\n  agentcards: { url: y }",
        "line 2: servers.agentcards has a bad name: this name is ours; choose another",
      ],
      ["- a\n- b", "must be a mapping (key: value)"],
    ] as const
  ) assert.deepEqual(problemsOf(text), [problem], text);
});

Deno.test("broken YAML is named with its line", () => {
  for (
    const [text, line] of [
      ["servers:\n  a: { command: x\n  b: 1\n", 3],
      ["a: 1\nservers:\n\tx: 1\n", 3],
      ["servers: {}\nservers: {}\n", 2],
      ["servers: {}\n---\nservers: {}\n", 2],
      ['servers:\n  a: { command: "x }\n', 3],
    ] as const
  ) assert.match(problemsOf(text)[0]!, new RegExp(`at line ${line}, column \\d+$`), text);
});

Deno.test("several problems are all named, and a flood of them is cut", () => {
  const found = problemsOf("sandbox: x\nfoo: 1\nlimits: { frame_bytes: no }\nengine: { log_level: 1, idle: 2 }\n");
  assert.equal(found.length, 5);
  for (const line of [1, 2, 3, 4]) assert.ok(found.some((problem) => problem.startsWith(`line ${line}: `)), `${line}`);
  const flood = problemsOf(Array.from({ length: 500 }, (_, i) => `key${i}: 1\n`).join(""));
  assert.equal(flood.length, 21);
  assert.equal(flood.at(-1), "and 480 more");
});

Deno.test("aliases work, but a bomb, a loop or a dangling one is a problem of the file", () => {
  assert.deepEqual(parseConfig("policy: { deny: &d ['a:*'], approve: *d }", "x").policy, {
    deny: ["a:*"],
    approve: ["a:*"],
  });
  const level = (name: string, of: string) => `${name}: &${name} [${Array(10).fill(of).join(", ")}]\n`;
  const bomb = level("a", "x") + [..."bcdefghi"].map((name, i) => level(name, `*${"abcdefgh"[i]}`)).join("");
  const started = performance.now();
  assert.match(problemsOf(bomb)[0]!, /alias/);
  assert.match(problemsOf("servers: *nowhere\n")[0]!, /nowhere/);
  assert.ok(problemsOf("servers: &s\n  a: *s\n").length > 0);
  assert.ok(problemsOf("a: " + "[".repeat(5_000)).length <= 21);
  assert.ok(performance.now() - started < 2_000);
});

Deno.test("keys named like the prototype are harmless", () => {
  const parsed = parseConfig("servers:\n  __proto__: { command: x }\n  constructor: { command: y }\n", "x");
  assert.deepEqual(Object.entries(parsed.servers!), [["constructor", { command: "y" }]]);
  assert.equal(Object.getPrototypeOf(parsed.servers), Object.prototype);
  assert.equal(({} as Record<string, unknown>).command, undefined);
  assert.match(problemsOf("__proto__: { servers: {} }\n")[0]!, /__proto__ is not a known key/);
  assert.match(problemsOf("servers:\n  a: { command: x, __proto__: 3 }\n")[0]!, /__proto__ is not a known key/);
});

Deno.test("durations become milliseconds, and never more than a timer can wait", () => {
  const { engine } = parseConfig("engine: { idle_exit: 90s, server_idle_stop: 0 }", "x");
  assert.deepEqual(engine, { idle_exit: 90_000, server_idle_stop: 0 });
  for (const given of ["30d", "99999999999999999999h", "9007199254740991"]) {
    assert.equal(parseConfig(`engine: { idle_exit: ${given} }`, "x").engine!.idle_exit, 2 ** 31 - 1);
  }
  assert.equal(parseConfig("limits: { results_age: 30d }", "x").limits!.results_age, 30 * 86_400_000);
  assert.equal(parseConfig("limits: { results_age: 30ms }", "x").limits!.results_age, 30);
});

Deno.test("numbers and booleans in env and args become text", () => {
  const text = "servers:\n  a: { command: x, args: [-p, 80], env: { PORT: 80, DEBUG: true } }";
  assert.deepEqual(parseConfig(text, "x").servers!.a, {
    command: "x",
    args: ["-p", "80"],
    env: { PORT: "80", DEBUG: "true" },
  });
});

Deno.test("a missing or empty file is an empty one; a folder or a giant is not used", async () => {
  const dir = await Deno.makeTempDir();
  try {
    assert.deepEqual(await readConfigFile(`${dir}/none.yaml`), {});
    await Deno.writeTextFile(`${dir}/empty.yaml`, "# nothing\n");
    assert.deepEqual(await readConfigFile(`${dir}/empty.yaml`), {});
    await assert.rejects(readConfigFile(dir), { code: "CONFIG_INVALID" });
    await Deno.writeTextFile(`${dir}/large.yaml`, "#".repeat(1024 * 1024 + 1));
    await assert.rejects(readConfigFile(`${dir}/large.yaml`), { code: "CONFIG_INVALID", message: /larger than 1 MB/ });
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
