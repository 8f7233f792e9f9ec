import type { Command } from "@commander-js/extra-typings";
import type { Surroundings } from "../surroundings.ts";

/** A literal `import()` would make Deno read the module at start. */
function load<Module>(path: string): Promise<Module> {
  return import(path);
}

const ADD_HELP = `
For example:
  agentcards add files -- npx -y @modelcontextprotocol/server-filesystem ~/Documents
  agentcards add github --env GITHUB_PERSONAL_ACCESS_TOKEN -- npx -y @modelcontextprotocol/server-github
  agentcards add docs https://example.com/mcp --header "Authorization: Bearer TOKEN"`;

/** Adds the commands that change which servers there are. */
export function addServers(program: Command, { terminal, done }: Surroundings): void {
  const several = (value: string, before: readonly string[] = []) => [...before, value];
  program.command("add").argument("<name>", "how you and your agents call it")
    .argument("<target...>", "-- and the command that starts it, or its URL")
    .description("add a server and try it")
    .option("--env <name=value>", "a variable for it; NAME alone takes that of your session", several)
    .option("--header <name:value>", "a header for a URL", several)
    .option("--cwd <folder>", "where its program runs: a path, auto, session or neutral")
    .option("--sse", "the URL speaks the older SSE transport")
    .option("--shared", "one process for all sessions")
    .option("--no-check", "do not start it now")
    .option("--json", "print one JSON object")
    .addHelpText("after", ADD_HELP)
    .action(async (name, target, options) => {
      const { addServer } = await load<typeof import("./add.ts")>("./add.ts");
      done(await addServer([name, ...target], options, terminal));
    });
  program.command("remove").alias("rm").argument("<server>")
    .description("take a server out of the configuration")
    .option("--json", "print one JSON object")
    .action(async (server, options) => {
      const { removeServer } = await load<typeof import("./change.ts")>("./change.ts");
      done(await removeServer(server, options, terminal));
    });
  for (const [name, isOn] of [["enable", true], ["disable", false]] as const) {
    program.command(name).argument("<server>")
      .description(isOn ? "switch a server on again" : "leave a server out without forgetting it")
      .option("--json", "print one JSON object")
      .action(async (server, options) => {
        const { setEnabled } = await load<typeof import("./change.ts")>("./change.ts");
        done(await setEnabled([server, isOn], options, terminal));
      });
  }
  program.command("restart").argument("<server>")
    .description("stop a server in every session and try it anew")
    .option("--json", "print one JSON object")
    .action(async (server, options) => {
      const { restartServer } = await load<typeof import("./restart.ts")>("./restart.ts");
      done(await restartServer(server, options, terminal));
    });
}
