import { type Command, Option } from "@commander-js/extra-typings";
import type { Surroundings } from "../surroundings.ts";

/** As `HOOK_CLIENTS`, without loading the rest of the configuration. */
const CLIENTS = ["claude-code", "cursor", "gemini"] as const;

/** Adds the commands about hooks of clients. */
export function addHooks(program: Command, { terminal, done }: Surroundings): void {
  const files = (): Promise<typeof import("./hooks.ts")> => import("./hooks.ts" as string);
  const hook = program.command("hook").description("have your client report prompts and uses of its own tools");
  const client = () => new Option("--client <name>", "the client").choices(CLIENTS).default("claude-code" as const);
  hook.command("install").description("add our hooks to the client's settings; the rest of the file stays as it is")
    .addOption(client())
    .option("--project", "for this folder only, in the file that is not committed where there is one")
    .option("--json", "print one JSON object")
    .action(async (options) => done(await (await files()).installHooks(options, terminal)));
  hook.command("remove").description("take our hooks out again, byte for byte")
    .addOption(client())
    .option("--project", "those of this folder")
    .option("--json", "print one JSON object")
    .action(async (options) => done(await (await files()).removeHooks(options, terminal)));
  hook.command("status").description("show where our hooks are, and what they reported")
    .option("--json", "print one JSON object")
    .action(async (options) => done(await (await files()).hookStatus(options, terminal)));
  program.command("undo")
    .description("take back what a client did in this git repository since the last prompt (needs hooks)")
    .option("--dry-run", "show the change, make none")
    .option("--take-back", "put back what the last undo took away, finished or not")
    .option("--yes", "do not ask")
    .option("--json", "print one JSON object")
    .action(async (options) => {
      const { undoPrompt } = await (import("../runs/undo.ts" as string) as Promise<typeof import("../runs/undo.ts")>);
      done(await undoPrompt(options, terminal));
    });
}
