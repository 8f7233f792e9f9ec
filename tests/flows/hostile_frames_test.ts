// The rows of tests/data/hostile.jsonl about frames: whatever a client writes, it gets an answer or silence, never a crash.
import assert from "node:assert/strict";
import { connectClient, type Message, type RawClient, textOf } from "../fixtures/client.ts";
import { createTestHome, isAlive, sleep, type TestHome, testServer, until } from "../fixtures/gateway.ts";

const INITIALIZE = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };

/** A client in a home of its own; afterwards the same engine still answers a new client. */
async function scene(work: (client: RawClient, home: TestHome) => Promise<void>, handshake = true): Promise<void> {
  await using home = await createTestHome({ servers: { kit: testServer("kit") } });
  await using client = await connectClient(home, { handshake });
  if (handshake) await client.request("ping");
  else await client.request("server/discover");
  const engine = await home.enginePid();
  await work(client, home);
  await using other = await connectClient(home);
  assert.deepEqual((await other.request("ping")).result, {});
  assert.equal(await home.enginePid(), engine, "the engine is another one");
}

const codeOf = (message: Message) => (message.error as { code: number } | undefined)?.code;

Deno.test("rpc-005: a null id is refused", () =>
  scene(async (client) => {
    await client.raw('{"jsonrpc":"2.0","id":null,"method":"ping"}\n');
    assert.equal(codeOf(await client.answerTo(null)), -32600);
  }));

Deno.test("rpc-008: an id that is in use is refused, the first request is answered once", () =>
  scene(async (client) => {
    const call = { name: "call_tool", arguments: { tool: "kit:wait", arguments: { ms: 300 } } };
    await client.use("kit:echo", { text: "warm" });
    await client.send({ id: "same", method: "tools/call", params: call });
    await client.send({ id: "same", method: "tools/call", params: call });
    const refused = await client.answerTo("same");
    assert.equal(codeOf(refused), -32600);
    const answered = await client.answerTo("same");
    assert.equal(textOf(answered.result as never), "waited");
    await client.send({ id: "same", method: "ping" });
    assert.deepEqual((await client.answerTo("same")).result, {}, "afterwards the id is free again");
  }));

Deno.test("rpc-009: answers that we never asked for are dropped", () =>
  scene(async (client) => {
    await client.raw(
      '{"jsonrpc":"2.0","id":999,"result":{}}\n{"jsonrpc":"2.0","id":"agentcards-1","error":{"code":1,"message":"x"}}\n',
    );
    assert.deepEqual((await client.request("ping")).result, {});
  }));

Deno.test("rpc-011: methods named after object properties do not exist", () =>
  scene(async (client) => {
    for (const method of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      assert.equal(codeOf(await client.request(method)), -32601, method);
      const called = await client.call(method);
      assert.match(textOf(called), /There is no tool/);
    }
  }));

Deno.test("rpc-014: a client that sends a byte now and then keeps nobody else waiting", () =>
  scene(async (client, home) => {
    const frame = JSON.stringify({ jsonrpc: "2.0", id: "slow", method: "ping" }) + "\n";
    const sending = (async () => {
      for (const byte of frame) {
        await client.raw(byte);
        await sleep(10);
      }
    })();
    await using other = await connectClient(home);
    const began = performance.now();
    for (let i = 0; i < 10; i++) await other.request("ping");
    assert.ok(performance.now() - began < 1_000);
    await sending;
    assert.deepEqual((await client.answerTo("slow")).result, {});
  }));

Deno.test("rpc-015: bottomless arguments are refused by depth", () =>
  scene(async (client) => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    await client.raw(
      `{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"call_tool","arguments":{"tool":"kit:echo","arguments":{"text":${deep}}}}}\n`,
    );
    const answer = await client.answerTo(77);
    assert.equal(codeOf(answer), -32600);
    assert.match(JSON.stringify(answer), /nested deeper than 64/);
  }));

Deno.test("rpc-017: broken text is replaced or refused, and the logs stay valid", () =>
  scene(async (client, home) => {
    await client.raw(new Uint8Array([0xff, 0xfe, 0x00, 0x0a, 0xef, 0xbb, 0xbf, 0x7b, 0x0a, 0xc0, 0xaf, 0x0a]));
    assert.equal(codeOf(await client.answerTo(null)), -32700);
    const echoed = await client.use("kit:echo", { text: "lone \ud800 surrogate \u0000 nul" });
    assert.match(textOf(echoed), /^kit: lone . surrogate/s);
    for await (const { name } of Deno.readDir(`${home.dir}/logs`)) {
      new TextDecoder("utf-8", { fatal: true }).decode(await Deno.readFile(`${home.dir}/logs/${name}`));
    }
  }));

Deno.test("rpc-020: order and versions of the handshake", () =>
  scene(async (client) => {
    const early = await client.request("tools/call", { name: "call_tool", arguments: { tool: "kit:echo" } });
    assert.equal(codeOf(early), -32600);
    const strange = await client.request("initialize", { ...INITIALIZE, protocolVersion: "9999-01-01" });
    assert.equal((strange.result as { protocolVersion: string }).protocolVersion, "2025-11-25");
    assert.equal(codeOf(await client.request("initialize", INITIALIZE)), -32600);
  }, false));

Deno.test("rpc-021: cancelling what is unknown, finished or the handshake is ignored", () =>
  scene(async (client) => {
    await client.send({ method: "notifications/cancelled", params: { requestId: 4711 } });
    await client.send({ method: "notifications/cancelled", params: { requestId: 1 } });
    await client.send({ method: "notifications/cancelled", params: {} });
    await client.send({ method: "notifications/cancelled" });
    assert.deepEqual((await client.request("ping")).result, {});
  }));

Deno.test("rpc-022: ten thousand requests and a closed pipe leave nothing behind", () =>
  scene(async (_, home) => {
    const client = await connectClient(home);
    const pid = Number(textOf(await client.use("kit:process")));
    const frames = Array.from({ length: 10_000 }, (_, i) =>
      JSON.stringify({
        jsonrpc: "2.0",
        id: `f${i}`,
        method: "tools/call",
        params: { name: "call_tool", arguments: { tool: "kit:wait", arguments: { ms: 10_000 } } },
      }) + "\n");
    await client.raw(frames.join(""));
    assert.equal((await client.close()).code, 0);
    await until("its servers end", () => !isAlive(pid));
    const log = (await home.run(["status", "--json"])).stdout;
    assert.equal(JSON.parse(log).connections, 1);
  }));

Deno.test("rpc-023: progress goes to its owner only; a token that is an object is refused", () =>
  scene(async (client) => {
    const meta = { progressToken: { not: "a token" } };
    const refused = await client.request("tools/call", {
      name: "call_tool",
      arguments: { tool: "kit:echo" },
      _meta: meta,
    });
    assert.equal(codeOf(refused), -32600);
    await Promise.all([1, 2].map(() => client.use("kit:wait", { ms: 40, steps: 2 }, { progressToken: "shared" })));
    const tokens = client.others.filter(({ method }) => method === "notifications/progress")
      .map(({ params }) => (params as Message).progressToken);
    assert.deepEqual(tokens, ["shared", "shared", "shared", "shared"]);
  }));

Deno.test("frames that are no requests get the usual errors", () =>
  scene(async (client) => {
    const cases: [string, number][] = [
      ["not json", -32700],
      ["[]", -32600],
      ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
      ["7", -32600],
      ['"text"', -32600],
      ['{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600],
      ['{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600],
    ];
    for (const [line, code] of cases) {
      await client.raw(line + "\n");
      assert.equal(codeOf(await client.answerTo(null)), code, line);
    }
    await client.raw('{"jsonrpc":"2.0","id":5,"method":7}\n');
    assert.equal(codeOf(await client.answerTo(5)), -32600);
    await client.raw('{"jsonrpc":"2.0","id":6,"method":"ping","params":[1]}\n');
    assert.equal(codeOf(await client.answerTo(6)), -32600);
    await client.raw(`"${"x".repeat(17 * 1024 * 1024)}"\n`);
    assert.match(JSON.stringify(await client.answerTo(null)), /larger than 16777216 bytes/);
    assert.deepEqual((await client.request("ping")).result, {});
  }));
