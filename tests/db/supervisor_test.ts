import assert from "node:assert/strict";
import { type FolderDatabase, openDatabase } from "../../src/db/pglite/open.ts";
import { superviseDatabase } from "../../src/db/supervisor.ts";
import { AgentCardsError } from "../../src/model/errors.ts";
import { openEmptyDatabase, unpackDatabase } from "../fixtures/database.ts";
import { until } from "../fixtures/gateway.ts";

async function withFolder(work: (dir: string) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir({ prefix: "ac-db-" });
  try {
    await work(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("a database whose disk is full breaks down, comes back with the room, and knows all that was acknowledged", async () => {
  if (Deno.uid() !== 0) return;
  await withFolder(async (dir) => {
    await Deno.mkdir(`${dir}/disk`);
    const mount = ["-t", "tmpfs", "-o", "size=120m", "tmpfs", `${dir}/disk`];
    if (!(await new Deno.Command("mount", { args: mount, stderr: "null" }).output()).success) return;
    let reopened = 0;
    const { database, state, close } = superviseDatabase({
      open: (onDeath) => openDatabase(`${dir}/disk/data`, { onDeath, deadlines: { statementMs: 20_000 } }),
      onReopened: () => reopened++,
      retryAfterMs: [300],
    });
    try {
      await database.exec("create table kept (n integer, filler text); insert into kept values (1, '')");
      await Deno.writeFile(`${dir}/disk/filler`, new Uint8Array(40 * 1024 * 1024));
      const fill = () =>
        database.query(
          `insert into kept select 2, (select string_agg(md5((random() + n)::text), '') from generate_series(1, 100))
           from generate_series(1, 1000) n`,
        );
      await assert.rejects(async () => {
        for (let i = 0; i < 30; i++) await fill();
      });
      await Deno.remove(`${dir}/disk/filler`);
      await until("the database is back", async () => {
        return state().kind === "open" &&
          await database.query("insert into kept values (3, '')").then(() => true, () => false);
      });
      const rows = await database.query<{ n: number }>("select distinct n from kept order by n");
      assert.deepEqual(rows.filter(({ n }) => n !== 2), [{ n: 1 }, { n: 3 }]);
    } finally {
      await close();
      await new Deno.Command("umount", { args: ["-l", `${dir}/disk`] }).output();
    }
  });
});

Deno.test("a database that hangs is given up: whoever waits is told, and what to do", async () => {
  await withFolder(async (dir) => {
    // The thread of a Worker that spins cannot be ended by Deno: a process of its own can.
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", new URL("./hanging.ts", import.meta.url).pathname, `${dir}/data`],
      stderr: "inherit",
    });
    const { stdout } = await child.output();
    const told = JSON.parse(new TextDecoder().decode(stdout).trim().split("\n").at(-1)!);
    assert.match(told.hung, /did not answer within 1\.5 s/);
    assert.match(told.behind, /did not answer within 1\.5 s/);
    assert.deepEqual([told.later, told.hint], ["unusable", "Run `agentcards engine restart`."]);
    assert.ok(told.ms < 10_000, `${told.ms} ms`);
    const db = await openDatabase(`${dir}/data`);
    assert.deepEqual(await db.query("select n from kept order by n"), [{ n: 1 }]);
    await db.close();
  });
});

Deno.test("a database that cannot be opened is tried again, and nobody waits for it meanwhile", async () => {
  await withFolder(async (dir) => {
    let tries = 0;
    const { database, ready, state, close } = superviseDatabase({
      open(onDeath) {
        if (++tries < 3) throw new AgentCardsError("DB_UNUSABLE", "the disk is full");
        return openDatabase(`${dir}/data`, { onDeath });
      },
      retryAfterMs: [50],
    });
    try {
      assert.equal(await ready(), undefined);
      await assert.rejects(database.query("select 1"), /the disk is full/);
      await until("it is open", () => state().kind === "open");
      assert.deepEqual(await database.query("select 1 as one"), [{ one: 1 }]);
      assert.equal(tries, 3);
    } finally {
      await close();
    }
  });
});

Deno.test("nobody waits for long while a database that broke down is opened anew", async () => {
  const reopening = Promise.withResolvers<FolderDatabase>();
  const opened = { query: () => Promise.resolve([]), close: () => Promise.resolve() } as unknown as FolderDatabase;
  let die = (_reason: Error) => {};
  let openings = 0;
  const { database, ready, state, close } = superviseDatabase({
    open: (onDeath) => {
      die = onDeath;
      return openings++ === 0 ? Promise.resolve(opened) : reopening.promise;
    },
  });
  await ready();
  die(new AgentCardsError("DB_UNUSABLE", "it hangs"));
  await until("the next opening", () => openings === 2);
  const began = performance.now();
  assert.equal(await ready(), undefined);
  await assert.rejects(database.query("select 1"), /it hangs/);
  assert.ok(performance.now() - began < 8_000);
  const now = state();
  assert.equal("problem" in now && now.problem?.message, "it hangs", "status tells why it is being opened");
  reopening.resolve(opened);
  await until("the database is back", () => state().kind === "open");
  assert.deepEqual(await database.query("select 1"), []);
  await close();
});

Deno.test("what only a person can decide is not tried again before somebody has", async () => {
  let tries = 0;
  const { ready, retry, close } = superviseDatabase({
    open(): Promise<FolderDatabase> {
      tries++;
      throw new AgentCardsError("DB_UNUSABLE", "it is another one", { data: { isFinal: true } });
    },
    retryAfterMs: [1],
  });
  await ready();
  await new Promise((resolve) => setTimeout(resolve, 50));
  await ready();
  assert.equal(tries, 1);
  await retry();
  assert.equal(tries, 2);
  await close();
});

Deno.test("the rows that nobody waits for do not wait for the disk, all others do", async () => {
  await withFolder(async (dir) => {
    const db = await openEmptyDatabase(`${dir}/data`);
    try {
      const settings = async (options?: { isLazy: boolean }) =>
        await db.query(
          "select name, setting from pg_settings where name in ('fsync', 'synchronous_commit')",
          [],
          options,
        );
      assert.deepEqual(await settings(), [{ name: "fsync", setting: "on" }, {
        name: "synchronous_commit",
        setting: "on",
      }]);
      assert.equal((await settings({ isLazy: true }))[1]!.setting, "off");
      assert.equal((await settings())[1]!.setting, "on");
    } finally {
      await db.close();
    }
  });
});

Deno.test("a database opens on the empty lock file that a full disk left", () =>
  withFolder(async (dir) => {
    await unpackDatabase(`${dir}/data`);
    await Deno.writeTextFile(`${dir}/data/postmaster.pid`, "");
    const db = await openDatabase(`${dir}/data`);
    assert.deepEqual(await db.query("select 1 as one"), [{ one: 1 }]);
    await db.close();
  }));
