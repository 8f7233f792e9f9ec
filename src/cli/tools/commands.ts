import type { Command } from "@commander-js/extra-typings";
import { positive, type Surroundings } from "../surroundings.ts";

/** A literal `import()` would make Deno read the module at start. */
function load<Module>(path: string): Promise<Module> {
  return import(path);
}

/** Adds the commands that find, show and call tools. */
export function addTools(program: Command, { terminal, done }: Surroundings): void {
  program.command("search").argument("<query...>", "what you want to do")
    .description("find tools")
    .option("--limit <count>", "how many", positive, 10)
    .option("--server <name>", "only of this server")
    .option("--json", "print one JSON object")
    .action(async (query, options) => {
      const { search } = await load<typeof import("./search.ts")>("./search.ts");
      done(await search(query.join(" "), options, terminal));
    });

  program.command("index").argument("[server...]", "only these servers")
    .description("read the tools of your servers anew and learn what they mean")
    .option("--json", "print one JSON object")
    .action(async (servers, options) => {
      const { index } = await load<typeof import("./index_command.ts")>("./index_command.ts");
      done(await index(servers, options, terminal));
    });

  program.command("tools").argument("[name]", "only of this server, or one tool whole: server:tool")
    .alias("ls")
    .description("list tools, or show one with its arguments and an example")
    .option("--json", "print one JSON object")
    .action(async (server, options) => {
      const { tools } = await load<typeof import("./list.ts")>("./list.ts");
      done(await tools(server, options, terminal));
    });

  program.command("graph").argument("[tool]", "server:tool").argument("[to]", "show the way to this one")
    .description("show what was learned about which tool leads to which")
    .option("--dot", "print it for Graphviz")
    .option("--json", "print one JSON object")
    .action(async (tool, to, options) => {
      const { graph } = await load<typeof import("./graph.ts")>("./graph.ts");
      done(await graph([tool, to], options, terminal));
    });

  program.command("call").argument("<tool>", "server:tool").argument("[json]", "its arguments")
    .description("call one tool")
    .option("--json", "print the whole result")
    .action(async (tool, json, options) => {
      const { call } = await load<typeof import("./call.ts")>("./call.ts");
      done(await call(tool, json, { ...options, terminal }));
    });
}
