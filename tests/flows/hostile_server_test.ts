// The rows of tests/data/hostile.jsonl about servers: whatever one does, the engine lives and the others answer.
import assert from "node:assert/strict";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { createTestHome, isAlive, type TestHome, testServer, until } from "../fixtures/gateway.ts";

/** Deno keeps a second handle on stdout, so it takes a shell to really close it and live on. */
const CLOSES_STDOUT = `while read -r line; do
  id=$(printf %s "$line" | sed 's/.*"id":\\([^,}]*\\).*/\\1/')
  case $line in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}' ;;
    *'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"act","inputSchema":{"type":"object"}}]}}' ;;
    *'"tools/call"'*) exec >&-; sleep 1000 ;;
    *'"server/discover"'*) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"no"}}' ;;
  esac
done`;

const hostile = (mode: string, ...args: string[]) => testServer("hostile", mode, ...args);

interface Scene {
  readonly home: TestHome;
  readonly client: RawClient;
}

/** A home with one bad server and one good one; afterwards the same engine is alive and the good one answers. */
async function withServer(
  bad: Record<string, unknown>,
  work: (scene: Scene) => Promise<void>,
  more = {},
): Promise<void> {
  await using home = await createTestHome({ servers: { good: testServer("kit", "--name=good"), bad }, ...more });
  await using client = await connectClient(home);
  await client.use("good:echo", { text: "warm" });
  const engine = await home.enginePid();
  await work({ home, client });
  assert.equal(textOf(await client.use("good:echo", { text: "still here" })), "good: still here");
  assert.equal(await home.enginePid(), engine, "the engine is another one");
}

/**
 * Fails when the engine did not answer for more than 50 ms while something went on. A busy machine stalls everybody, so
 * the same is measured while nothing goes on, and a few tries are allowed.
 */
async function assertNoStall({ home }: Scene, work: () => Promise<unknown>): Promise<void> {
  const seen: string[] = [];
  for (let attempt = 0; attempt < 5; attempt++) {
    const calm = await longestAnswer(home, () => new Promise((resolve) => setTimeout(resolve, 400)));
    const stall = await longestAnswer(home, work);
    if (stall < Math.max(50, 3 * calm)) return;
    seen.push(`${Math.round(stall)} ms (calm ${Math.round(calm)} ms)`);
  }
  assert.fail(`the engine stalled: ${seen.join(", ")}`);
}

async function longestAnswer(home: TestHome, work: () => Promise<unknown>): Promise<number> {
  await using other = await connectClient(home);
  await other.request("ping");
  let longest = 0;
  let busy = true;
  const pinging = (async () => {
    while (busy) {
      const began = performance.now();
      await other.request("ping");
      longest = Math.max(longest, performance.now() - began);
    }
  })();
  await work();
  busy = false;
  await pinging;
  return longest;
}

Deno.test("srv-001: a server that never answers initialize fails at its timeout and is ended", async () => {
  await withServer({ ...hostile("mute"), start_timeout: 400 }, async ({ client, home }) => {
    const began = performance.now();
    const result = await client.use("bad:act");
    assert.ok(performance.now() - began < 5_000);
    assert.equal(result.isError, true);
    assert.match(textOf(result), /Cannot connect to server "bad"/);
    await until("its end", async () => (await childrenRunning(home, "mute")) === 0);
  });
});

Deno.test("srv-003: a server that exits in a call fails that call at once, is not asked again, and starts anew for the next", async () => {
  await withServer(hostile("exits"), async ({ client }) => {
    const began = performance.now();
    const calls = await Promise.all([client.use("bad:act"), client.use("bad:act")]);
    assert.ok(performance.now() - began < 5_000);
    for (const call of calls) {
      assert.match(textOf(call), /Server "bad" (went away during the call|is gone): its process ended with code 3/);
    }
    assert.match(textOf(await client.use("bad:act")), /went away during the call/);
  });
});

Deno.test("a server that keeps failing is left alone for a while, and says when it is tried again", async () => {
  await withServer({ command: "false" }, async ({ client }) => {
    await client.use("bad:act");
    await client.use("bad:act");
    await client.use("bad:act");
    const began = performance.now();
    const refused = textOf(await client.use("bad:act"));
    assert.match(refused, /failed 3 times in a row: .*\nIt is tried again in \d+ s/s);
    assert.ok(performance.now() - began < 500);
  });
});

Deno.test("srv-007: a flood of notifications stalls nobody, and the list is read at most once a second", async () => {
  await withServer(hostile("floods"), async (scene) => {
    await assertNoStall(scene, () => scene.client.use("bad:act"));
  });
});

Deno.test("srv-009: too many tools and too fat definitions are refused at the caps", async () => {
  await withServer(hostile("many tools"), async ({ home, client }) => {
    assert.match(textOf(await client.use("bad:tool_1")), /fine/);
    const { servers } = JSON.parse((await home.run(["status", "--json"])).stdout);
    const bad = servers.find(({ name }: { name: string }) => name === "bad");
    assert.equal(bad.tools, 2_000);
    assert.match(bad.dropped[0].why, /lists 10000 tools; limits.tools_per_server is 2000/);
  });
});

Deno.test("srv-022: an enum of a hundred thousand values costs that tool only, and no prototype is touched", async () => {
  await withServer(hostile("fat tools"), async (scene) => {
    await assertNoStall(scene, () => scene.client.use("bad:act"));
    const fat = textOf(await scene.client.use("bad:fat"));
    assert.match(fat, /bad:fat cannot be used: the definition has \d+ bytes/);
    assert.match(textOf(await scene.client.use("bad:proto")), /fine/);
    assert.equal(({} as Record<string, unknown>).polluted, undefined);
  });
});

Deno.test("srv-012: a name that two servers have must be said in full", async () => {
  await withServer(testServer("kit", "--name=bad"), async ({ client }) => {
    await client.use("bad:echo", { text: "known" });
    assert.match(
      textOf(await client.use("echo", { text: "x" })),
      /several servers: (good:echo, bad:echo|bad:echo, good:echo)/,
    );
  });
});

Deno.test("srv-017: hidden characters and endless space do not reach the agent", async () => {
  await withServer(hostile("hidden text"), async ({ client, home }) => {
    await client.use("bad:act");
    const found = textOf(await client.call("search_tools", { query: "bad:act" }));
    assert.match(found, /bad:act\(\) — visiblehidden/);
    // deno-lint-ignore no-control-regex
    assert.doesNotMatch(found, /[\u001b\u200b\u202e]|\u{e0041}/u);
    assert.ok(found.length < 1_000);
    assert.match((await home.run(["status", "--verbose"])).stdout, /bad:act was mended: hidden characters/);
  });
});

Deno.test("srv-018: a bad schema costs that tool only", async () => {
  await withServer(hostile("bad schemas"), async ({ client, home }) => {
    assert.match(textOf(await client.use("bad:act")), /fine/);
    assert.match(textOf(await client.use("bad:untyped")), /fine/);
    assert.match(textOf(await client.use("bad:absent")), /fine/);
    assert.match(textOf(await client.use("bad:banana")), /cannot be used: inputSchema has type "banana"/);
    const { servers } = JSON.parse((await home.run(["status", "--json"])).stdout);
    const bad = servers.find(({ name }: { name: string }) => name === "bad");
    assert.equal(bad.tools, 3);
    assert.equal(bad.dropped.length, 8);
    assert.equal(bad.repaired.length, 2);
  });
});

Deno.test("srv-019: no reference is ever fetched, and one to itself ends", async () => {
  let hits = 0;
  await using listener = Deno.serve({ port: 0, onListen: () => {} }, () => {
    hits++;
    return new Response("{}");
  });
  const url = `http://127.0.0.1:${listener.addr.port}/schema.json`;
  await withServer(hostile("references", url), async ({ client }) => {
    for (const name of ["remote", "file", "itself"]) {
      assert.match(textOf(await client.use(`bad:${name}`, { a: 1 })), /fine/);
    }
    const found = textOf(await client.call("search_tools", { query: "itself remote file", detail: "schema" }));
    assert.doesNotMatch(found, /root:/);
    assert.match(textOf(await client.call("search_tools", { query: "bad:itself" })), /bad:itself/);
  });
  assert.equal(hits, 0);
});

Deno.test("srv-021: a catastrophic pattern in a schema stalls nobody", async () => {
  await withServer(hostile("redos"), async (scene) => {
    await assertNoStall(scene, () => scene.client.use("bad:act", { a: "a".repeat(40) + "!" }));
  });
});

Deno.test("srv-025: a credential that a server was given comes back redacted, also as base64, and is in no log", async () => {
  const canary = "ghp_CanaryCanaryCanary0123456789";
  const bad = { ...hostile("echoes secrets"), env: { API_TOKEN: "${MY_CREDENTIAL}" } };
  await using home = await createTestHome({ servers: { bad } });
  await Deno.writeTextFile(`${home.dir}/secrets.env`, `MY_CREDENTIAL=${canary}\n`, { mode: 0o600 });
  {
    await using client = await connectClient(home);
    assert.match(textOf(await client.use("bad:act")), /^the token is \[redacted\], as base64 \[redacted\]=*$/);
    await client.use("bad:nothing", { said: canary });
  }
  await home.run(["engine", "stop"]);
  const found = await new Deno.Command("grep", {
    args: ["-rlaE", `${canary}|${btoa(canary).replace(/=+$/, "")}`, home.dir],
  }).output();
  assert.equal(new TextDecoder().decode(found.stdout).trim(), `${home.dir}/secrets.env`);
});

Deno.test("a secret spelt with escapes is redacted too, and one that overlaps an escape breaks nothing", async () => {
  const bad = { ...hostile("spells secrets"), env: { API_TOKEN: "${MY_CREDENTIAL}" } };
  await using home = await createTestHome({ servers: { bad } });
  await Deno.writeTextFile(`${home.dir}/secrets.env`, `MY_CREDENTIAL=newline-canary\n`, { mode: 0o600 });
  await using client = await connectClient(home);
  assert.equal(textOf(await client.use("bad:act")), "[redacted] and \newline-canary");
});

Deno.test("what a server says about a credential when it dies is redacted, in the answer, the database and the logs", async () => {
  const canary = "dying-words-canary-4711";
  const bad = { command: "sh", args: ["-c", "echo bad credential $API_TOKEN >&2; exit 1"], env: { API_TOKEN: canary } };
  await using home = await createTestHome({ servers: { bad } });
  const called = await home.run(["call", "bad:act"]);
  assert.match(called.stderr, /bad credential \[redacted\]/);
  await home.run(["status"]);
  await home.run(["engine", "stop"]);
  const found = await new Deno.Command("grep", { args: ["-rla", canary, home.dir] }).output();
  assert.equal(new TextDecoder().decode(found.stdout).trim(), `${home.dir}/config.yaml`);
});

Deno.test("srv-026: links in a result are passed on and never fetched", async () => {
  await withServer(testServer("kit", "--name=bad"), async ({ client }) => {
    const result = await client.use("bad:everything");
    assert.equal(result.content[3]!.type, "resource_link");
  });
});

Deno.test("srv-028: a server's own ids and ours are worlds apart", async () => {
  await withServer(hostile("same id"), async ({ client }) => {
    assert.equal(textOf(await client.use("bad:act")), "answered");
  });
});

Deno.test("rpc-010: an answer that is both result and error is an error", async () => {
  await withServer(hostile("both"), async ({ client }) => {
    assert.match(textOf(await client.use("bad:act")), /bad:act failed: it failed \(code 1\)/);
  });
});

Deno.test("srv-029: a second answer and one after the timeout are dropped", async () => {
  await withServer(hostile("twice"), async ({ client }) => {
    assert.equal(textOf(await client.use("bad:act")), "first");
    assert.equal(textOf(await client.use("bad:act")), "first");
  });
  await withServer({ ...hostile("late"), timeout: 200 }, async ({ client }) => {
    assert.match(
      textOf(await client.use("bad:act")),
      /Server "bad" did not answer within 0.2 s\n.*servers.bad.timeout/,
    );
    const second = client.use("bad:act");
    assert.match(textOf(await second), /did not answer/, "the late answer of the first is not the second's");
  });
});

Deno.test("rpc-009: answers that nobody asked for are dropped", async () => {
  await withServer(hostile("unknown ids"), async ({ client }) => {
    assert.equal(textOf(await client.use("bad:act")), "fine");
  });
});

Deno.test("srv-030: a server that closes its output, or leaves a daemon behind, is ended with all it started", async () => {
  await withServer({ command: "sh", args: ["-c", CLOSES_STDOUT] }, async ({ client }) => {
    assert.match(textOf(await client.use("bad:act")), /went away during the call/);
  });
  await withServer(hostile("forks and exits"), async ({ client, home }) => {
    assert.match(textOf(await client.use("bad:act")), /went away during the call/);
    await until("the daemon's end", async () => await childrenRunning(home, "sleep") === 0, 3_000);
  });
});

Deno.test("srv-031: hundreds of megabytes on stderr block neither the server nor us", async () => {
  await withServer(hostile("stderr"), async (scene) => {
    await assertNoStall(scene, async () => {
      assert.equal(textOf(await scene.client.use("bad:act")), "shouted");
    });
    let size = 0;
    for await (const entry of Deno.readDir(`${scene.home.dir}/logs`)) {
      size += (await Deno.stat(`${scene.home.dir}/logs/${entry.name}`)).size;
    }
    assert.ok(size < 1_000_000, `the logs have ${size} bytes`);
  });
});

Deno.test("a result of 20 MB becomes a handle without a stall; one of 100 MB costs the connection of its server only", async () => {
  await withServer(hostile("20 MB"), async (scene) => {
    await assertNoStall(scene, async () => {
      assert.match(textOf(await scene.client.use("bad:act")), /stored as r_/);
    });
  });
  await withServer(hostile("100 MB"), async ({ client }) => {
    assert.match(textOf(await client.use("bad:act")), /sent a message larger than 67108864 bytes/);
  });
});

Deno.test("garbage between messages is skipped, a bottomless message fails its call", async () => {
  await withServer(hostile("garbage"), async ({ client }) => {
    assert.equal(textOf(await client.use("bad:act")), "and yet it answers");
  });
  await withServer(hostile("chatty"), async ({ client }) => {
    assert.match(textOf(await client.use("bad:act")), /fine/);
  });
  await withServer({ ...hostile("deep"), timeout: 500 }, async ({ client }) => {
    assert.equal((await client.use("bad:act")).isError, true);
  });
});

Deno.test("a command that does not exist is named, with what to do", async () => {
  await withServer({ command: "no-such-program-anywhere" }, async ({ client }) => {
    const said = textOf(await client.use("bad:act"));
    assert.match(said, /Cannot start server "bad": there is no program "no-such-program-anywhere"/);
    assert.match(said, /Is it installed, and in the PATH/);
  });
  await withServer({ ...testServer("kit"), cwd: "/no/such/folder" }, async ({ client }) => {
    assert.match(textOf(await client.use("bad:echo")), /there is no folder \/no\/such\/folder/);
  });
});

/** How many living children of the home's engine have a word in their command line. */
async function childrenRunning(home: TestHome, word: string): Promise<number> {
  let found = 0;
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name) || !isAlive(Number(name))) continue;
    const environment = await Deno.readTextFile(`/proc/${name}/environ`).catch(() => "");
    const command = await Deno.readTextFile(`/proc/${name}/cmdline`).catch(() => "");
    if (
      environment.includes("AGENTCARDS_CHILD=") && environment.includes(home.dir) && command.split("\0").includes(word)
    ) found++;
  }
  return found;
}
