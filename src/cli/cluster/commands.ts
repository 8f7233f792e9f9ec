import type { Command } from "@commander-js/extra-typings";
import type { Surroundings } from "../surroundings.ts";

/** Adds the commands about engines that share a database. */
export function addCluster(program: Command, { terminal, done }: Surroundings): void {
  const files = (): Promise<typeof import("./cluster.ts")> => import("./cluster.ts" as string);
  program.command("engines").description("list the engines that share the database")
    .option("--json", "print one JSON list")
    .action(async (options) => done(await (await files()).engines(options, terminal)));
  program.command("migrate").description("move the database to a PostgreSQL server, or back into the home")
    .requiredOption("--to <place>", "postgres://USER:${NAME}@HOST/NAME with the name of a secret, or pglite")
    .action(async ({ to }) => {
      const { migrate } = await (import("./migrate.ts" as string) as Promise<typeof import("./migrate.ts")>);
      done(await migrate(to, terminal));
    });
  program.command("contexts").description("list the folders that those engines work in")
    .option("--json", "print one JSON list")
    .action(async (options) => done(await (await files()).contexts(options, terminal)));
}
