// Code that wants threads, a graphics driver, a store or the frames of its runner, at the weakest and the strongest level.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { cageCommand, type Level } from "../../src/sandbox/command.ts";
import { availableLevel } from "../../src/sandbox/level.ts";
import { evaluation } from "../eval/sandbox.ts";

const CASES = fileURLToPath(new URL("../data/hostile_code.jsonl", import.meta.url));
const { level: strongest } = await availableLevel();

for (const level of new Set([0, strongest])) {
  Deno.test(`level ${level}: no case of hostile_code.jsonl gets out, or gets a thread or a graphics driver`, async () => {
    const { n, escaped, uncontained, left } = await evaluation.run({ cases: CASES, level: String(level) });
    assert.ok(Number(n) > 20);
    assert.deepEqual({ escaped, uncontained, left }, { escaped: [], uncontained: [], left: 0 });
  });
}

Deno.test("the caches of a cage are its scratch folder, and no graphics driver is found, at every level", () => {
  for (const level of [0, 1, 2, 3] as const satisfies Level[]) {
    const { env, args } = cageCommand(level, {
      memoryMb: 512,
      cpuMs: 1_000,
      setpriv: undefined,
      scratch: "/scratch",
      group: "/group",
    });
    const valueOf = (name: string) => level < 2 ? env[name] : args[args.indexOf(name) + 1];
    for (const name of ["DENO_DIR", "HOME", "TMPDIR", "XDG_CACHE_HOME"]) assert.equal(valueOf(name), "/scratch", name);
    assert.equal(valueOf("DENO_WEBGPU_BACKEND"), "none");
    for (const name of ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "LIBGL_DRIVERS_PATH"]) {
      assert.equal(valueOf(name), "/dev/null", name);
    }
  }
});
