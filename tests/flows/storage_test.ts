import assert from "node:assert/strict";
import { connectClient, textOf } from "../fixtures/client.ts";
import { createTestHome, isAlive, npmServer, sharedModels, sleep, testServer, until } from "../fixtures/gateway.ts";

const SERVERS = { kit: testServer("kit") };

Deno.test("sto-001: an engine that is killed again and again loses no catalogue and always opens", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  await home.run(["call", "kit:echo", '{"text":"x"}']);
  for (let round = 0; round < 5; round++) {
    await using client = await connectClient(home);
    assert.match(textOf(await client.call("search_tools", { query: "adds two numbers" })), /kit:add/);
    const pid = (await home.enginePid())!;
    void client.use("kit:echo", { text: "x" }).catch(() => {});
    await sleep(round * 37);
    Deno.kill(pid, "SIGKILL");
    await until("its end", () => !isAlive(pid));
  }
  const { servers, database } = JSON.parse((await home.run(["status", "--json"])).stdout);
  assert.equal(database.problem, null);
  assert.ok(servers[0].tools > 10);
});

Deno.test("sto-003: a database that cannot be used is left as it is, said clearly, and calls go on without it", async () => {
  await using home = await createTestHome({ servers: SERVERS }, { isNew: true });
  await Deno.mkdir(`${home.dir}/data`);
  await Deno.writeFile(`${home.dir}/data/PG_VERSION`, crypto.getRandomValues(new Uint8Array(100)));
  const before = await Deno.readFile(`${home.dir}/data/PG_VERSION`);
  const called = await home.run(["call", "kit:echo", '{"text":"still"}']);
  assert.equal(called.stdout, "kit: still\n", called.stderr);
  const status = await home.run(["status"]);
  assert.equal(status.code, 1);
  assert.match(status.stdout, /Cannot open the database in .*\n.*agentcards restore --latest/);
  assert.deepEqual(await Deno.readFile(`${home.dir}/data/PG_VERSION`), before);
});

Deno.test("sto-004: files with credentials that others can read are pointed out", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  await Deno.writeTextFile(`${home.dir}/secrets.env`, "A=b\n", { mode: 0o644 });
  await Deno.chmod(`${home.dir}/secrets.env`, 0o644);
  const status = await home.run(["status"]);
  assert.equal(status.code, 1);
  assert.match(status.stdout, /secrets\.env can be read by others; run: chmod/);
});

Deno.test("a backup can be brought back, and what is no backup changes nothing", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  await home.run(["call", "kit:echo", '{"text":"x"}']);
  const file = `${home.dir}/copy.tgz`;
  const written = await home.run(["backup", file]);
  assert.equal(written.code, 0, written.stderr);
  assert.equal((await Deno.stat(file)).mode! & 0o777, 0o600);
  assert.equal((await home.run(["backup", file])).code, 2, "an existing file is not overwritten");
  await home.run(["engine", "stop"]);
  await Deno.remove(`${home.dir}/data`, { recursive: true });
  assert.equal((await home.run(["restore", file])).code, 0);
  const { servers } = JSON.parse((await home.run(["status", "--json"])).stdout);
  assert.equal(servers[0].state, "known", "the catalogue is back");
  await Deno.writeTextFile(`${home.dir}/no-backup`, "hello");
  const refused = await home.run(["restore", `${home.dir}/no-backup`]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /is not a usable backup\nNothing was changed/);
  assert.equal(JSON.parse((await home.run(["status", "--json"])).stdout).servers[0].state, "known");
});

Deno.test("a home that cannot be used is named with what to do", async () => {
  await using home = await createTestHome();
  const file = `${home.dir}/config.yaml`;
  const result = await home.run(["status"], { env: { AGENTCARDS_HOME: `${file}/below-a-file` } });
  assert.equal(result.code, 1);
  assert.match(result.stderr, /AGENTCARDS_HOME|writable|Not a directory/);
});

Deno.test("a full disk costs what could not be stored, and nothing else", async () => {
  if (Deno.uid() !== 0) return;
  await using home = await createTestHome({ servers: { kit: testServer("kit"), everything: npmServer("everything") } });
  await using client = await connectClient(home);
  await client.use("kit:echo", { text: "before" });
  const mounted = await new Deno.Command("mount", {
    args: ["-t", "tmpfs", "-o", "size=64k", "tmpfs", `${home.dir}/results`],
    stderr: "null",
  }).output();
  if (!mounted.success) return;
  try {
    const large = await client.use("kit:rows", { count: 20_000 });
    assert.equal(large.isError, undefined, "a call that was answered is not told as failed");
    assert.match(textOf(large), /could not be stored: .*(space|ENOSPC|storage)[^]*It begins:/i);
    assert.equal(textOf(await client.use("kit:echo", { text: "after" })), "kit: after");
  } finally {
    await new Deno.Command("umount", { args: ["-l", `${home.dir}/results`] }).output();
  }
});

Deno.test("a server whose neutral folder cannot be made runs all the same", async () => {
  await using home = await createTestHome({ servers: SERVERS });
  await Deno.writeTextFile(`${home.dir}/run`, "not a folder");
  const called = await home.run(["call", "kit:echo", '{"text":"still"}']);
  assert.equal(called.stdout, "kit: still\n", called.stderr);
  assert.match(await home.log(), /neutral_folder_not_made/);
});

Deno.test("search is whole again once the model can be stored, without a restart", async () => {
  await using home = await createTestHome({ servers: SERVERS }, { hasModel: true });
  const models = `${home.dir}/models`;
  await Deno.remove(models);
  await Deno.writeTextFile(models, "no folder can be made here");
  await using client = await connectClient(home);
  const search = async () => textOf(await client.call("search_tools", { query: "adds two numbers" }));
  await until("search tells that it goes by words only", async () => /by words only: .*model/i.test(await search()));
  const engine = await home.enginePid();
  await Deno.remove(models);
  await Deno.symlink(await sharedModels(), models);
  await until("search is whole", async () => !/by words only/.test(await search()));
  assert.equal(await home.enginePid(), engine);
});
