import { fileURLToPath } from "node:url";

/** The words that start this very program again: the compiled binary, or this Deno with this checkout. */
export function ownProgram(): string[] {
  if (Deno.build.standalone) return [Deno.execPath()];
  const config = fileURLToPath(new URL("./deno.json", Deno.mainModule));
  return [
    Deno.execPath(),
    "run",
    "--allow-all",
    "--no-prompt",
    "--quiet",
    "--cached-only",
    "--config",
    config,
    fileURLToPath(Deno.mainModule),
  ];
}
