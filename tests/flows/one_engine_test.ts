// Faults that would let two engines work in one home. Each acknowledges what it writes, and one of them would lose it.
import assert from "node:assert/strict";
import { lockFolder } from "../../src/db/lock.ts";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { createTestHome, endProcess, isAlive, sleep, type TestHome, testServer, until } from "../fixtures/gateway.ts";
import { read, run, task } from "../fixtures/workflow.ts";

const CONFIG = { servers: { kit: testServer("kit") }, policy: { effects: { "kit:echo": "read" } } };
const LEFT = /home_lost.*was removed or replaced/;

/** The engines of a home, whichever way those who started them spelled it. */
async function enginesOf(dir: string): Promise<number[]> {
  const found: number[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    const [env, command] = await Promise.all(
      ["environ", "cmdline"].map((file) => Deno.readTextFile(`/proc/${name}/${file}`).catch(() => "")),
    );
    if (env!.includes(`AGENTCARDS_HOME=${dir}\0`) && command!.includes("\0engine\0run\0")) found.push(Number(name));
  }
  return found.filter(isAlive);
}

/** Runs workflows one after another until it is stopped; keeps the ids of those whose end was told. */
function keepRunning(client: RawClient, acknowledged: string[]): () => Promise<void> {
  let isStopped = false;
  const working = (async () => {
    while (!isStopped) {
      const result = await client.call("run_workflow", { tasks: [task("a", "kit:echo", { text: "x" })] })
        .catch(() => undefined);
      if (result && !result.isError) acknowledged.push(read(result).workflow_id);
      else await sleep(50);
    }
  })();
  return async () => {
    isStopped = true;
    await working;
  };
}

async function requireKnown(client: RawClient, ids: readonly string[]): Promise<void> {
  const lost: string[] = [];
  for (const workflow_id of ids) {
    const result = await client.call("resume_workflow", { workflow_id, action: "status" });
    if (result.isError || read(result).status !== "completed") lost.push(`${workflow_id}: ${textOf(result)}`);
  }
  assert.deepEqual(lost, [], `${lost.length} of ${ids.length} acknowledged runs are lost`);
}

/** Makes a fault under an engine with two clients at work, and looks at what is left. */
async function faultUnderWork(home: TestHome, fault: () => Promise<void>): Promise<void> {
  await using one = await connectClient(home);
  const acknowledged: string[] = [];
  for (let i = 0; i < 5; i++) acknowledged.push((await run(one, [task("a", "kit:echo", { text: "x" })])).workflow_id);
  const before = (await home.enginePid())!;
  const stopOne = keepRunning(one, acknowledged);
  try {
    await sleep(300);
    await fault();
    await using two = await connectClient(home);
    const stopTwo = keepRunning(two, acknowledged);
    try {
      await until("the engine leaves", () => !isAlive(before));
      const count = acknowledged.length;
      await until("work goes on", () => acknowledged.length > count + 10);
    } finally {
      await stopTwo();
    }
  } finally {
    await stopOne();
  }
  await until("one engine is left", async () => (await enginesOf(home.dir)).length === 1);
  assert.notEqual(await home.enginePid(), before);
  await requireKnown(one, acknowledged);
  assert.match(await home.log(), LEFT);
}

Deno.test("an engine whose lock is removed leaves, and all that it acknowledged is known to the next", async () => {
  await using home = await createTestHome(CONFIG);
  await faultUnderWork(home, () => Deno.remove(`${home.dir}/engine.lock`));
  assert.match(await Deno.readTextFile(`${home.dir}/logs/engine.err`), LEFT, "whoever looks there finds it, too");
});

Deno.test("an engine whose lock and socket are removed leaves, and nothing acknowledged is lost", async () => {
  await using home = await createTestHome(CONFIG);
  await faultUnderWork(home, async () => {
    await Deno.remove(`${home.dir}/engine.lock`);
    await Deno.remove(`${home.dir}/engine.sock`);
  });
});

Deno.test("an engine whose data folder is replaced leaves before it acknowledges what nobody would find", async () => {
  await using home = await createTestHome(CONFIG);
  await using client = await connectClient(home);
  await run(client, [task("a", "kit:echo", { text: "x" })]);
  const before = (await home.enginePid())!;
  await Deno.rename(`${home.dir}/data`, `${home.dir}/data.away`);
  await until("the engine leaves", () => !isAlive(before), 10_000);
  await Deno.rename(`${home.dir}/data.away`, `${home.dir}/data`);
  await until("work goes on", async () => {
    const result = await client.call("run_workflow", { tasks: [task("a", "kit:echo", { text: "x" })] });
    return !result.isError;
  });
});

Deno.test("an engine whose home is moved away and copied back leaves, and acknowledges nothing after that", async () => {
  await using home = await createTestHome(CONFIG);
  await using one = await connectClient(home, { cwd: "/" });
  const acknowledged: string[] = [];
  for (let i = 0; i < 5; i++) acknowledged.push((await run(one, [task("a", "kit:echo", { text: "x" })])).workflow_id);
  const before = (await home.enginePid())!;
  const away = `${home.dir}.away`;
  try {
    // It sees nothing of a home that is only half there, and nobody starts another engine in that.
    Deno.kill(before, "SIGSTOP");
    await Deno.rename(home.dir, away);
    const copied = await new Deno.Command("cp", { args: ["-a", away, home.dir] }).output();
    Deno.kill(before, "SIGCONT");
    assert.ok(copied.success, new TextDecoder().decode(copied.stderr));
    await until("the engine leaves", () => !isAlive(before), 10_000);
    const stop = keepRunning(one, acknowledged);
    try {
      await until("work goes on", () => acknowledged.length > 15).catch(async ({ message }) => {
        throw new Error(`${message}\n${one.stderr()}\n${await home.log()}`);
      });
    } finally {
      await stop();
    }
    assert.equal((await enginesOf(home.dir)).length, 1);
    await requireKnown(one, acknowledged);
  } finally {
    await endProcess(before, "SIGKILL");
    await Deno.remove(away, { recursive: true }).catch(() => {});
  }
});

Deno.test("a copy of a home does not lead to the engine of the home it was copied from", async () => {
  await using home = await createTestHome(CONFIG);
  await using other = await createTestHome(CONFIG);
  await home.run(["status"]);
  await Deno.copyFile(`${home.dir}/engine.lock`, `${other.dir}/engine.lock`);
  // An engine that took the lock a moment ago has not written its own socket down.
  using lock = await Deno.open(`${other.dir}/engine.lock`, { read: true, write: true });
  await lock.lock(true);
  const asked = other.run(["status", "--json"]);
  await sleep(1_000);
  await lock.unlock();
  const { stdout, stderr } = await asked;
  assert.notEqual((JSON.parse(stdout) as { pid: number }).pid, await home.enginePid(), stderr);
});

Deno.test("a home with a long path, reached by links and from other sessions, has one engine", async () => {
  await using home = await createTestHome(CONFIG);
  const long = `${home.dir}/${"x".repeat(120)}`;
  const link = `${home.dir}.link`;
  await Deno.mkdir(long);
  await Deno.copyFile(`${home.dir}/config.yaml`, `${long}/config.yaml`);
  await Deno.symlink(`${home.dir}/models`, `${long}/models`);
  await Deno.symlink(long, link);
  for (const name of ["r1", "r2"]) await Deno.mkdir(`${home.dir}/${name}`, { mode: 0o700 });
  const spellings = [
    { AGENTCARDS_HOME: long, XDG_RUNTIME_DIR: `${home.dir}/r1` },
    { AGENTCARDS_HOME: long, XDG_RUNTIME_DIR: `${home.dir}/r2` },
    { AGENTCARDS_HOME: link, XDG_RUNTIME_DIR: "" },
    { AGENTCARDS_HOME: `${long}/../r1/../${"x".repeat(120)}/`, XDG_RUNTIME_DIR: `${home.dir}/r2` },
  ];
  try {
    const pids = new Set<number>();
    for (const env of spellings) {
      const began = performance.now();
      const { stdout, stderr } = await home.run(["status", "--json"], { env });
      assert.ok(stdout.startsWith("{"), stderr);
      pids.add((JSON.parse(stdout) as { pid: number }).pid);
      assert.ok(performance.now() - began < 14_000, "nobody waited for an engine that cannot come");
    }
    assert.equal(pids.size, 1, `engines: ${[...pids]}`);
    assert.deepEqual(await enginesOf(long), [...pids]);
    // The socket goes on to be found after an engine was started from elsewhere.
    assert.equal((await home.run(["engine", "restart"], { env: spellings[2]! })).code, 0);
    const { stdout } = await home.run(["status", "--json"], { env: spellings[0]! });
    assert.deepEqual(await enginesOf(long), [(JSON.parse(stdout) as { pid: number }).pid]);
  } finally {
    await home.run(["engine", "stop", "--force"], { env: spellings[0]! });
    await Deno.remove(link);
  }
});

Deno.test("twenty clients that start at once by four spellings share one engine", async () => {
  await using home = await createTestHome(CONFIG);
  const link = `${home.dir}.link`;
  await Deno.symlink(home.dir, link);
  const spellings = [home.dir, link, `${link}/.`, `${home.dir}/../${home.dir.split("/").at(-1)}`];
  const clients = await Promise.all(
    Array.from({ length: 20 }, (_, i) => connectClient(home, { env: { AGENTCARDS_HOME: spellings[i % 4]! } })),
  );
  try {
    const answers = await Promise.all(
      clients.map((client) => run(client, [task("a", "kit:echo", { text: "x" })])),
    );
    assert.ok(answers.every(({ status }) => status === "completed"));
    await until("the losers of the race are gone", async () => (await enginesOf(home.dir)).length === 1);
    assert.deepEqual(await enginesOf(home.dir), [await home.enginePid()]);
    await requireKnown(clients[0]!, answers.map(({ workflow_id }) => workflow_id));
  } finally {
    await Promise.all(clients.map((client) => client.close()));
    await Deno.remove(link);
  }
});

Deno.test("a home that a program uses for itself alone is told as such within seconds", async () => {
  await using home = await createTestHome(CONFIG);
  await using alone = await connectClient(home, { args: ["serve", "--standalone"] });
  const { code, stderr } = await home.run(["status"]);
  assert.equal(code, 1);
  assert.match(stderr, new RegExp(`Process ${alone.pid} uses ${home.dir} for itself alone`));
  const stopped = await home.run(["engine", "stop"]);
  assert.equal(stopped.code, 1);
  assert.match(stopped.stderr, /it is no engine/);
  assert.ok(isAlive(alone.pid), "a program that is no engine is not ended unasked");
});

Deno.test("no server has the engine's own socket, where it could answer in its place", async () => {
  await using home = await createTestHome(CONFIG);
  await using client = await connectClient(home);
  const kit = Number(textOf(await client.use("kit:process")));
  const engine = (await home.enginePid())!;
  const sockets = (await Deno.readTextFile("/proc/net/unix")).split("\n")
    .filter((line) => line.endsWith(`${home.dir}/engine.sock`)).map((line) => `socket:[${line.trim().split(/ +/)[6]}]`);
  const held = (pid: number) =>
    [...Deno.readDirSync(`/proc/${pid}/fd`)].map(({ name }) => readLink(`/proc/${pid}/fd/${name}`))
      .filter((file) => sockets.includes(file));
  assert.ok(held(engine).length > 0, "the engine has it");
  assert.deepEqual(held(kit), []);
});

function readLink(path: string): string {
  try {
    return Deno.readLinkSync(path);
  } catch {
    return "";
  }
}

Deno.test("a socket that is left open by a process that is no engine keeps nobody waiting", async () => {
  await using home = await createTestHome(CONFIG);
  // As a child of a killed engine would: connections are taken by the system, and nobody answers.
  using left = Deno.listen({ transport: "unix", path: `${home.dir}/engine.sock` });
  await Deno.chmod(`${home.dir}/engine.sock`, 0o600);
  const { code, stderr } = await home.run(["status"]);
  assert.equal(code, 0, stderr);
  left.unref();
});

Deno.test("restore waits for whoever has the data folder open, and then gives up", async () => {
  await using home = await createTestHome(CONFIG);
  assert.equal((await home.run(["backup", `${home.dir}/b.tgz`])).code, 0);
  assert.equal((await home.run(["engine", "stop"])).code, 0);
  const lock = await lockFolder(`${home.dir}/data`);
  const refused = await home.run(["restore", `${home.dir}/b.tgz`]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /Another engine/);
  await lock!.release();
  const restored = await home.run(["restore", `${home.dir}/b.tgz`]);
  assert.equal(restored.code, 0, restored.stderr);
});
