// Between a client and its engine: who is spoken to, and what is said.
import assert from "node:assert/strict";
import { locateHome } from "../../src/config/home.ts";
import { connectEngine } from "../../src/serve/link/engine_client.ts";
import { VERSION } from "../../src/platform/version.ts";
import { createTestHome, testServer, until } from "../fixtures/gateway.ts";

type Message = Record<string, unknown>;

/** A listener that keeps what it is told, and answers each line by `answer`. */
function listen(path: string, mode: number, answer: (line: Message) => Message | undefined = () => undefined) {
  const listener = Deno.listen({ transport: "unix", path });
  Deno.chmodSync(path, mode);
  const said: Message[] = [];
  const serving = (async () => {
    for await (const connection of listener) {
      let rest = "";
      const writer = connection.writable.getWriter();
      for await (const chunk of connection.readable.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop()!;
        for (const line of lines) {
          const message = JSON.parse(line);
          said.push(message);
          const reply = answer(message);
          if (reply) await writer.write(new TextEncoder().encode(`${JSON.stringify(reply)}\n`));
        }
      }
    }
  })().catch(() => {});
  return {
    said,
    async [Symbol.asyncDispose]() {
      listener.close();
      await serving;
    },
  };
}

Deno.test("a client says nothing to a socket that others could have made", async () => {
  await using home = await createTestHome();
  await using stranger = listen(`${home.dir}/engine.sock`, 0o666);
  for (const args of [["status"], ["serve"]]) {
    const { code, stderr, stdout } = await home.run(args, { env: { GITHUB_TOKEN: "canary-123456" } });
    if (args[0] === "status") {
      assert.notEqual(code, 0);
      assert.match(stderr + stdout, /is not private to you/);
    }
  }
  await Deno.chmod(`${home.dir}/engine.sock`, 0o600);
  await Deno.chmod(home.dir, 0o777);
  assert.match((await home.run(["status"])).stderr, /is not private to you/);
  await Deno.chmod(home.dir, 0o700);
  assert.deepEqual(stranger.said, []);
});

Deno.test({
  name: "a client says nothing in a home that belongs to another user",
  // Only root can give a folder away.
  ignore: Deno.uid() !== 0,
  async fn() {
    await using home = await createTestHome();
    await using stranger = listen(`${home.dir}/engine.sock`, 0o600);
    await Deno.chown(home.dir, 65534, 65534);
    const { code, stderr } = await home.run(["status"]);
    await Deno.chown(home.dir, 0, 0);
    assert.notEqual(code, 0);
    assert.match(stderr, /belongs to another user/);
    assert.deepEqual(stranger.said, []);
  },
});

Deno.test("a home with a path that is too long for a socket uses a private folder of the user, or says so", async () => {
  await using home = await createTestHome();
  const dir = `${home.dir}/${"long".repeat(25)}`;
  const env = { AGENTCARDS_HOME: dir, XDG_RUNTIME_DIR: "", HOME: home.dir };
  const refused = await home.run(["status"], { env: { ...env, HOME: dir } });
  assert.match(refused.stderr, /is too long for a socket/);
  try {
    assert.match((await home.run(["status"], { env })).stdout, /version/);
    const [socket] = await Array.fromAsync(Deno.readDir(`${home.dir}/.agentcards-sockets`));
    assert.match(socket!.name, /^agentcards-[0-9a-f]{16}\.sock$/);
    assert.equal((await Deno.stat(`${home.dir}/.agentcards-sockets`)).mode! & 0o777, 0o700);
  } finally {
    await home.run(["engine", "stop"], { env });
  }
});

Deno.test("the hello has harmless variables only, and the engine is told others by name", async () => {
  await using home = await createTestHome();
  const welcome = { agentcards: 2, version: VERSION, pid: 1 };
  const question = { agentcards: { names: ["WANTED", "NOT_SET"], key: "k" } };
  await using engine = listen(`${home.dir}/engine.sock`, 0o600, (line) => {
    if ("kind" in line) return welcome;
    return "id" in line ? question : { jsonrpc: "2.0", id: 1, result: {} };
  });
  const env = { ...home.env, WANTED: "wanted-value", UNASKED: "canary-123456", DBUS_SESSION_BUS_ADDRESS: "unix:x" };
  const { channel } = await connectEngine({ home: locateHome(home.env), kind: "control", cwd: "/", env });
  const lines: unknown[] = [];
  const reading = channel.read((line) => void lines.push(JSON.parse(new TextDecoder().decode(line as Uint8Array))));
  channel.write(JSON.stringify({ id: 1, method: "status" }));
  await until("the answer", () => lines.length > 0);
  channel.close();
  await reading;
  const [hello, , told] = engine.said as [{ env: Message }, unknown, Message];
  assert.equal(hello.env.PATH, home.env.PATH);
  assert.equal(hello.env.DBUS_SESSION_BUS_ADDRESS, "unix:x");
  assert.deepEqual(Object.keys(hello.env).filter((name) => ["WANTED", "UNASKED"].includes(name)), []);
  assert.deepEqual(told, { agentcards: { variables: { WANTED: "wanted-value" }, key: "k" } });
  assert.deepEqual(lines, [{ jsonrpc: "2.0", id: 1, result: {} }], "the question is not passed on");
});

Deno.test("a serve of the version before, which sends its whole environment, is served by this engine", async () => {
  const bad = { ...testServer("hostile", "echoes secrets"), env: { API_TOKEN: "${FROM_SESSION}" } };
  await using home = await createTestHome({ servers: { bad } });
  await home.run(["status"]);
  const pid = await home.enginePid();
  for (const version of [VERSION, "0.0.1"]) {
    const connection = await Deno.connect({ transport: "unix", path: `${home.dir}/engine.sock` });
    const env = { ...home.env, FROM_SESSION: "session-canary-1" };
    const hello = { agentcards: 1, version, kind: "control", cwd: home.dir, env };
    const call = { id: 1, method: "call", params: { tool: "bad:act" } };
    await connection.write(new TextEncoder().encode(`${JSON.stringify(hello)}\n${JSON.stringify(call)}\n`));
    let text = "";
    for await (const chunk of connection.readable.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.trim().split("\n").length >= 2) break;
    }
    const [welcome, answer] = text.trim().split("\n").map((line) => JSON.parse(line));
    assert.equal(welcome.pid, pid);
    assert.equal(welcome.leaving, undefined);
    assert.match(JSON.stringify(answer), /the token is \[redacted\]/);
  }
  assert.equal(await home.enginePid(), pid);
});
