// What one does with AgentCards every day, by the command line.
import assert from "node:assert/strict";
import { connectClient, textOf } from "../fixtures/client.ts";
import { createTestHome, PROGRAM, ROOT, testServer, until } from "../fixtures/gateway.ts";

const COMMENTED = `# mine
servers:
  # says back what it hears
  kit: ${JSON.stringify(testServer("kit"))} # the first
policy:
  preset: minimal
  deny:
    - two:write # never
`;

Deno.test("servers are added, switched off and on, restarted and removed, and comments stay", async () => {
  await using home = await createTestHome();
  const config = `${home.dir}/config.yaml`;
  await Deno.writeTextFile(config, COMMENTED);
  const { command, args } = testServer("kit", "--name=two");
  const TOKEN = "ghp_abcdefghijklmnop1234567";

  const added = await home.run(["add", "two", "--env", `GITHUB_TOKEN=${TOKEN}`, "--", command, ...args]);
  assert.equal(added.code, 0, added.stdout + added.stderr);
  assert.match(added.stdout, /✓ two works: \d+ tools/);
  const text = await Deno.readTextFile(config);
  assert.match(text, /^# mine\nservers:\n {2}# says back what it hears\n[^]*# the first\n/);
  assert.ok(!text.includes(TOKEN) && text.includes("${GITHUB_TOKEN}"), "a credential is not in the configuration");
  assert.equal((await home.run(["call", "two:environment", '{"name":"GITHUB_TOKEN"}'])).stdout.includes(TOKEN), false);
  const [first, second] = [await home.run(["call", "kit:process"]), await home.run(["call", "kit:process"])];
  assert.equal(first.stdout, second.stdout, "the server of a command stays for the next one");
  assert.match((await home.run(["status"])).stdout, /kit +running +\d+ .* just now/);

  await using client = await connectClient(home);
  const before = textOf(await client.use("two:process"));
  const restarted = await home.run(["restart", "two"]);
  assert.match(restarted.stdout, /Stopped "two".*\n✓ two works/);
  assert.notEqual(textOf(await client.use("two:process")), before);

  assert.match((await home.run(["disable", "two"])).stdout, /"two" is disabled/);
  await until("two is off", async () => /is disabled/.test(textOf(await client.use("two:process"))));
  assert.match((await home.run(["disable", "two"])).stdout, /disabled already/);
  assert.match((await home.run(["enable", "two"])).stdout, /"two" is enabled\.\n✓ two works/);

  const removed = await home.run(["rm", "two"]);
  assert.match(removed.stdout, /Removed "two"[^]*Rules that still name it: two:write[^]*GITHUB_TOKEN/);
  assert.equal(await Deno.readTextFile(config), COMMENTED.replace(/kit: .*} /, `kit: ${flow(testServer("kit"))} `));

  const bad = await home.run(["add", "bad", "--", "no-such-program"]);
  assert.equal(bad.code, 1);
  assert.match(bad.stdout, /✗ Cannot start server "bad": there is no program[^]*agentcards remove bad/);
  const cases: [string[], RegExp][] = [
    [["add", "kit", "--", "x"], /There is a server "kit" already/],
    [["add", "x", "npx", "-y", "foo"], /Put -- before the command/],
    [["add", "a b", "--", "x"], /1 to 64 letters/],
    [["remove", "kitt"], /There is no server "kitt"[^]*Nearest: kit/],
    [["list"], /agentcards status/],
  ];
  for (const [words, expected] of cases) {
    const wrong = await home.run(words);
    assert.notEqual(wrong.code, 0);
    assert.match(wrong.stderr, expected);
  }
});

/** As a flow mapping is written. */
const flow = ({ command, args }: { command: string; args: string[] }) =>
  `{ "command": ${JSON.stringify(command)}, "args": [ ${args.map((arg) => JSON.stringify(arg)).join(", ")} ] }`;

Deno.test("a tool is shown with an example, a run with its values, the log by server, words are completed", async () => {
  await using home = await createTestHome({
    servers: {
      kit: testServer("kit"),
      gone: { command: "no-such-program" },
      unset: { command: "x", args: ["${NOT_SET}"] },
    },
  });
  const tool = await home.run(["tools", "kit:add"]);
  assert.equal(tool.code, 0, tool.stdout + tool.stderr);
  assert.match(tool.stdout, /^kit:add {2}changes things; allowed\n\nAdds two numbers\n/);
  assert.match(tool.stdout, /a +number +yes/);
  const example = /agentcards call kit:add '(.*)'/.exec(tool.stdout)![1]!;
  assert.equal((await home.run(["call", "kit:add", example])).code, 0, "the example can be called");
  const unknown = await home.run(["tools", "kit:ad"]);
  assert.match(unknown.stderr, /There is no tool "kit:ad"[^]*Nearest: kit:add/);

  const file = `${home.dir}/flow.yaml`;
  await Deno.writeTextFile(file, 'tasks: [{ id: sum, tool: "kit:add", arguments: { a: 20, b: 22 } }]\n');
  const answer = JSON.parse((await home.run(["run", file, "--json"])).stdout);
  const shown = await home.run(["runs", "show", answer.workflow_id]);
  assert.match(shown.stdout, /sum\n {2}given {2}\{"a":20,"b":22\}\n {2}gave {3}\{"sum":42\}/);

  const log = await home.run(["logs", "kit"]);
  assert.match(log.stdout, /info +server started server=kit/);
  assert.ok(!log.stdout.includes("server=gone"));
  assert.equal((await home.run(["config", "path"])).stdout, `${await Deno.realPath(home.dir)}/config.yaml\n`);
  const check = await home.run(["config", "check"]);
  assert.equal(check.code, 1);
  assert.match(check.stdout, /✗ Cannot start server "gone"[^]*✗ Cannot start server "unset": NOT_SET not set/);

  const complete = async (...words: string[]) => (await home.run(["complete", "--", ...words])).stdout;
  assert.match(await complete("call", "kit:ad"), /^kit:add\tAdds two numbers\n/);
  assert.match(await complete("restart", ""), /kit\t[^]*gone\t/);
  assert.match(await complete("runs", "show", ""), new RegExp(answer.workflow_id));
  assert.match(await complete("run", `${home.dir}/fl`), /flow\.yaml/);
  const script = (await home.run(["complete", "bash"])).stdout;
  const bash = `agentcards() { ${PROGRAM.map((word) => `'${word}'`).join(" ")} "$@"; }
${script}
COMP_LINE="agentcards call kit:ad" COMP_POINT=22 COMP_WORDBREAKS=":"
__agentcards_with_colons; echo "\${COMPREPLY[@]}"`;
  const typed = await new Deno.Command("bash", { args: ["-c", bash], env: home.env, cwd: ROOT }).output();
  assert.equal(new TextDecoder().decode(typed.stdout), "add\n", new TextDecoder().decode(typed.stderr));
});

Deno.test("doctor looks at everything for real and says what to do", async () => {
  await using home = await createTestHome({
    servers: { kit: testServer("kit"), gone: { command: "no-such-program" } },
  }, { hasModel: true });
  const user = { HOME: home.dir };
  await Deno.mkdir(`${home.dir}/.cursor`);
  const entry = { mcpServers: { agentcards: { command: "/no/such/agentcards", args: ["serve"] } } };
  await Deno.writeTextFile(`${home.dir}/.cursor/mcp.json`, JSON.stringify(entry));
  const ill = await home.run(["doctor"], { env: user });
  assert.equal(ill.code, 1);
  assert.match(ill.stdout, /✓ installation: version/);
  assert.match(ill.stdout, /✗ Cursor: .*\/no\/such\/agentcards, which is not there\n {2}→ `agentcards init`/);
  assert.match(ill.stdout, /✓ server kit: \d+ tools/);
  assert.match(ill.stdout, /✗ server gone: .*no program[^]*→ Install it, or `agentcards disable gone`/);
  assert.match(ill.stdout, /✓ database: /);
  assert.match(ill.stdout, /✓ model: all-MiniLM-L6-v2/);
  assert.match(ill.stdout, /2 things do not work\.\n$/);

  await Deno.writeTextFile(`${home.dir}/.cursor/mcp.json`, "{}");
  await home.run(["disable", "gone"]);
  const well = JSON.parse((await home.run(["doctor", "--json"], { env: user })).stdout);
  assert.equal(well.ok, true, JSON.stringify(well));
});
