import type { Command } from "@commander-js/extra-typings";
import type { Surroundings } from "./surroundings.ts";

/** Loads the commands when one is used; a literal `import()` would make Deno read them at start. */
const signing = (path = "./login.ts"): Promise<typeof import("./login.ts")> => import(path);

/** The commands that sign in to remote servers. */
export function addSignIns(program: Command, { terminal, done }: Surroundings): void {
  program.command("login").argument("<server>", "a remote server")
    .description("sign in to a server")
    .option("--no-browser", "open no browser, only say where to sign in")
    .option("--device", "by a code that you type on any device, where the server offers that")
    .action(async (server, options) => done(await (await signing()).login(server, options, terminal)));

  program.command("logout").argument("<server>", "a remote server")
    .description("sign out of a server, and forget its tokens")
    .action(async (server) => done(await (await signing()).logout(server, terminal)));
}
