import { locateHome } from "../../config/mod.ts";
import { messageOf, tokens } from "../../model/mod.ts";
import { ownProgram } from "../../platform/mod.ts";
import { instructionsFor, TOOLS } from "../../serve/mod.ts";
import { system } from "../../platform/start.ts";
import { confirm } from "../prompts/confirm.ts";
import { learnTools, readServers } from "../tools/index_command.ts";
import { init } from "./init.ts";
import { npxEntry } from "./npx_entry.ts";
import type { InitOptions } from "./io.ts";
import type { Terminal } from "../screen/terminal.ts";

/** `agentcards init`, joined to this machine and its engine. */
export async function runInit(options: Partial<InitOptions>, terminal: Terminal): Promise<number> {
  const env = system.env();
  // In full: a client that was not started from a shell has neither our PATH nor its `deno`.
  const [command, ...args] = ownProgram();
  const inCache = await npxEntry(args.at(-1)!);
  return await init({ dryRun: false, project: false, yes: false, undo: false, json: false, ...options }, {
    home: locateHome(env),
    cwd: system.cwd(),
    env,
    ...terminal,
    confirm,
    // Deno would ask its makers for a newer version now and then; nothing leaves this machine.
    entry: inCache?.entry ?? { command: command!, args: [...args, "serve"], env: { DENO_NO_UPDATE_CHECK: "1" } },
    entryNote: inCache?.note,
    ownTokens: ownTokens(),
    probe: (servers) => readServers(servers, terminal.isTerminal),
    learn: () => learnTools(terminal.isTerminal),
    onInterrupt: (action) => onInterrupt(action, terminal),
  });
}

const INTERRUPTED = 130;

/** Ctrl-C first takes back what was begun, then ends the command. */
function onInterrupt(action: () => Promise<void>, terminal: Terminal): () => void {
  const signals = system.os === "windows" ? ["SIGINT"] as const : ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const stop = () => {
    action().then(
      () => terminal.err("\nInterrupted. Nothing was changed.\n"),
      (error) => terminal.err(`\nInterrupted, and not all could be taken back: ${messageOf(error)}\n`),
    ).finally(() => system.exit(INTERRUPTED));
  };
  for (const signal of signals) system.addSignalListener(signal, stop);
  return () => signals.forEach((signal) => system.removeSignalListener(signal, stop));
}

/** What an agent reads of us: names, descriptions, input schemas, instructions. */
export function ownTokens(): number {
  const definitions = TOOLS.map(({ definition: { name, description, inputSchema } }) =>
    JSON.stringify({ name, description, inputSchema })
  );
  return tokens(definitions.join("").length + instructionsFor().length);
}
