import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { lockHolder, takeLock } from "../../src/db/lock.ts";

const WRITER = fileURLToPath(new URL("./writer.ts", import.meta.url));

/** Starts another process that wants the lock; resolves to what it says first. */
async function contender(dir: string): Promise<{ said: string; pid: number; end(): Promise<void> }> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--cached-only", WRITER, dir, "lock"],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  return {
    said: new TextDecoder().decode(value).trim(),
    pid: child.pid,
    async end() {
      try {
        child.kill("SIGKILL");
      } catch {
        // It went by itself.
      }
      await child.status;
      await reader.cancel();
    },
  };
}

Deno.test("one process at a time has the lock, and death frees it", async () => {
  const dir = await Deno.makeTempDir();
  const path = `${dir}/engine.lock`;
  try {
    const first = await contender(dir);
    assert.equal(first.said, "locked");
    assert.equal(await lockHolder(path), first.pid);
    assert.equal(await takeLock(path), null);
    const second = await contender(dir);
    assert.equal(second.said, "busy");
    await second.end();
    assert.equal(await lockHolder(path), first.pid, "the loser did not write itself down");

    await first.end();
    assert.equal(parseInt(await Deno.readTextFile(path)), first.pid, "a dead process leaves its number");
    assert.equal(await lockHolder(path), undefined, "which may be a stranger's by now");
    {
      await using own = await takeLock(path);
      assert.ok(own);
      assert.equal(await lockHolder(path), Deno.pid);
      assert.equal(await takeLock(path), null, "not twice in one process either");
      await own.release();
      await own.release();
      assert.equal(await lockHolder(path), undefined);
    }
    const again = await takeLock(path);
    assert.ok(again);
    await again.release();
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("the lock file is its owner's alone, and one that cannot be made says so", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const lock = await takeLock(`${dir}/l`);
    await lock!.release();
    assert.equal((await Deno.stat(`${dir}/l`)).mode! & 0o777, 0o600);
    await assert.rejects(takeLock(`${dir}/none/l`), { code: "HOME_UNUSABLE" });
    assert.equal(await lockHolder(`${dir}/none/l`), undefined);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("looking who has the lock does not keep anyone from taking it", async () => {
  const dir = await Deno.makeTempDir();
  try {
    for (let i = 0; i < 20; i++) {
      const [lock] = await Promise.all([takeLock(`${dir}/l`), lockHolder(`${dir}/l`), lockHolder(`${dir}/l`)]);
      assert.ok(lock);
      await lock.release();
    }
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
