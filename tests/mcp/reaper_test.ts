import assert from "node:assert/strict";
import { type Reaper, startReaper } from "../../src/mcp/reaper.ts";
import { isAlive, until } from "../fixtures/gateway.ts";
import { commandOf, descendantsOf } from "../fixtures/processes.ts";

/** The reapers of one marker: other tests of this process have their own. */
const reapersOf = ({ marker }: Reaper) =>
  descendantsOf(Deno.pid).filter((pid) => isAlive(pid) && commandOf(pid).includes(marker.value));

/** A process group that carries a marker, or none. */
function sleeper(env: Record<string, string> = {}): number {
  const child = new Deno.Command("sleep", { args: ["1000"], clearEnv: true, env, detached: true, stdin: "null" })
    .spawn();
  child.unref();
  return child.pid;
}

Deno.test({
  name: "reapers that were killed are told all groups again, and not those that were forgotten",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const reaper = startReaper();
    const [first, second, forgotten] = [sleeper(), sleeper(), sleeper()];
    for (const pid of [first, second, forgotten]) reaper.watch(pid);
    try {
      await until("both reapers", () => reapersOf(reaper).length === 2);
      const before = reapersOf(reaper);
      for (const pid of before) Deno.kill(pid, "SIGKILL");
      reaper.forget(forgotten);
      await until(
        "new ones",
        () => reapersOf(reaper).length === 2 && !reapersOf(reaper).some((pid) => before.includes(pid)),
      );
      assert.ok([first, second, forgotten].every(isAlive));
      await reaper.close();
      await until("the end of both groups", () => !isAlive(first) && !isAlive(second), 90_000);
      assert.ok(isAlive(forgotten));
      assert.deepEqual(reapersOf(reaper), [], "none is started after the end");
    } finally {
      for (const pid of [first, second, forgotten]) if (isAlive(pid)) Deno.kill(pid, "SIGKILL");
    }
  },
});

Deno.test({
  name: "a kill that was on its way to a reaper that died is carried out by the next",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const reaper = startReaper();
    const marker = `${reaper.marker.value}.1.`;
    const [marked, other] = [sleeper({ [reaper.marker.name]: marker }), sleeper({ [reaper.marker.name]: "x.1." })];
    try {
      await until("both reapers", () => reapersOf(reaper).length === 2);
      for (const pid of reapersOf(reaper)) Deno.kill(pid, "SIGKILL");
      // A group that is gone already: only the marker finds what moved out of it.
      reaper.kill(2 ** 22, marker);
      await until("its end", () => !isAlive(marked));
      assert.ok(isAlive(other));
    } finally {
      await reaper.close();
      for (const pid of [marked, other]) if (isAlive(pid)) Deno.kill(pid, "SIGKILL");
    }
  },
});

Deno.test({
  name: "what an engine left behind is ended by the next, by the marker that the home keeps",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const dir = await Deno.makeTempDir();
    const note = `${dir}/cache/children`;
    const before = startReaper(note);
    const left = sleeper({ [before.marker.name]: `${before.marker.value}.1.` });
    const stopped: number[] = [];
    try {
      await until("both reapers", () => reapersOf(before).length === 2);
      stopped.push(...reapersOf(before));
      for (const pid of stopped) Deno.kill(pid, "SIGSTOP");
      const next = startReaper(note);
      await until("its end", () => !isAlive(left)).finally(next.close);
      await Deno.writeTextFile(note, "not a marker\n");
      await startReaper(note).close();
    } finally {
      for (const pid of stopped) Deno.kill(pid, "SIGCONT");
      await before.close();
      if (isAlive(left)) Deno.kill(left, "SIGKILL");
      await Deno.remove(dir, { recursive: true });
    }
  },
});
