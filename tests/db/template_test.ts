import assert from "node:assert/strict";
import { openDatabase } from "../../src/db/pglite/open.ts";
import { unpackTemplate } from "../../src/db/pglite/template.ts";

Deno.test("the template is of the PGlite and the pgvector in use, and opening it needs no initdb", async () => {
  const dir = await Deno.makeTempDir();
  try {
    await unpackTemplate(`${dir}/data`, { isSynced: true });
    const control = await Deno.readFile(`${dir}/data/global/pg_control`);
    const identifier = new DataView(control.buffer).getBigUint64(0, true);
    const major = (await Deno.readTextFile(`${dir}/data/PG_VERSION`)).trim();
    const db = await openDatabase(`${dir}/data`);
    try {
      const [row] = await db.query<Record<string, string>>(
        `select system_identifier::text as identifier, current_setting('server_version') as version,
           (select extversion from pg_extension where extname = 'vector') as vector,
           (select default_version from pg_available_extensions where name = 'vector') as vector_in_use
         from pg_control_system()`,
      );
      assert.equal(row!.identifier, String(identifier), "initdb would have given it another one");
      assert.equal(row!.version!.split(".")[0], major);
      assert.equal(row!.vector, row!.vector_in_use, "run src/db/pglite/make_template.ts");
      assert.deepEqual(await db.query("select '[1,2]'::vector <-> '[1,4]' as distance"), [{ distance: 2 }]);
    } finally {
      await db.close();
    }
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("a first start is quick", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const took: number[] = [];
    for (const name of ["a", "b"]) {
      const started = performance.now();
      const db = await openDatabase(`${dir}/deep/${name}`);
      took.push(performance.now() - started);
      await db.close();
    }
    assert.ok(Math.min(...took) < 15_000, `${took.map(Math.round)} ms`);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("a data directory appears whole or not at all, for its owner alone", async () => {
  const dir = await Deno.makeTempDir();
  try {
    await unpackTemplate(`${dir}/data`, { isSynced: true });
    assert.equal((await Deno.stat(`${dir}/data`)).mode! & 0o077, 0);
    await Deno.mkdir(`${dir}/full`);
    await Deno.writeTextFile(`${dir}/full/x`, "mine");
    await assert.rejects(unpackTemplate(`${dir}/full`, { isSynced: true }), { code: "DB_UNUSABLE" });
    assert.equal(await Deno.readTextFile(`${dir}/full/x`), "mine");
    await assert.rejects(unpackTemplate(`${dir}/full/x/data`, { isSynced: true }), { code: "DB_UNUSABLE" });
    const left = (await Array.fromAsync(Deno.readDir(dir))).map(({ name }) => name).sort();
    assert.deepEqual(left, ["data", "full"], "no draft is left behind");
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
