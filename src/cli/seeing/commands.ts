import { InvalidArgumentError } from "@commander-js/extra-typings";
import type { Command } from "@commander-js/extra-typings";
import type { Surroundings } from "../surroundings.ts";

/** The commands that show what the gateway does. */
export function addSeeing(program: Command, { terminal, done }: Surroundings): void {
  program.command("dashboard")
    .description("serve a page on this machine that shows runs, approvals, servers and figures")
    .option("--no-open", "print the address; the page shows six digits to type here")
    .option("--port <number>", "where to listen; 8765 or, where that is taken, any", port)
    .option("--host <address>", "listen on this address, which others may reach; wants TLS")
    .option("--name <host...>", "how browsers call this machine, besides localhost")
    .option("--cert <file>", "the certificate for TLS, as PEM")
    .option("--key <file>", "its key")
    .action(async (options) => {
      const { dashboard } = await (import("./dashboard.ts" as string) as Promise<typeof import("./dashboard.ts")>);
      done(await dashboard(options, terminal));
    });
}

function port(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0 && value < 65_536) return value;
  throw new InvalidArgumentError("must be a port, 0 to 65535");
}
