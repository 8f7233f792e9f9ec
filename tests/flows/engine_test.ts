import assert from "node:assert/strict";
import { VERSION } from "../../src/platform/version.ts";
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

Deno.test("an engine gives back the memory that it no longer needs once it is quiet", async () => {
  await using home = await createTestHome({ servers: SERVERS, engine: { log_level: "debug" } });
  await using client = await connectClient(home);
  await client.use("kit:rows", { count: 500 });
  let swept: RegExpExecArray | null = null;
  const hasSwept = async () =>
    (swept = /"memory_swept".*"from_mb":(\d+),"to_mb":(\d+)/.exec(await home.log())) !== null;
  await until("a sweep", hasSwept, 90_000);
  assert.ok(Number(swept![1]) > Number(swept![2]), `${swept}`);
  assert.equal(textOf(await client.use("kit:echo", { text: "hi" })), "kit: hi");
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

Deno.test("hundreds of answers at once, more than a buffer holds, arrive whole and in their own place", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  await using client = await connectClient(home);
  await client.use("kit:echo", { text: "warm" });
  const texts = Array.from({ length: 400 }, (_, i) => `${i} ${"abcdefghij".repeat(300)} ${i}`);
  const answers = await Promise.all(texts.map((text) => client.use("kit:echo", { text })));
  assert.ok(answers.every((answer, i) => textOf(answer) === `kit: ${texts[i]}`));
  assert.deepEqual(client.others, []);
});

Deno.test("a server shared by two windows runs once, per set of variables, and asks the window that called", async () => {
  const kit = { ...testServer("kit"), shared: true, env: { WHO: "${WHO:-nobody}" } };
  await using home = await createTestHome({ servers: { kit } });
  const capabilities = { elicitation: { form: {} } };
  await using one = await connectClient(home, { capabilities });
  await using two = await connectClient(home, { capabilities });
  await using other = await connectClient(home, { env: { WHO: "somebody else" } });
  const pid = textOf(await one.use("kit:process"));
  assert.equal(textOf(await two.use("kit:process")), pid);
  assert.notEqual(textOf(await other.use("kit:process")), pid);
  assert.equal(textOf(await other.use("kit:environment", { name: "WHO" })), "somebody else");
  const call = two.use("kit:ask");
  await until("the question", () => two.others.some(({ method }) => method === "elicitation/create"));
  assert.equal(one.others.filter(({ method }) => method === "elicitation/create").length, 0);
  const question = two.others.find(({ method }) => method === "elicitation/create")!;
  await two.send({ id: question.id, result: { action: "accept", content: { name: "Two" } } });
  assert.match(textOf(await call), /Two/);
  await one.close();
  assert.equal(textOf(await two.use("kit:process")), pid, "it outlives the window that started it");
});

Deno.test("ending one server leaves the tenth alone", async () => {
  const names = Array.from({ length: 11 }, (_, i) => `s${i}`);
  await using home = await createTestHome({
    servers: Object.fromEntries(names.map((name) => [name, testServer("kit")])),
  });
  await using client = await connectClient(home);
  const pids: number[] = [];
  for (const name of names) pids.push(Number(textOf(await client.use(`${name}:process`))));
  await client.use("s0:crash");
  await until("its end", () => !isAlive(pids[0]!));
  await sleep(300);
  assert.deepEqual(pids.slice(1).filter((pid) => !isAlive(pid)), []);
});

Deno.test("calls that come while the engine stops leave no process behind", async () => {
  await using home = await createTestHome({ servers: { kit: testServer("kit"), slow: testServer("stubborn") } });
  await using client = await connectClient(home);
  const family = JSON.parse(textOf(await client.use("slow:family"))) as number[];
  const stopping = home.run(["engine", "stop"]);
  const calls = Array.from({ length: 20 }, async (_, i) => {
    await sleep(i * 40);
    return await client.use(i % 2 ? "kit:process" : "slow:family").then(textOf, () => "");
  });
  await stopping;
  const later = (await Promise.all(calls)).flatMap((text) => [...text.matchAll(/\d+/g)].map(([pid]) => Number(pid)));
  await client.close();
  // The engine that the late calls started is the parent of what they found; it may stay.
  const engine = await home.enginePid();
  const left = () => [...family, ...later].filter((pid) => pid > 1 && pid !== engine && isAlive(pid));
  await until("the end of all", () => left().length === 0, 3_000);
});

Deno.test("a server that is still starting when its client leaves is gone within two seconds", async () => {
  await using home = await createTestHome({ servers: { mute: { command: "sleep", args: ["987"] } } });
  const client = await connectClient(home);
  void client.use("mute:act").catch(() => {});
  const sleeping = async () => (await new Deno.Command("pgrep", { args: ["-f", "sleep 98[7]"] }).output()).success;
  await until("it starts", sleeping, 20_000);
  await client.close();
  await until("its end", async () => !await sleeping(), 2_000);
});

Deno.test("a call that was cancelled before its server had started is never made", async () => {
  const file = await Deno.makeTempFile();
  const { command, args } = testServer("kit");
  const slow = { command: "sh", args: ["-c", `sleep 0.7; exec "$0" "$@"`, command, ...args] };
  await using home = await createTestHome({ servers: { slow } });
  await using client = await connectClient(home);
  const params = { name: "call_tool", arguments: { tool: "slow:write", arguments: { file } } };
  await client.send({ id: "c", method: "tools/call", params });
  await sleep(200);
  await client.send({ method: "notifications/cancelled", params: { requestId: "c" } });
  assert.match(textOf(await client.use("slow:echo", { text: "started" })), /started/);
  assert.equal(await Deno.readTextFile(file), "");
  await Deno.remove(file);
});

Deno.test("a command that comes while the engine closes down waits for the next one", async () => {
  await using home = await createTestHome({ servers: { slow: testServer("stubborn") } });
  await using client = await connectClient(home);
  await client.use("slow:family");
  const [stopped, status] = await Promise.all([
    home.run(["engine", "stop"]),
    sleep(150).then(() => home.run(["status"])),
  ]);
  assert.equal(stopped.code, 0, stopped.stderr);
  assert.equal(status.code, 0, status.stdout + status.stderr);
});

Deno.test("garbage on the engine's socket costs only the connection it came on", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  await using client = await connectClient(home);
  await client.use("kit:echo", { text: "up" });
  const engine = await home.enginePid();
  const hello = JSON.stringify({ agentcards: 1, version: VERSION, kind: "control", cwd: "/", env: {} });
  for (const text of ["not a hello\n", `${hello}\nnot json\n`, `${hello}\n[]\n`]) {
    const conn = await Deno.connect({ transport: "unix", path: `${home.dir}/engine.sock` });
    await conn.write(new TextEncoder().encode(text));
    while (await conn.read(new Uint8Array(1_000)).catch(() => null));
    conn.close();
  }
  assert.equal(textOf(await client.use("kit:echo", { text: "still" })), "kit: still");
  assert.equal(await home.enginePid(), engine);
});

Deno.test("a home that cannot be used gives the client a clear answer", async () => {
  await using home = await createTestHome();
  await using client = await connectClient(home, {
    env: { AGENTCARDS_HOME: `${home.dir}/config.yaml/below` },
    handshake: false,
  });
  const answer = await client.request("server/discover");
  assert.match((answer.error as { message: string }).message, /did not start|Cannot use|Not a directory/);
});
