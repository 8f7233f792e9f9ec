import assert from "node:assert/strict";
import { connectClient, textOf } from "../fixtures/client.ts";
import { createTestHome, npmServer, testServer } from "../fixtures/gateway.ts";

Deno.test("status tells how everything is, and fails when something that was configured does not work", async () => {
  await using home = await createTestHome({
    servers: { kit: testServer("kit"), off: { command: "x", disabled: true } },
  }, { hasModel: true });
  const fresh = await home.run(["status"]);
  assert.equal(fresh.code, 0, fresh.stdout + fresh.stderr);
  assert.match(fresh.stdout, /kit +not tried/);
  assert.match(fresh.stdout, /off +disabled/);
  assert.ok(!fresh.stdout.includes("\x1b["), "no colour where nobody looks");
  await home.run(["call", "kit:echo", '{"text":"hi"}']);
  const known = JSON.parse((await home.run(["status", "--json"])).stdout);
  assert.equal(known.ok, true);
  assert.equal(known.servers[0].state, "running", "the server of a command stays for the next one");
  assert.ok(known.servers[0].tools > 10);
  assert.ok(known.database.bytes > 1_000_000);

  await Deno.writeTextFile(`${home.dir}/config.yaml`, "servers: { broken: { command: no-such-program } }");
  await home.run(["call", "broken:x"]);
  const broken = await home.run(["status"]);
  assert.equal(broken.code, 1);
  assert.match(broken.stdout, /✗ Cannot start server "broken": there is no program "no-such-program"/);

  await Deno.writeTextFile(`${home.dir}/config.yaml`, "servers:\n  kit:\n    comand: x\n");
  const wrong = await home.run(["status"]);
  assert.equal(wrong.code, 1);
  assert.match(
    wrong.stdout,
    /config\.yaml: .*line 3: servers\.kit\.comand is not a known key; did you mean "command"\?/,
  );
});

Deno.test("tools, search and call work at a terminal and for programs", async () => {
  await using home = await createTestHome({ servers: { kit: testServer("kit") } }, { hasModel: true });
  const tools = JSON.parse((await home.run(["tools", "--json"])).stdout);
  assert.ok(tools.tools.some(({ id }: { id: string }) => id === "kit:add"));
  assert.match((await home.run(["tools"])).stdout, /kit:write +allow +effectful +Writes into a file/);
  const search = await home.run(["search", "adds", "numbers"]);
  assert.match(search.stdout.split("\n")[1]!, /kit:add +Adds two numbers/);
  assert.equal((await home.run(["call", "kit:add", '{"a":2,"b":3}'])).stdout, '{\n  "sum": 5\n}\n');
  const whole = JSON.parse((await home.run(["call", "kit:add", '{"a":2,"b":3}', "--json"])).stdout);
  assert.deepEqual(whole.structuredContent, { sum: 5 });
  const unknown = await home.run(["index", "kitt"]);
  assert.deepEqual([unknown.code, unknown.stdout], [1, ""]);
  assert.match(unknown.stderr, /There is no server "kitt"\nNearest: kit\./);
  const failed = await home.run(["call", "kit:fail"]);
  assert.deepEqual([failed.code, failed.stdout, failed.stderr], [1, "", "it did not work\n"]);
});

Deno.test("wrong usage exits with 2 and says what was meant", async () => {
  await using home = await createTestHome();
  const cases: [string[], RegExp][] = [
    [["statsu"], /Did you mean one of stats, status\?/],
    [["search"], /missing required argument/],
    [["search", "x", "--limit", "none"], /positive whole number/],
    [["call", "a:b", "{"], /The arguments are not JSON/],
    [["call", "a:b", "[]"], /must be a JSON object/],
    [["tools", "--jsn"], /Did you mean --json\?/],
  ];
  for (const [args, expected] of cases) {
    const result = await home.run(args);
    assert.equal(result.code, 2, args.join(" "));
    assert.match(result.stderr, expected);
    assert.equal(result.stdout, "");
  }
});

Deno.test("completions are printed for the shells", async () => {
  await using home = await createTestHome();
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, stdout } = await home.run(["complete", shell]);
    assert.equal(code, 0);
    assert.match(stdout, /agentcards/);
  }
});

Deno.test("init brings servers over, serves them, and undo puts every byte back", async () => {
  await using home = await createTestHome();
  const user = await Deno.makeTempDir();
  const text = JSON.stringify({ mcpServers: { everything: npmServer("everything") }, other: { kept: true } }, null, 2) +
    "\n";
  await Deno.mkdir(`${user}/.cursor`);
  await Deno.writeTextFile(`${user}/.cursor/mcp.json`, text);
  const env = { HOME: user };
  const refused = await home.run(["init"], { env });
  assert.equal(refused.code, 2, "without a terminal it wants --yes");
  const done = await home.run(["init", "--yes"], { env });
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.stdout, /everything +1\d/);
  const rewritten = JSON.parse(await Deno.readTextFile(`${user}/.cursor/mcp.json`));
  assert.deepEqual(Object.keys(rewritten.mcpServers), ["agentcards"]);
  assert.deepEqual(rewritten.other, { kept: true });

  // The command that was written works from anywhere.
  const { command, args } = rewritten.mcpServers.agentcards;
  assert.deepEqual(args.slice(-3), ["serve", "--client", "cursor"]);
  const child = new Deno.Command(command, {
    args,
    cwd: "/",
    env: { ...home.env, ...env },
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode('{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}\n'));
  const reader = child.stdout.getReader();
  assert.match(new TextDecoder().decode((await reader.read()).value), /"id":1/);
  await writer.close();
  await child.status;
  await reader.cancel();

  assert.equal((await home.run(["init", "--undo"], { env })).code, 0);
  assert.equal(await Deno.readTextFile(`${user}/.cursor/mcp.json`), text);
  await Deno.remove(user, { recursive: true });
});

Deno.test("a project's configuration does nothing until it is trusted, and again after a change", async () => {
  await using home = await createTestHome({ servers: { own: testServer("kit", "--name=own") } });
  const project = await Deno.makeTempDir();
  await Deno.mkdir(`${project}/.agentcards`);
  const { command, args } = testServer("kit", "--name=theirs");
  const write = (more: string) =>
    Deno.writeTextFile(
      `${project}/.agentcards/config.yaml`,
      `servers: { theirs: ${JSON.stringify({ command, args })} }\n${more}`,
    );
  await write("");
  const run = (args: string[]) => home.run(args, { cwd: project });
  assert.match((await run(["call", "theirs:echo", '{"text":"x"}'])).stderr, /There is no server "theirs"/);
  assert.match((await run(["status"])).stdout, /not used until you run `agentcards trust`/);
  assert.equal((await run(["trust"])).code, 2, "nobody is there to say yes");
  const trusted = await run(["trust", "--yes"]);
  assert.ok(trusted.stdout.includes(JSON.stringify(args.at(-2))), "every word of the command is shown");
  assert.equal((await run(["call", "theirs:echo", '{"text":"x"}'])).stdout, "theirs: x\n");
  assert.match(
    (await home.run(["call", "theirs:echo"])).stderr,
    /There is no server "theirs"/,
    "elsewhere it does not exist",
  );
  await write("policy: { deny: ['own:*'] }\n");
  assert.match((await run(["call", "theirs:echo", '{"text":"x"}'])).stderr, /There is no server/);
  await run(["trust", "--yes"]);
  assert.match(
    (await run(["call", "own:echo", '{"text":"x"}'])).stderr,
    /own:echo may not be called: policy.deny has "own:\*"/,
  );
  await Deno.remove(project, { recursive: true });
});

Deno.test("what policy denies can be neither called nor found; what it wants approved asks the human", async () => {
  const policy = { deny: ["kit:crash"], approve: ["kit:ech*"] };
  await using home = await createTestHome({ servers: { kit: testServer("kit") }, policy });
  await using mute = await connectClient(home);
  assert.match(textOf(await mute.use("kit:crash")), /may not be called: policy\.deny/);
  const found = textOf(await mute.call("search_tools", { query: "ends the server in the middle of the call crash" }));
  assert.doesNotMatch(found, /^kit:crash\(/m);
  assert.match(found, /withheld by policy.deny: kit:crash/);
  assert.match(
    textOf(await mute.use("kit:echo", { text: "x" })),
    /needs a human's approval[^]*`agentcards approve ap_/,
  );
  const script = await home.run(["call", "kit:echo", '{"text":"x"}']);
  assert.match(script.stderr, /needs a human's approval .* and this client cannot ask/);

  await using client = await connectClient(home, { era: "modern", capabilities: { elicitation: { form: {} } } });
  const answer = async (given: Record<string, unknown>) => {
    const asked = await client.use("kit:echo", { text: "exactly this" });
    assert.match(JSON.stringify(asked.inputRequests), /Allow kit:echo\?.*exactly this/);
    const _retry = { inputResponses: { question: given }, requestState: asked.requestState };
    return textOf(await client.use("kit:echo", { text: "exactly this" }, { _retry }));
  };
  assert.equal(await answer({ action: "accept", content: { allow: true } }), "kit: exactly this");
  assert.match(await answer({ action: "accept", content: { allow: false } }), /not allowed by the human/);
  assert.match(await answer({ action: "decline" }), /not allowed by the human/);
  const asked = await client.use("kit:echo", { text: "harmless" });
  const _retry = {
    inputResponses: { question: { action: "accept", content: { allow: true } } },
    requestState: asked.requestState,
  };
  await assert.rejects(
    client.use("kit:echo", { text: "something else" }, { _retry }),
    /belongs to no call that is waiting/,
  );
});

Deno.test("--help shows every command under a heading of its own kind", async () => {
  await using home = await createTestHome();
  const { stdout } = await home.run(["--help"]);
  const headings = [...stdout.matchAll(/^(\S.*):\n((?: {2}.*\n)+)/gm)].map(([, heading, lines]) => [heading, lines!]);
  assert.deepEqual(headings.map(([heading]) => heading), [
    "Options",
    "Set up and look after",
    "Servers",
    "Tools",
    "Workflows",
    "What may happen, and what did",
    "Engine and database",
    "More",
  ]);
  const more = [...headings.at(-1)![1]!.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(more, ["complete", "help"], "a new command belongs under a heading");
});
