import type { Command } from "@commander-js/extra-typings";
import type { Surroundings } from "../surroundings.ts";

/** `agentcards triggers`: workflows that start by themselves. */
export function addTriggers(program: Command, { terminal, done }: Surroundings): void {
  const commands = () => import("./triggers.ts" as string) as Promise<typeof import("./triggers.ts")>;
  const triggers = program.command("triggers").description(
    "workflows that start by themselves, once you switch them on",
  )
    .option("--json", "print one JSON list")
    .action(async (options) => done(await (await commands()).listTriggers(options, terminal)));
  triggers.command("list").description("list them, with their last and next start")
    .option("--json", "print one JSON list")
    .action(async (options) => done(await (await commands()).listTriggers(options, terminal)));
  triggers.command("on").argument("<name>").description("switch on exactly the text of a workflow (at a terminal only)")
    .action(async (name) => done(await (await commands()).switchOn(name, terminal)));
  triggers.command("off").argument("<name>").description(
    "switch a workflow off; a run of it that goes on is left alone",
  )
    .action(async (name) => done(await (await commands()).switchOff(name, terminal)));
  triggers.command("try").argument("<name>").description("start it once, now, as its trigger would")
    .option("--json", "print the answer as one JSON object")
    .action(async (name, options) => done(await (await commands()).tryTrigger(name, options, terminal)));
}
