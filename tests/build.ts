// deno task build: one program file, with everything it loads at run time inside.
import { ROOT } from "./fixtures/gateway.ts";

/** What is found by path at run time, so the compiler cannot see it. */
const INCLUDED = [
  "src/db/pglite_worker.ts",
  "src/call/large/worker.ts",
  "src/call/schema/worker.ts",
  "src/db/migrations",
  "src/db/template.tar.br",
];
const TARGET = "dist/agentcards";

const includes = INCLUDED.flatMap((path) => ["--include", path]);
const { success, stderr } = await new Deno.Command(Deno.execPath(), {
  args: ["compile", "--allow-all", "--no-prompt", "--output", TARGET, ...includes, "main.ts"],
  cwd: ROOT,
  stdin: "null",
  stdout: "inherit",
  stderr: "piped",
}).output();
const words = new TextDecoder().decode(stderr);
if (success) print(`Built ${TARGET}. Try it: ${TARGET} --help`);
else if (/Setting up base binary|error sending request/.test(words)) {
  print(
    "Cannot build: the part of Deno that a compiled program embeds (denort) could not be downloaded from dl.deno.land; " +
      "build where that address can be reached, or install from this clone with: " +
      "deno install --global --allow-all --name agentcards --config deno.json main.ts",
  );
} else print(words);
Deno.exit(success ? 0 : 1);

function print(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${text.trimEnd()}\n`));
}
