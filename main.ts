// The only file that prints a failure and exits. A client waits for `serve` to answer, so the two hot commands skip the
// command-line parser: loading it would cost more than they do themselves.

/** Runs a command line and returns its exit code. */
async function main(args: readonly string[]): Promise<number> {
  if (args.length === 1 && args[0] === "serve") return await (await import("./src/cli/serve.ts")).serve();
  if (args.length === 2 && args[0] === "engine" && args[1] === "run") {
    const { locateHome } = await import("./src/config/home.ts");
    return await (await import("./src/gateway/engine.ts")).runEngine(locateHome());
  }
  return await (await import("./src/cli/program.ts")).runProgram(args);
}

if (import.meta.main) {
  try {
    Deno.exit(await main(Deno.args));
  } catch (error) {
    const { describe } = await import("./src/model/errors.ts");
    Deno.stderr.writeSync(new TextEncoder().encode(`${describe(error)}\n`));
    Deno.exit(1);
  }
}
