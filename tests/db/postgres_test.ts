import assert from "node:assert/strict";
import { createServer } from "node:net";
import { isNoDatabase } from "../../src/db/database.ts";
import { openPostgres } from "../../src/db/postgres/open.ts";
import { emptyPostgres, isOnPostgres } from "../fixtures/shared_database.ts";

Deno.test("engines that open an empty database together migrate it once", { ignore: !isOnPostgres }, async () => {
  const { url, drop } = await emptyPostgres();
  const opened = await Promise.all(Array.from({ length: 4 }, () => openPostgres(url, { connections: 2 })));
  const versions = await Promise.all(
    opened.map((db) => db.query("select value from config_metadata where key = 'schema_version'")),
  );
  for (const rows of versions) assert.deepEqual(rows, versions[0]);
  await Promise.all(opened.map((db) => db.close()));
  await drop();
});

Deno.test(
  "lazy rows do not wait for the disk, all others do, and a slow statement ends",
  { ignore: !isOnPostgres },
  async () => {
    const { url, drop } = await emptyPostgres();
    const db = await openPostgres(url, { connections: 2, deadlines: { statementMs: 300 } });
    const setting = async (isLazy: boolean) =>
      (await db.query<Record<string, string>>("show synchronous_commit", [], { isLazy }))[0]!.synchronous_commit;
    assert.deepEqual([await setting(true), await setting(false)], ["off", "on"]);
    await assert.rejects(db.query("select pg_sleep(30)"), { sqlState: "57014" });
    await db.query("select pg_sleep(0.5)", [], { isLong: true });
    assert.deepEqual(await db.query("show statement_timeout"), [{ statement_timeout: "300ms" }]);
    await db.close();
    await drop();
  },
);

Deno.test("a server that is not there, or says nothing, is named without the password", async () => {
  await assert.rejects(openPostgres("postgres://me:secret@127.0.0.1:1/x"), (error: Error & { code: string }) => {
    assert.equal(error.code, "DB_UNUSABLE");
    assert.match(error.message, /^Cannot open the database at 127\.0\.0\.1:1\/x: /);
    assert.doesNotMatch(JSON.stringify([error.message, error.stack]), /secret/);
    return isNoDatabase(error.cause as Error);
  });
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const { port } = silent.address() as { port: number };
  await assert.rejects(openPostgres(`postgres://me@127.0.0.1:${port}/x`, { deadlines: { connectMs: 200 } }), {
    code: "DB_UNUSABLE",
  });
  silent.close();
});
