import assert from "node:assert/strict";
import { connectClient, type Era, textOf } from "../fixtures/client.ts";
import { createTestHome, endProcess, isAlive, PROGRAM, sleep, testServer, until } from "../fixtures/gateway.ts";

const SERVERS = { kit: testServer("kit") };

Deno.test("twelve clients that start at once share one engine and get only their own answers", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  const clients = await Promise.all(Array.from({ length: 12 }, () => connectClient(home)));
  try {
    const answers = await Promise.all(clients.flatMap((client, c) =>
      Array.from({ length: 100 }, async (_, i) => {
        const said = `client ${c} call ${i}`;
        return textOf(await client.use("kit:echo", { text: said })) === `kit: ${said}`;
      })
    ));
    assert.equal(answers.length, 1_200);
    assert.ok(answers.every(Boolean));
    const engines = await processesWith(`AGENTCARDS_HOME=${home.dir}`, "engine");
    assert.equal(engines.length, 1, `engines: ${engines}`);
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
});

for (const era of ["legacy", "modern"] satisfies Era[]) {
  Deno.test(`killing the engine mid-call tells a ${era} client so, and its next call works`, async () => {
    await using home = await createTestHome({ servers: SERVERS });
    await using client = await connectClient(home, { era });
    if (era === "modern") {
      await client.request("server/discover");
      void client.request("subscriptions/listen", { notifications: { toolsListChanged: true } }, "sub").catch(() => {});
    }
    assert.equal(textOf(await client.use("kit:echo", { text: "before" })), "kit: before");
    const before = await home.enginePid();
    const call = client.use("kit:wait", { ms: 20_000 });
    const list = client.request("tools/list");
    await list;
    await sleep(100);
    Deno.kill(before!, "SIGKILL");
    const lost = await call;
    assert.equal(lost.isError, true);
    assert.match(textOf(lost), /engine went away during this call.*may or may not have had an effect/);
    assert.equal(textOf(await client.use("kit:echo", { text: "after" })), "kit: after");
    assert.notEqual(await home.enginePid(), before);
    const tools = (await client.request("tools/list")).result as { tools: unknown[] };
    assert.ok(tools.tools.length >= 2);
    const acks = client.others.filter(({ method }) => method === "notifications/subscriptions/acknowledged");
    assert.equal(acks.length, era === "modern" ? 1 : 0, "the handshake was repeated silently");
  });
}

Deno.test("a stopped engine gives a clear error that names its process and the way out", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  await using first = await connectClient(home);
  await first.use("kit:echo", { text: "up" });
  const pid = (await home.enginePid())!;
  Deno.kill(pid, "SIGSTOP");
  try {
    await using second = await connectClient(home, { handshake: false });
    const began = performance.now();
    const answer = await second.request("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "t", version: "1" },
    });
    const { message } = answer.error as { message: string };
    assert.match(message, new RegExp(`process ${pid}\\) does not answer within 5 s`));
    assert.match(message, /agentcards engine stop --force/);
    assert.ok(performance.now() - began < 9_000);
    const stopped = await home.run(["engine", "stop", "--force"]);
    assert.equal(stopped.code, 0, stopped.stderr);
    const again = await second.request("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "t", version: "1" },
    });
    assert.ok(again.result, "the same client works as soon as the engine is gone");
  } finally {
    await endProcess(pid);
  }
});

Deno.test("a socket left over from a crash is in nobody's way", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  await home.run(["status"]);
  Deno.kill((await home.enginePid())!, "SIGKILL");
  await until("the engine is gone", async () => !isAlive((await home.enginePid())!));
  assert.ok(await Deno.stat(`${home.dir}/engine.sock`), "the socket was left behind");
  await using client = await connectClient(home);
  assert.equal(textOf(await client.use("kit:echo", { text: "hi" })), "kit: hi");
});

Deno.test("the engine's socket, home and logs are private", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  await using client = await connectClient(home);
  await client.use("kit:echo", { text: "hi" });
  const mode = async (path: string) => (await Deno.stat(`${home.dir}/${path}`)).mode! & 0o777;
  assert.equal(await mode(""), 0o700);
  assert.equal(await mode("engine.sock"), 0o600);
  assert.equal(await mode("engine.lock"), 0o600);
  assert.equal(await mode("logs"), 0o700);
});

Deno.test("a home whose path is too long for a socket works through the runtime directory", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  const long = `${home.dir}/${"x".repeat(120)}`;
  await Deno.mkdir(long);
  await Deno.copyFile(`${home.dir}/config.yaml`, `${long}/config.yaml`);
  const env = { AGENTCARDS_HOME: long };
  const result = await home.run(["call", "kit:echo", '{"text":"far"}'], { env });
  assert.equal(result.stdout, "kit: far\n", result.stderr);
  assert.equal((await home.run(["engine", "stop"], { env })).code, 0);
});

Deno.test("the engine starts with a cleared environment and leaves when nobody needs it", async () => {
  await using home = await createTestHome({ servers: SERVERS, engine: { idle_exit: 300 } });
  const result = await home.run(["call", "kit:environment", '{"name":"PATH"}'], { env: { CANARY_OF_THE_SHELL: "x" } });
  assert.equal(result.code, 0, result.stderr);
  const pid = (await home.enginePid())!;
  assert.ok(!(await Deno.readTextFile(`/proc/${pid}/environ`)).includes("CANARY_OF_THE_SHELL"));
  await until("the idle engine leaves", () => !isAlive(pid));
});

Deno.test("serve --standalone runs everything in one process and refuses a home that is in use", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  {
    await using client = await connectClient(home, { args: ["serve", "--standalone"] });
    assert.equal(textOf(await client.use("kit:echo", { text: "alone" })), "kit: alone");
    assert.equal(await home.enginePid(), client.pid);
    const other = await home.run(["serve", "--standalone"]);
    assert.equal(other.code, 1);
    assert.match(other.stderr, new RegExp(`engine \\(process ${client.pid}\\) already uses`));
    assert.equal(other.stdout, "", "stdout carries protocol frames only");
  }
});

/** The processes whose environment has one text and whose command line another. */
async function processesWith(environment: string, command: string): Promise<number[]> {
  const found: number[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const [env, cmd] = await Promise.all(
      ["environ", "cmdline"].map((file) => Deno.readTextFile(`/proc/${name}/${file}`).catch(() => "")),
    );
    if (env!.includes(environment) && cmd!.split("\0").includes(command) && cmd!.includes(PROGRAM.at(-1)!)) {
      found.push(Number(name));
    }
  }
  return found;
}
