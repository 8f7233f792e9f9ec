// The only file that prints a failure and exits. A client waits for `serve` to answer, so the two hot commands skip the
// command-line parser, and modules are named `as string`: Deno reads everything that a literal `import()` could ever reach
// before it runs the first line.

/** Runs a command line and returns its exit code. */
async function main(args: readonly string[]): Promise<number> {
  const [command, option, client] = args;
  if (command === "serve" && (args.length === 1 || args.length === 3 && option === "--client")) {
    const { serve }: typeof import("./src/cli/serve.ts") = await import("./src/cli/serve.ts" as string);
    return await serve(client);
  }
  if (command === "serve" && args.length === 3 && option === "--link") {
    const { serveLink }: typeof import("./src/cli/serve_link.ts") = await import("./src/cli/serve_link.ts" as string);
    return await serveLink(client!);
  }
  if (args.length === 2 && args[0] === "engine" && args[1] === "run") {
    const { runEngine }: typeof import("./src/engine/engine.ts") = await import("./src/engine/engine.ts" as string);
    return await runEngine();
  }
  const { runProgram }: typeof import("./src/cli/program.ts") = await import("./src/cli/program.ts" as string);
  return await runProgram(args);
}

if (import.meta.main) {
  try {
    Deno.exit(await main(Deno.args));
  } catch (error) {
    const { describe, sanitise }: typeof import("./src/model/start.ts") = await import(
      "./src/model/start.ts" as string
    );
    // The message may quote a file of somebody else.
    Deno.stderr.writeSync(new TextEncoder().encode(`${sanitise(describe(error))}\n`));
    Deno.exit((error as { code?: unknown }).code === "USAGE" ? 2 : 1);
  }
}
