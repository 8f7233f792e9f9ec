import assert from "node:assert/strict";
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { createTestHome, isAlive, type TestHome, testServer, until } from "../fixtures/gateway.ts";

// A launcher as npx is one: a shell that starts a program that starts another, none of which ends when it is asked to.
const STUBBORN = testServer("stubborn");
const SERVERS = {
  kit: testServer("kit"),
  stubborn: { command: "sh", args: ["-c", `${[STUBBORN.command, ...STUBBORN.args].join(" ")}; true`] },
};

/** Every process of the servers that a client has used. */
async function start(home: TestHome): Promise<{ client: RawClient; pids: number[] }> {
  const client = await connectClient(home);
  const kit = Number(textOf(await client.use("kit:process")));
  const family = JSON.parse(textOf(await client.use("stubborn:family"))) as number[];
  assert.equal(family.length, 3);
  const pids = [kit, ...family];
  assert.ok(pids.every(isAlive));
  return { client, pids };
}

async function allGone(pids: readonly number[]): Promise<void> {
  await until(`the end of ${pids}`, () => !pids.some(isAlive), 2_000)
    .catch(() => assert.fail(`left: ${pids.filter(isAlive)} of ${pids}`));
}

Deno.test("nothing is left when the client closes its end", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  const { client, pids } = await start(home);
  assert.equal((await client.close()).code, 0);
  await allGone(pids);
});

Deno.test("nothing is left when the client is killed", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  const { client, pids } = await start(home);
  Deno.kill(client.pid, "SIGKILL");
  await allGone(pids);
  await client.close();
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.test(`nothing is left when the client gets ${signal}`, async () => {
    await using home = await createTestHome({ servers: SERVERS });
    const { client, pids } = await start(home);
    Deno.kill(client.pid, signal);
    assert.equal((await client.exited).code, 0);
    await allGone(pids);
    await client.close();
  });
}

for (const signal of ["SIGKILL", "SIGTERM"] as const) {
  Deno.test(`nothing is left when the engine gets ${signal}`, async () => {
    await using home = await createTestHome({ servers: SERVERS });
    const { client, pids } = await start(home);
    const engine = (await home.enginePid())!;
    Deno.kill(engine, signal);
    await allGone(pids);
    await until("the engine's end", () => !isAlive(engine));
    await client.close();
  });
}

Deno.test("an idle server is stopped and started again on the next call", async () => {
  const kit = { ...testServer("kit"), idle_stop: 150 };
  await using home = await createTestHome({ servers: { kit } });
  await using client = await connectClient(home);
  const first = Number(textOf(await client.use("kit:process")));
  await until("the idle server ends", () => !isAlive(first));
  const second = Number(textOf(await client.use("kit:process")));
  assert.notEqual(second, first);
});
