import type { Command } from "@commander-js/extra-typings";
import type { Surroundings } from "../surroundings.ts";

/** Adds the commands about engines that share a database. */
export function addCluster(program: Command, { terminal, done }: Surroundings): void {
  const files = (): Promise<typeof import("./cluster.ts")> => import("./cluster.ts" as string);
  program.command("engines").description("list the engines that share the database")
    .option("--json", "print one JSON list")
    .action(async (options) => done(await (await files()).engines(options, terminal)));
  program.command("contexts").description("list the folders that those engines work in")
    .option("--json", "print one JSON list")
    .action(async (options) => done(await (await files()).contexts(options, terminal)));
}
