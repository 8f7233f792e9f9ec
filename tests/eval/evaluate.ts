// Runs a measuring command in its small form, as a program of its own.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("./main.ts", import.meta.url));

/** The figures of a measuring command. What it starts is measured as users run it: without counting the lines it runs. */
export async function evaluate(...args: string[]): Promise<Record<string, unknown>> {
  const { DENO_COVERAGE_DIR: _, ...env } = Deno.env.toObject();
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--quiet", "--cached-only", MAIN, ...args, "--json"],
    stdin: "null",
    clearEnv: true,
    env,
  }).output();
  const decoder = new TextDecoder();
  assert.equal(code, 0, decoder.decode(stderr));
  return JSON.parse(decoder.decode(stdout).trim().split("\n").at(-1)!);
}
