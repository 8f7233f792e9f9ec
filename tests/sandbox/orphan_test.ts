// Cages whose parent is gone and that no reaper knows: the kernel alone ends them.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { cageCommand, type Level } from "../../src/sandbox/command.ts";
import { startProcess } from "../../src/sandbox/cage_process.ts";
import { availableLevel } from "../../src/sandbox/level.ts";
import { isAlive, until } from "../fixtures/gateway.ts";

const PARENT = fileURLToPath(new URL("./parent.ts", import.meta.url));
const { level: strongest, setpriv } = await availableLevel();
const LEVELS = ([0, 1, 2, 3] as const).filter((level) => level <= strongest);

for (const level of LEVELS) {
  Deno.test({
    name: `level ${level}: code that never ends dies with its parent, without a reaper`,
    ignore: level < 2 && setpriv === undefined,
    async fn() {
      const parent = new Deno.Command(Deno.execPath(), {
        args: ["run", "--allow-all", "--quiet", "--cached-only", PARENT, String(level), "60000"],
        stdin: "null",
        stdout: "piped",
      }).spawn();
      const reader = parent.stdout.getReader();
      const { value } = await reader.read();
      const [cage] = JSON.parse(new TextDecoder().decode(value)) as number[];
      assert.ok(cage && isAlive(cage), "the code runs");
      parent.kill("SIGKILL");
      await parent.status;
      await reader.cancel();
      await until("its end", () => !isAlive(cage), 10_000);
    },
  });
}

/** The bound on processor time that the system has for a process that is up. */
async function cpuBound(level: Level, cpuMs: number, setpriv?: string): Promise<string> {
  const cage = await startProcess({ level, memoryMb: 512, cpuMs, setpriv, watch() {}, forget() {} });
  const limits = await Deno.readTextFile(`/proc/${cage.pid}/limits`);
  cage.kill();
  await cage.exited;
  return /Max cpu time +(.*?) +seconds/.exec(limits)![1]!.replace(/ +/, " ");
}

Deno.test({
  name: "the system bounds the processor time of a cage a little above that of its run",
  ignore: strongest < 1,
  async fn() {
    assert.equal(await cpuBound(1, 30_000, setpriv), "35 37");
    assert.equal(await cpuBound(1, 61_500, setpriv), "67 69");
    assert.equal(await cpuBound(0, 30_000), "35 35", "where nothing else is there, by the shell");
  },
});

Deno.test("a cage in namespaces dies with its parent", () => {
  const { args } = cageCommand(2, { memoryMb: 512, cpuMs: 30_000, scratch: "/s" });
  assert.ok(args.includes("--die-with-parent"));
  assert.ok(args.includes("--cpu=35:37"));
});
