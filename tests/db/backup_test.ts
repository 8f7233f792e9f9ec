import assert from "node:assert/strict";
import { copyDatabase, keptBackups, nameOfReplaced, packBackup, pruneBackups } from "../../src/db/backup.ts";
import { openDatabase } from "../../src/db/pglite/open.ts";
import { finishRestore, restoreDatabase } from "../../src/db/restore.ts";
import { openEmptyDatabase } from "../fixtures/database.ts";

async function withBackup(work: (dir: string) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir({ prefix: "ac-backup-" });
  try {
    for (const name of ["results", "backups"]) await Deno.mkdir(`${dir}/${name}`);
    const db = await openEmptyDatabase(`${dir}/data`);
    await db.exec("create table t (n int); insert into t values (1)");
    await db.query(
      `insert into workflow_run (id, name, status, cwd, fingerprint, servers, variables, summary, epoch, lease_until)
       values ('wf_1', '', 'paused', '/', '', '[]', '[]', '{}', 1, now()), ('wf_2', '', 'completed', '/', '', '[]', '[]', '{}', 1, now())`,
    );
    for (const [handle, run] of [["r_0000000000000001", "wf_1"], ["r_0000000000000002", "wf_2"]]) {
      await Deno.writeTextFile(`${dir}/results/${handle}`, `"${run}"`);
      await db.query(
        "insert into result_handle (handle, tool, bytes, expires_at, run) values ($1, 't', 6, now(), $2)",
        [
          handle,
          run,
        ],
      );
    }
    const copy = `${dir}/backups/x.copy`;
    await copyDatabase(db, { dataDir: `${dir}/data`, results: `${dir}/results`, to: copy, version: "1" });
    await db.exec("insert into t values (2)");
    await db.close();
    await packBackup(copy, `${dir}/backups/daily-2026-01-01.tar.gz`);
    await work(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

async function rowsIn(dir: string): Promise<number[]> {
  const db = await openDatabase(`${dir}/data`);
  const rows = await db.query<{ n: number }>("select n from t order by n");
  await db.close();
  return rows.map(({ n }) => n);
}

function restored(dir: string): Promise<{ kept: string | undefined }> {
  return restoreDatabase({
    file: `${dir}/backups/daily-2026-01-01.tar.gz`,
    dataDir: `${dir}/data`,
    results: `${dir}/results`,
    backups: `${dir}/backups`,
    prepare: () => Promise.resolve(),
  });
}

const namesIn = async (dir: string) =>
  (await Array.fromAsync(Deno.readDir(dir))).map(({ name }) => name).filter((name) => name.startsWith("data")).sort();

Deno.test("a backup brings back the database and the results that unfinished runs need", async () => {
  await withBackup(async (dir) => {
    await Deno.remove(`${dir}/results`, { recursive: true });
    await Deno.mkdir(`${dir}/results`);
    const { kept } = await restored(dir);
    assert.deepEqual(await rowsIn(dir), [1]);
    assert.deepEqual((await Array.fromAsync(Deno.readDir(`${dir}/results`))).map(({ name }) => name), [
      "r_0000000000000001",
    ]);
    assert.ok((await Deno.stat(`${kept}/PG_VERSION`)).isFile, "the database of before is kept");
    assert.deepEqual(await namesIn(dir), ["data"], "nothing is left behind");
    assert.equal((await Deno.stat(`${dir}/backups/daily-2026-01-01.tar.gz`)).mode! & 0o777, 0o600);
  });
});

Deno.test("a restore that was killed is finished or taken back by the next opening", async () => {
  await withBackup(async (dir) => {
    // Killed while it unpacked, and before the first of its two renames.
    await Deno.mkdir(`${dir}/data.draft/data`, { recursive: true });
    await Deno.mkdir(`${dir}/data.restored`);
    await finishRestore(`${dir}/data`);
    assert.deepEqual(await namesIn(dir), ["data"]);
    assert.deepEqual(await rowsIn(dir), [1, 2]);
    // Killed between the two.
    await Deno.rename(`${dir}/data`, `${dir}/data.restored`);
    await finishRestore(`${dir}/data`);
    assert.deepEqual(await namesIn(dir), ["data"]);
    assert.deepEqual(await rowsIn(dir), [1, 2]);
  });
});

Deno.test("a file that was cut off is no backup and changes nothing", async () => {
  await withBackup(async (dir) => {
    const file = `${dir}/backups/daily-2026-01-01.tar.gz`;
    await Deno.truncate(file, (await Deno.stat(file)).size / 2);
    await assert.rejects(restored(dir), { code: "DB_UNUSABLE", message: /is not a usable backup/ });
    assert.deepEqual(await namesIn(dir), ["data"]);
    assert.deepEqual(await rowsIn(dir), [1, 2]);
  });
});

Deno.test("seven backups are kept, the newest ones, and copies of killed processes go", async () => {
  const dir = await Deno.makeTempDir({ prefix: "ac-backup-" });
  for (let i = 1; i <= 9; i++) {
    await Deno.writeTextFile(`${dir}/daily-2026-01-0${i}.tar.gz`, "");
    await Deno.utime(`${dir}/daily-2026-01-0${i}.tar.gz`, i, i);
  }
  await Deno.mkdir(`${dir}/left.copy`);
  for (let i = 1; i <= 3; i++) await Deno.mkdir(`${dir}/${nameOfReplaced(new Date(i))}`);
  await Deno.writeTextFile(`${dir}/mine.tar.gz`, "");
  await pruneBackups(dir, 7);
  const kept = await keptBackups(dir);
  assert.equal(kept.length, 7);
  assert.match(kept[0]!.path, /01-09/);
  const names = (await Array.fromAsync(Deno.readDir(dir))).map(({ name }) => name);
  assert.ok(names.includes("mine.tar.gz") && !names.includes("left.copy"));
  const replaced = names.filter((name) => name.startsWith("data-")).sort();
  assert.deepEqual(replaced, [nameOfReplaced(new Date(2)), nameOfReplaced(new Date(3))]);
  await Deno.remove(dir, { recursive: true });
});
