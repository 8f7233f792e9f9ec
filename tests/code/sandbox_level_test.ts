import assert from "node:assert/strict";
import { createSandboxLevel } from "../../src/code/sandbox_level.ts";
import { writeChecked } from "../../src/platform/files.ts";
import { availableLevel } from "../../src/sandbox/level.ts";

const { level } = await availableLevel();

async function withRecord(work: (path: string) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    await work(`${dir}/sandbox.json`);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("the level is recorded when it is first seen, and when it is stronger than before", async () => {
  await withRecord(async (path) => {
    const read = async () => JSON.parse(await Deno.readTextFile(path)).value;
    assert.equal((await createSandboxLevel(path).report()).problem, null);
    assert.deepEqual(await read(), { strongest: level });
    await writeChecked(path, JSON.stringify({ strongest: level - 1, accepted: 0 }));
    assert.equal((await createSandboxLevel(path).require()).level, level);
    assert.deepEqual(await read(), { strongest: level, accepted: 0 });
  });
});

Deno.test("a level that was accepted once needs no second word", async () => {
  await withRecord(async (path) => {
    await writeChecked(path, JSON.stringify({ strongest: level + 1 }));
    const before = createSandboxLevel(path);
    await assert.rejects(before.require(), { code: "SANDBOX_TOO_WEAK" });
    assert.equal(await before.accept(), level);
    assert.equal((await createSandboxLevel(path).require()).level, level);
  });
});

Deno.test({
  name: "a damaged record counts as one of the strongest level",
  ignore: level === 3,
  async fn() {
    await withRecord(async (path) => {
      await Deno.writeTextFile(path, "{");
      await assert.rejects(createSandboxLevel(path).require(), { code: "SANDBOX_TOO_WEAK" });
    });
  },
});
