import type { Command } from "@commander-js/extra-typings";
import { addHooks } from "../hooks/commands.ts";
import { positive, type Surroundings } from "../surroundings.ts";

/** A literal `import()` would make Deno read the module at start. */
function load<Module>(path: string): Promise<Module> {
  return import(path);
}

/** Adds the commands that look after an installation. */
export function addCare(program: Command, surroundings: Surroundings): void {
  const { terminal, done } = surroundings;
  addHooks(program, surroundings);
  program.command("doctor")
    .description("check everything for real, and say what to do")
    .option("--json", "print one JSON object")
    .action(async (options) => {
      const { doctor } = await load<typeof import("./doctor.ts")>("./doctor.ts");
      done(await doctor(options, terminal));
    });
  program.command("logs").argument("[server]", "only what is about this server")
    .description("show the log, with what servers write to stderr")
    .option("-f, --follow", "go on with what is written from now on")
    .option("-n, --lines <count>", "how many lines", positive, 50)
    .option("--json", "print one JSON object a line")
    .action(async (server, options) => {
      const { logs } = await load<typeof import("./logs.ts")>("./logs.ts");
      done(await logs(server, options, terminal));
    });
  const secrets = program.command("secrets").description("values that servers need and nobody else sees");
  secrets.command("set").argument("<name>", "the name of the variable")
    .description("set a value: it is asked for, or read from stdin")
    .action(async (name) => {
      const { setSecret } = await load<typeof import("../secrets.ts")>("../secrets.ts");
      done(await setSecret(name, terminal));
    });
  secrets.command("list").description("list their names").option("--json", "print one JSON list")
    .action(async (options) => {
      const { listSecrets } = await load<typeof import("../secrets.ts")>("../secrets.ts");
      done(await listSecrets(options, terminal));
    });
  secrets.command("remove").argument("<name>", "the name of the variable").description("remove a value")
    .action(async (name) => {
      const { removeSecret } = await load<typeof import("../secrets.ts")>("../secrets.ts");
      done(await removeSecret(name, terminal));
    });
  const config = program.command("config").description("the configuration file");
  config.command("path").description("print where it is").action(async () => {
    const { configPath } = await load<typeof import("./config.ts")>("./config.ts");
    done(configPath(terminal));
  });
  config.command("edit").description("edit it in $EDITOR; only one that is right is saved").action(async () => {
    const { editConfig } = await load<typeof import("./config.ts")>("./config.ts");
    done(await editConfig(terminal));
  });
  config.command("check").description("say whether it is right, and what each server still needs")
    .option("--json", "print one JSON object")
    .action(async (options) => {
      const { checkConfig } = await load<typeof import("./config.ts")>("./config.ts");
      done(await checkConfig(options, terminal));
    });
}
