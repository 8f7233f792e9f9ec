// `engine stop` and `engine restart` end whatever state the engine is in, and what they say is true.
import assert from "node:assert/strict";
import { takeLock } from "../../src/db/lock.ts";
import { connectClient } from "../fixtures/client.ts";
import { createTestHome, isAlive, sleep, type TestHome, testServer, until } from "../fixtures/gateway.ts";

const CONFIG = { servers: { kit: testServer("kit") } };
/** The command promises 5 s; on a busy machine its own start takes a part of that again. */
const BOUND_MS = 15_000;

async function timed(home: TestHome, args: readonly string[]) {
  const began = performance.now();
  const result = await home.run(args);
  const ms = performance.now() - began;
  assert.ok(ms < BOUND_MS, `${args.join(" ")} took ${Math.round(ms)} ms: ${result.stderr}`);
  return result;
}

Deno.test("an engine that does not answer is killed, told as killed, and nothing of it is left", async () => {
  await using home = await createTestHome(CONFIG);
  const client = await connectClient(home);
  await client.use("kit:echo", { text: "up" });
  // An open client would start the next engine.
  await client.close();
  const pid = (await home.enginePid())!;
  Deno.kill(pid, "SIGSTOP");
  const { code, stdout, stderr } = await timed(home, ["engine", "stop"]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, new RegExp(`Killed the engine \\(process ${pid}\\): it did not close within`));
  await until("its end", () => !isAlive(pid));
});

Deno.test("an engine that does not answer is replaced by restart", async () => {
  await using home = await createTestHome(CONFIG);
  await home.run(["status"]);
  const pid = (await home.enginePid())!;
  Deno.kill(pid, "SIGSTOP");
  const began = performance.now();
  const { code, stdout, stderr } = await home.run(["engine", "restart"]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, new RegExp(`Killed the engine \\(process ${pid}\\)[^\\n]*\\nStarted a new one`));
  assert.ok(performance.now() - began < 2 * BOUND_MS);
  assert.equal(isAlive(pid), false);
});

Deno.test("an engine whose database hangs closes without it", async () => {
  await using home = await createTestHome(CONFIG);
  assert.equal((await home.run(["status"])).code, 0);
  assert.equal((await timed(home, ["engine", "stop"])).code, 0);
  // Whoever opens a pipe that nobody writes to waits for good.
  const version = `${home.dir}/data/PG_VERSION`;
  await Deno.remove(version);
  assert.ok((await new Deno.Command("mkfifo", { args: [version] }).output()).success);
  const client = await connectClient(home);
  assert.ok((await client.request("tools/list")).result);
  await client.close();
  const pid = (await home.enginePid())!;
  // The database is opened a moment after the start.
  await sleep(1_500);
  const { code, stdout, stderr } = await timed(home, ["engine", "stop"]);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, `Stopped the engine (process ${pid}).\n`, "it kept its own time");
  assert.match(await Deno.readTextFile(`${home.dir}/logs/engine.err`), /engine_not_closed.*did not close within 3 s/);
  assert.match(await home.log(), /engine_not_closed/);
  assert.equal(isAlive(pid), false);
});

Deno.test("a number in the lock file that is not the holder's is nobody to be killed", async () => {
  await using home = await createTestHome(CONFIG);
  await using lock = await takeLock(`${home.dir}/engine.lock`, { socket: `${home.dir}/engine.sock` });
  assert.ok(lock);
  const stranger = new Deno.Command("sleep", { args: ["100"] }).spawn();
  try {
    // As it is when the holder runs in a container: the number is another process's here.
    await Deno.writeTextFile(`${home.dir}/engine.lock`, `${stranger.pid}\n${home.dir}/engine.sock\n`);
    for (const force of [[], ["--force"]]) {
      const { code, stderr } = await timed(home, ["engine", "stop", ...force]);
      assert.equal(code, 1);
      assert.match(stderr, /is not one of this machine/);
      assert.ok(isAlive(stranger.pid));
    }
  } finally {
    stranger.kill("SIGKILL");
    await stranger.status;
    await Deno.writeTextFile(`${home.dir}/engine.lock`, "");
  }
});
