import assert from "node:assert/strict";
import { startMaintenance } from "../../src/db/pglite/maintenance.ts";
import { openEmptyDatabase } from "../fixtures/database.ts";
import { until } from "../fixtures/gateway.ts";

const MB = 1024 ** 2;

Deno.test("tables shrink after rows were deleted, and the log is bounded, in idle time", async () => {
  const dir = await Deno.makeTempDir({ prefix: "ac-maintenance-" });
  const db = await openEmptyDatabase(`${dir}/data`, { durability: "process" });
  let idle = 0;
  let isBusy = true;
  const maintenance = startMaintenance({
    ready: () => Promise.resolve(db),
    isBusy: () => isBusy,
    onIdle: () => Promise.resolve(void idle++),
    everyMs: 50,
  });
  const figures = async () => {
    const [row] = await db.query<{ bytes: string; log: string; vacuums: string }>(
      `select pg_relation_size('kept') as bytes, pg_current_wal_lsn() - redo_lsn as log, vacuum_count as vacuums
       from pg_control_checkpoint(), pg_stat_user_tables where relname = 'kept'`,
    );
    return { bytes: Number(row!.bytes), log: Number(row!.log), vacuums: Number(row!.vacuums) };
  };
  const fill = (from: number, to: number) =>
    db.query("insert into kept select n, repeat(md5(n::text), 60) from generate_series($1::int, $2::int) n", [
      from,
      to,
    ]);
  try {
    await db.exec("create table kept (n integer, filler text); alter table kept alter filler set storage plain");
    await fill(1, 10_000);
    const full = await figures();
    assert.ok(full.log > 16 * MB);
    // As retention does: the oldest rows go, later ones take their room, and then the end of the file is free.
    await db.query("delete from kept where n <= 9000");
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal(idle, 0, "nothing is done while work is under way");
    isBusy = false;
    await until("the log is short", async () => (await figures()).log < 16 * MB);
    await until("the room is free", async () => (await figures()).vacuums === 1);
    await fill(10_001, 11_000);
    assert.equal((await figures()).bytes, full.bytes, "new rows take the room of old ones");
    await db.query("delete from kept where n <= 10000");
    await until("the table is small", async () => (await figures()).bytes < full.bytes / 2);
  } finally {
    maintenance.stop();
    await db.close();
    await Deno.remove(dir, { recursive: true });
  }
});
