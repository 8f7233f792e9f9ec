// deno-lint-ignore-file no-console -- it tells why a fault is skipped
// Small versions of the faults. A fault that this machine cannot make is skipped, with the reason.
import assert from "node:assert/strict";
import { evaluate } from "./evaluate.ts";

interface Figures {
  readonly trials: number;
  readonly violations: number;
  readonly texts?: readonly string[];
  readonly skipped?: string;
}

async function faults(kind: string, ...args: string[]): Promise<Figures> {
  return (await evaluate("faults", "--kind", kind, ...args))[kind] as Figures;
}

const SMALL: readonly { readonly name: string; readonly args: readonly string[] }[] = [
  { name: "injuries", args: ["--trials", "2", "--seed", "2"] },
  // The lock and the socket are removed.
  { name: "engines", args: ["--trials", "1", "--from", "0"] },
  // Engine and reaper are killed.
  { name: "killed", args: ["--trials", "1", "--from", "2"] },
  // During workflows, with large answers. Needs root.
  { name: "power", args: ["--trials", "1", "--from", "0", "--seed", "5"] },
];

for (const { name, args } of SMALL) {
  Deno.test(`eval faults --kind ${name}: nothing is lost, repeated, forgotten or left`, async () => {
    const { trials, violations, texts, skipped } = await faults(name, ...args);
    if (skipped !== undefined) return console.log(`skipped: ${skipped}`);
    assert.equal(trials, Number(args[1]));
    assert.deepEqual([violations, texts], [0, []]);
  });
}

Deno.test("eval faults finds nothing where there is no fault", async () => {
  const { violations, texts } = await faults("killed", "--trials", "1", "--harmless");
  assert.deepEqual([violations, texts], [0, []]);
});
