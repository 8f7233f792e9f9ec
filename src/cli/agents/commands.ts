import type { Command } from "@commander-js/extra-typings";
import type { Surroundings } from "../surroundings.ts";

/** The commands about agent programs. */
export function addAgents(program: Command, { terminal, done }: Surroundings): void {
  const load = () => import("./agents.ts" as string) as Promise<typeof import("./agents.ts")>;
  const agents = program.command("agents")
    .description("list the agent programs that tasks of workflows can name")
    .option("--json", "print one JSON list")
    .action(async (options) => done(await (await load()).listAgents(options, terminal)));
  agents.command("test").argument("<name>")
    .description("let an agent answer a question of one word")
    .option("--json", "print the answer of the run as one JSON object")
    .action(async (name, options) => done(await (await load()).testAgent(name, { ...options, terminal })));
  agents.command("reports")
    .description("show what supervisors reported, the newest first")
    .option("--json", "print one JSON list")
    .action(async (options) => done(await (await load()).showReports(options, terminal)));
  agents.command("attach").argument("<run>", "its id, or how the id begins").argument("<task>")
    .description("open the session of an agent task in this terminal")
    .option("--print", "only print the command and its folder, as one JSON object")
    .action(async (run, task, options) => done(await (await load()).attach([run, task], options, terminal)));
}
