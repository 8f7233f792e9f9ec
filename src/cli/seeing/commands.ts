import { InvalidArgumentError, Option } from "@commander-js/extra-typings";
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

  program.command("stats").argument("[tool]", "server:tool, or server:*")
    .description("show calls, failures, times and tokens by tool, server and client")
    .option("--since <time>", "from then on: 30m, 12h, 7d, or a date; the last day unless told")
    .option("--json", "print one JSON object")
    .action(async (tool, options) => {
      const { stats } = await (import("./stats.ts" as string) as Promise<typeof import("./stats.ts")>);
      done(await stats(tool, options, terminal));
    });
}

/** The commands about the record of calls. */
export function addAudit(program: Command, { terminal, done }: Surroundings): void {
  const audit = program.command("audit").description("show the record of calls")
    .option("--since <time>", "from then on: 30m, 12h, 7d, or a date")
    .option("--tool <pattern>", 'only of these tools, such as "github:*"')
    .option("--follow", "go on with rows as they are written")
    .option("--json", "print one JSON object for each row")
    .action(async (options) => {
      const { showAudit } = await (import("../audit.ts" as string) as Promise<typeof import("../audit.ts")>);
      done(await showAudit(options, terminal));
    });
  audit.command("verify").description("check that no row was changed, added or removed")
    .option("--head <head>", "a signed head that was kept elsewhere: a file, or its text")
    .option("--json", "print one JSON object")
    .action(async (options) => {
      const { verify } = await (import("../audit.ts" as string) as Promise<typeof import("../audit.ts")>);
      done(await verify(options, terminal));
    });
  audit.command("export").description("print rows for another program; the export is a row itself")
    .addOption(
      new Option("--format <format>", "jsonl: as they are stored; ocsf: API Activity").choices(
        ["jsonl", "ocsf"] as const,
      ).default("jsonl" as const),
    )
    .option("--since <time>", "from then on: 30m, 12h, 7d, or a date")
    .action(async (options) => {
      const { exportAudit } = await (import("../audit.ts" as string) as Promise<typeof import("../audit.ts")>);
      done(await exportAudit(options, terminal));
    });
}

function port(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0 && value < 65_536) return value;
  throw new InvalidArgumentError("must be a port, 0 to 65535");
}
