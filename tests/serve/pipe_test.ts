// The pipe between a client and engines that come and go, with engines that are made for it.
import assert from "node:assert/strict";
import { createOpenRequests, type OpenRequest } from "../../src/serve/link/open_requests.ts";
import { type Channel } from "../../src/serve/link/channel.ts";
import { channelPair } from "../../src/serve/link/channel_pair.ts";
import { pipe } from "../../src/serve/link/pipe.ts";
import { onceReadable } from "../../src/workflow/attach.ts";
import { until } from "../fixtures/gateway.ts";

type Message = Record<string, unknown>;

const MOST_LINE = 1_000_000;

/** A client, the pipe, and engines that hear what they are sent. */
function setUp({ takesAgain }: { takesAgain: boolean }) {
  const [client, end] = channelPair(MOST_LINE);
  const engines: { channel: Channel; heard: Message[]; connection: string }[] = [];
  const told: Message[] = [];
  const decoder = new TextDecoder();
  const gather = (into: Message[]) => (line: unknown) => void into.push(JSON.parse(decoder.decode(line as Uint8Array)));
  void client.read(gather(told));
  const running = pipe({
    client: end,
    connect(connection) {
      const [ours, theirs] = channelPair(MOST_LINE);
      const heard: Message[] = [];
      void theirs.read(gather(heard));
      engines.push({ channel: theirs, heard, connection });
      return Promise.resolve({ channel: ours, pid: 0, takesAgain });
    },
  });
  return {
    engines,
    told,
    send: (message: Message) => client.write(JSON.stringify({ jsonrpc: "2.0", ...message })),
    /** Says something as the engine that is there. */
    say: (message: Message) => engines.at(-1)!.channel.write(JSON.stringify({ jsonrpc: "2.0", ...message })),
    /** Waits for the n-th engine. */
    engine: async (n: number) => {
      await until(`engine ${n}`, () => engines.length === n);
      return engines[n - 1]!;
    },
    async [Symbol.asyncDispose]() {
      client.close();
      await running;
    },
  };
}

const call = (id: unknown, name: string) => ({ id, method: "tools/call", params: { name, arguments: {} } });

Deno.test("an engine that takes requests again hears which, once, before any frame of the client", async () => {
  await using test = setUp({ takesAgain: true });
  const first = await test.engine(1);
  const handshake = { id: 0, method: "initialize", params: {} };
  test.send(handshake);
  await until("the handshake", () => first.heard.length === 2);
  test.say({ id: 0, result: {} });
  await until("the answer", () => test.told.length === 1);
  for (const [id, uri] of [[1, "a:"], [2, "b:"], [3, "c:"]] as const) {
    test.send({ id, method: "resources/subscribe", params: { uri } });
  }
  test.send(call("x", "run_workflow"));
  test.send(call("y", "call_tool"));
  test.send(call("gone", "call_tool"));
  test.send({ method: "notifications/cancelled", params: { requestId: "gone" } });
  await until("all", () => first.heard.length === 9);
  assert.deepEqual(first.heard[0], { again: [] });
  test.say({ id: 1, result: {} });
  test.say({ id: 2, error: { code: 1, message: "no" } });
  test.say({ id: "q", method: "elicitation/create", params: {} });
  await until("the answers", () => test.told.length === 4);
  first.channel.close();

  const second = await test.engine(2);
  assert.equal(second.connection, first.connection);
  await until("all again", () => second.heard.length === 6);
  const [again, ...frames] = second.heard;
  assert.deepEqual(again, { again: [3, "x", "y"] });
  assert.deepEqual(frames.map(({ method, id }) => [method, id]), [
    ["initialize", 0],
    ["resources/subscribe", "agentcards-renewal-1"],
    ["resources/subscribe", 3],
    ["tools/call", "x"],
    ["tools/call", "y"],
  ]);
  assert.deepEqual(frames[1]!.params, { uri: "a:" }, "what was refused is not renewed");
  test.say({ id: 0, result: {} });
  test.say({ id: "agentcards-renewal-1", result: {} });
  test.say({ id: "x", result: { done: true } });
  await until("the answer", () => test.told.at(-1)?.id === "x");
  assert.deepEqual(test.told.map(({ id, method }) => id ?? method), [0, 1, 2, "q", "notifications/cancelled", "x"]);
});

Deno.test("an engine of before that takes nothing again gets the handshake only, and who waits hears the truth", async () => {
  await using test = setUp({ takesAgain: false });
  const first = await test.engine(1);
  test.send({ id: 0, method: "initialize", params: {} });
  await until("the handshake", () => first.heard.length === 1);
  test.say({ id: 0, result: {} });
  for (const [id, name] of [[1, "run_workflow"], [2, "resume_workflow"], [3, "call_tool"]] as const) {
    test.send(call(id, name));
  }
  test.send({ id: 4, method: "tools/list" });
  await until("all", () => first.heard.length === 5);
  first.channel.close();
  const second = await test.engine(2);
  await until("all are told", () => test.told.length === 5);
  assert.deepEqual(second.heard.map(({ method }) => method), ["initialize"]);
  const texts = test.told.slice(1).map(({ result, error }) => JSON.stringify(result ?? error));
  for (const text of texts.slice(0, 2)) assert.match(text, /goes on by itself: do not run it again.*status/);
  assert.match(texts[2]!, /may or may not have had an effect: look before/);
  assert.match(texts[3]!, /-32603.*went away/);
  assert.doesNotMatch(texts.join(), /works again/);
});

Deno.test("a request that no engine survives is given up", async () => {
  await using test = setUp({ takesAgain: true });
  test.send(call("deadly", "call_tool"));
  for (let n = 1; n <= 5; n++) {
    const { heard, channel } = await test.engine(n);
    await until("it is there", () => heard.length === 2);
    channel.close();
  }
  await until("it is told", () => test.told.length === 1);
  assert.match(JSON.stringify(test.told), /"deadly".*went away during this call/);
  const last = await test.engine(6);
  await until("it begins", () => last.heard.length === 1);
  assert.deepEqual(last.heard, [{ again: [] }]);
});

Deno.test("of frames that are too much to keep, the oldest large ones go first", () => {
  const open = createOpenRequests({ mostBytes: 200_000 });
  const request = (id: number, bytes: number): [string, OpenRequest] => [
    String(id),
    { id, method: "tools/call", isStateless: false, line: new Uint8Array(bytes), sent: 1 },
  ];
  for (const [id, bytes] of [[1, 100], [2, 90_000], [3, 80_000], [4, 70_000], [5, 10]] as const) {
    open.add(...request(id, bytes));
  }
  assert.deepEqual(open.takeLost(false).map(({ id }) => id), [2]);
  assert.deepEqual(open.sendAll().map(({ id }) => id), [1, 3, 4, 5]);
  open.remove("3");
  open.add(...request(6, 90_000));
  assert.deepEqual(open.takeLost(false), [], "what was answered makes room");
});

Deno.test("whoever needs the journal waits until it can be read, or is told not to run it again", async () => {
  let tries = 0;
  const later = () => ++tries < 3 ? Promise.reject(new Error("not yet")) : Promise.resolve("run");
  const { signal } = new AbortController();
  assert.equal(await onceReadable(later, signal, 5_000), "run");
  const hint = /^Do not run it again: /;
  await assert.rejects(onceReadable(() => new Promise(() => {}), signal, 300), { code: "DB_UNUSABLE", hint });
  await assert.rejects(onceReadable(() => Promise.reject(new Error("broken")), signal, 300), /broken/);
});
