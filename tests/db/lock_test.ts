import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { findHolder, hasOpen, lockFolder, lockHolder, readHolder, takeLock } from "../../src/db/lock.ts";

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

Deno.test("the lock file names the holder's socket, and counts only while the lock is held", async () => {
  const dir = await Deno.makeTempDir();
  const path = `${dir}/l`;
  try {
    await Deno.writeTextFile(path, `1\n${"/a/long/path/of/an/earlier/engine".repeat(5)}\n`);
    const lock = await takeLock(path, { socket: "/s.sock" });
    assert.equal(await Deno.readTextFile(path), `${Deno.pid}\n/s.sock\n`);
    assert.deepEqual(await findHolder(path), { pid: Deno.pid, isAlone: false, socket: "/s.sock" });
    await Deno.copyFile(path, `${dir}/copy`);
    assert.equal(await findHolder(`${dir}/copy`), undefined, "a copy is nobody's");
    await lock!.release();
    assert.equal(await findHolder(path), undefined);
    assert.equal(readHolder(path)?.socket, "/s.sock");
    const alone = await takeLock(path);
    assert.deepEqual(await findHolder(path), { pid: Deno.pid, isAlone: true });
    await alone!.release();
    await Deno.writeTextFile(path, "12\n");
    assert.deepEqual(readHolder(path), { pid: 12, isAlone: false }, "an older version tells its number only");
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("a lock file that is removed while it is being locked is taken anew", async () => {
  const dir = await Deno.makeTempDir();
  const path = `${dir}/l`;
  try {
    let tries = 0;
    const lock = await takeLock(path, {
      async tryLock(file, exclusive) {
        if (++tries === 1) await Deno.remove(path);
        return await file.tryLock(exclusive);
      },
    });
    assert.ok(lock);
    assert.equal(tries, 2);
    assert.equal(await lockHolder(path), Deno.pid, "the lock is on the file that others find");
    await lock.release();
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("a folder is locked itself: no file in it matters, and a rename changes nothing", async () => {
  const dir = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${dir}/data`);
    const lock = await lockFolder(`${dir}/data`);
    assert.ok(lock);
    assert.deepEqual(await Array.fromAsync(Deno.readDir(`${dir}/data`)), []);
    assert.equal(await lockFolder(`${dir}/data`), null);
    await Deno.rename(`${dir}/data`, `${dir}/kept`);
    await Deno.mkdir(`${dir}/data`);
    assert.equal(await lockFolder(`${dir}/kept`), null, "the lock went with the folder");
    const other = await lockFolder(`${dir}/data`);
    assert.ok(other, "another folder at the same path is another");
    await other.release();
    setTimeout(() => void lock.release(), 200);
    const waited = await lockFolder(`${dir}/kept`, { waitMs: 30_000 });
    assert.ok(waited, "whoever waits gets it from a holder that leaves");
    await waited.release();
    await assert.rejects(lockFolder(`${dir}/none`), { code: "HOME_UNUSABLE" });
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

for (
  const message of [
    "No locks available (os error 37)",
    "Operation not supported (os error 95)",
    "Function not implemented (os error 38)",
    "Bad file descriptor (os error 9)",
  ]
) {
  Deno.test(`a file system that answers "${message}" to a lock is refused with its folder and a way out`, async () => {
    const dir = await Deno.makeTempDir();
    const tryLock = () => Promise.reject(new Error(message));
    const refused = (error: { code: string; message: string; hint: string }) =>
      error.code === "HOME_UNUSABLE" && error.message.includes(`Cannot lock ${dir}/`) &&
      error.message.includes(message) && error.hint.includes(`file system of ${dir} has no locks`) &&
      error.hint.includes("AGENTCARDS_HOME");
    try {
      await Deno.mkdir(`${dir}/data`);
      await assert.rejects(takeLock(`${dir}/l`, { tryLock }), refused);
      await assert.rejects(lockFolder(`${dir}/data`, { tryLock }), refused);
      await assert.rejects(findHolder(`${dir}/l`, tryLock), refused);
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  });
}

Deno.test({
  name: "a process that has the lock file open is told from one that has not",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const dir = await Deno.makeTempDir();
    try {
      const lock = await takeLock(`${dir}/l`);
      assert.equal(await hasOpen(Deno.pid, `${dir}/l`), true);
      await lock!.release();
      assert.equal(await hasOpen(Deno.pid, `${dir}/l`), false);
      assert.equal(await hasOpen(2 ** 22 + 1, `${dir}/l`), false, "there is no such process");
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});
