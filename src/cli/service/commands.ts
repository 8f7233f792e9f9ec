import { type Command, InvalidArgumentError } from "@commander-js/extra-typings";
import type { Surroundings } from "../surroundings.ts";

/** Adds the commands about the engine as a service. */
export function addService(program: Command, { terminal, done }: Surroundings): void {
  const service = program.command("service").description("have the engine run all the time (systemd, launchd)");
  const file = () => import("./service.ts" as string) as Promise<typeof import("./service.ts")>;
  service.command("install").description("start it when you log in, and again when it ends")
    .option("--memory <size>", "the most memory of the engine and all that it starts (systemd)", memory, "50%")
    .option("--cpu <percent>", "the most processor time, 100% is one processor (systemd)", cpu, "400%")
    .action(async (options) => done(await (await file()).installService(options, terminal)));
  service.command("remove").description("leave it to the clients again")
    .action(async () => done(await (await file()).removeService(terminal)));
  service.command("status").description("show whether it is installed and runs")
    .option("--json", "print one JSON object")
    .action(async (options) => done(await (await file()).serviceStatus(options, terminal)));
}

function memory(text: string): string {
  if (/^(?:[1-9]\d?|100)%$|^[1-9]\d*[KMG]?$/.test(text)) return text;
  throw new InvalidArgumentError("must be a share such as 50%, or a size such as 2G");
}

function cpu(text: string): string {
  if (/^[1-9]\d{0,4}%$/.test(text)) return text;
  throw new InvalidArgumentError("must be a share such as 200%");
}
