import assert from "node:assert/strict";
import { cp, rename, rm } from "node:fs/promises";
import type { Database } from "../../src/db/database.ts";
import { checkMarker, createMarkerKeeper, requireKnownFolder, takePlace } from "../../src/db/marker.ts";
import { openDatabase } from "../../src/db/pglite/open.ts";
import { unpackDatabase } from "../fixtures/database.ts";

interface Home {
  readonly data: string;
  readonly marker: string;
}

async function withHome(work: (home: Home) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir({ prefix: "ac-marker-" });
  try {
    await unpackDatabase(`${dir}/data`);
    await work({ data: `${dir}/data`, marker: `${dir}/database.marker` });
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

async function opened(
  { data, marker }: Home,
  work: (db: Database) => Promise<void> = () => Promise.resolve(),
  durability: "power" | "process" = "power",
): Promise<void> {
  await requireKnownFolder(marker, data);
  const db = await openDatabase(data, { durability });
  try {
    await checkMarker(db, marker, durability);
    const keeper = createMarkerKeeper(marker);
    await work(db);
    keeper.written(db);
    await keeper.settle(db);
  } finally {
    await db.close();
  }
}

const write = (db: Database) => db.exec("create table if not exists t (n int); insert into t values (1)");

Deno.test("a database is used again and again, and an emptied folder is not taken for a new home", async () => {
  await withHome(async (home) => {
    await opened(home, write);
    await opened(home, write);
    await rm(home.data, { recursive: true });
    await assert.rejects(opened(home), { code: "DB_UNUSABLE", message: /is gone.*forgotten/ });
    await Deno.mkdir(home.data);
    await assert.rejects(opened(home), { message: /is gone.*forgotten/ });
  });
});

Deno.test("a home that is another's keeps its marker", async () => {
  await withHome(async (home) => {
    await opened(home, write);
    const db = await openDatabase(home.data, {});
    const before = await Deno.readTextFile(home.marker);
    for (const isStillOurs of [false, true]) {
      const keeper = createMarkerKeeper(home.marker, () => isStillOurs);
      keeper.written(db);
      await keeper.settle(db);
      assert.equal(await Deno.readTextFile(home.marker) === before, !isStillOurs);
    }
    await db.close();
  });
});

Deno.test("a copy of before is refused, a database of another home too", async () => {
  await withHome(async (home) => {
    await opened(home, write);
    await cp(home.data, `${home.data}.copy`, { recursive: true });
    await opened(home, write);
    await rename(home.data, `${home.data}.newer`);
    await rename(`${home.data}.copy`, home.data);
    await assert.rejects(opened(home), { code: "DB_UNUSABLE", message: /older than it was at .*not used/ });
    await rm(home.data, { recursive: true });
    await rename(`${home.data}.newer`, home.data);
    await opened(home);
    await rm(home.data, { recursive: true });
    await withHome(async (other) => {
      await opened(other, write);
      await cp(other.data, home.data, { recursive: true });
    });
    await assert.rejects(opened(home), { message: /another one than this home had/ });
  });
});

Deno.test("without the promise of a power cut, a database that is seconds older is used", async () => {
  await withHome(async (home) => {
    await opened(home, write, "process");
    await cp(home.data, `${home.data}.copy`, { recursive: true });
    await opened(home, write, "process");
    await rm(home.data, { recursive: true });
    await rename(`${home.data}.copy`, home.data);
    await opened(home, write, "process");
    await opened(home, write, "process");
  });
});

Deno.test("a damaged marker says nothing, its last good copy does", async () => {
  await withHome(async (home) => {
    await opened(home, write);
    await cp(home.data, `${home.data}.copy`, { recursive: true });
    await opened(home, write);
    await opened(home, write);
    await Deno.writeTextFile(home.marker, "{");
    await rm(home.data, { recursive: true });
    await rename(`${home.data}.copy`, home.data);
    await assert.rejects(opened(home), { message: /older than it was/ });
  });
});

Deno.test("a database out of a backup takes the place of the one that the marker knows, once", async () => {
  await withHome(async (home) => {
    await opened(home, write);
    await cp(home.data, `${home.data}.copy`, { recursive: true });
    await opened(home, write);
    await rm(home.data, { recursive: true });
    const restored = await openDatabase(`${home.data}.copy`);
    await takePlace(restored, home.marker);
    await restored.close();
    await cp(`${home.data}.copy`, home.data, { recursive: true });
    await opened(home, write);
    await opened(home, write);
    await rm(home.data, { recursive: true });
    await rename(`${home.data}.copy`, home.data);
    await assert.rejects(opened(home), { message: /older than it was/ });
  });
});
