import assert from "node:assert/strict";
import { readChecked, removeDrafts, replaceFile, writeChecked } from "../../src/platform/files.ts";

async function withFolder(work: (dir: string) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir({ prefix: "ac-files-" });
  try {
    await work(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

const namesIn = async (dir: string) => (await Array.fromAsync(Deno.readDir(dir))).map(({ name }) => name).sort();

Deno.test("replaceFile() replaces a file whole, keeps its mode, and leaves no draft", () =>
  withFolder(async (dir) => {
    for (const isSynced of [true, false]) {
      const path = `${dir}/file`;
      await replaceFile(path, "first", { mode: 0o640, isSynced });
      await replaceFile(path, "second", { isSynced });
      assert.equal(await Deno.readTextFile(path), "second");
      if (Deno.build.os !== "windows") assert.equal((await Deno.stat(path)).mode! & 0o777, 0o640);
      await assert.rejects(replaceFile(`${dir}/none/file`, "x", { isSynced }));
      assert.deepEqual(await namesIn(dir), ["file"]);
      await Deno.remove(path);
    }
  }));

Deno.test("readChecked() takes the last good copy of a damaged file, and nothing where both are damaged", () =>
  withFolder(async (dir) => {
    const path = `${dir}/value.json`;
    await writeChecked(path, JSON.stringify({ n: 1 }));
    await writeChecked(path, JSON.stringify({ n: 2 }));
    assert.deepEqual(await readChecked(path), { n: 2 });
    await Deno.truncate(path, 20);
    assert.deepEqual(await readChecked(path), { n: 1 });
    await Deno.writeTextFile(`${path}.last`, '{"sha256":"0","value":{"n":3}}\n');
    assert.equal(await readChecked(path), undefined);
  }));

Deno.test("removeDrafts() removes old drafts, and neither young ones nor other files", () =>
  withFolder(async (dir) => {
    const [old, young] = [`a.json.${crypto.randomUUID()}.tmp`, `b.json.${crypto.randomUUID()}.tmp`];
    for (const name of [old, young, "mine.tmp"]) await Deno.writeTextFile(`${dir}/${name}`, "");
    for (const name of [old, "mine.tmp"]) await Deno.utime(`${dir}/${name}`, 1, 1);
    await removeDrafts(dir);
    assert.deepEqual(await namesIn(dir), [young, "mine.tmp"].sort());
  }));
