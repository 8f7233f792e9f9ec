// Small versions of the faults that need neither root nor strace.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("./main.ts", import.meta.url));

interface Figures {
  readonly trials: number;
  readonly violations: number;
  readonly texts: readonly string[];
}

async function faults(kind: string, ...args: string[]): Promise<Figures> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--quiet", "--cached-only", MAIN, "faults", "--kind", kind, ...args, "--json"],
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  assert.equal(code, 0, decoder.decode(stderr));
  return JSON.parse(decoder.decode(stdout).trim().split("\n").at(-1)!)[kind];
}

const SMALL: readonly { readonly name: string; readonly args: readonly string[] }[] = [
  { name: "injuries", args: ["--trials", "3", "--seed", "2"] },
  // The lock and the socket are removed.
  { name: "engines", args: ["--trials", "1", "--from", "0"] },
  // Engine and reaper are killed.
  { name: "killed", args: ["--trials", "1", "--from", "2"] },
];

for (const { name, args } of SMALL) {
  Deno.test(`eval faults --kind ${name}: nothing is lost, repeated, forgotten or left`, async () => {
    const { trials, violations, texts } = await faults(name, ...args);
    assert.equal(trials, Number(args[1]));
    assert.deepEqual([violations, texts], [0, []]);
  });
}

Deno.test("eval faults finds nothing where there is no fault", async () => {
  const { violations, texts } = await faults("engines", "--trials", "1", "--harmless");
  assert.deepEqual([violations, texts], [0, []]);
});
