import { AgentCardsError, clientName, describe, sanitise } from "../model/mod.ts";
import { VERSION } from "../platform/mod.ts";
import { Command, CommanderError, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { positive, type Surroundings } from "./surroundings.ts";
import { addCluster } from "./cluster/commands.ts";
import { addAgents } from "./agents/commands.ts";
import { addCare } from "./care/commands.ts";
import { addServers } from "./servers/commands.ts";
import { addTools } from "./tools/commands.ts";
import { addAudit, addSeeing } from "./seeing/commands.ts";
import { addPolicy } from "./policy/commands.ts";
import { addSignIns } from "./sign_ins.ts";
import { addService } from "./service/commands.ts";
import { groupCommands } from "./screen/help_groups.ts";
import { thisTerminal } from "./screen/terminal.ts";
import { RUN_CODES, RUN_ID } from "./runs/help_texts.ts";
import { addWorkflows } from "./runs/workflow_commands.ts";
import { addTriggers } from "./triggers/commands.ts";

/** 0 done, 1 failed, 2 wrong usage; 3 a run that paused. */
const WRONG_USAGE = 2;

const NOTE = "the reason, kept with the decision";
const RUN_HELP = `
For example:
  tasks:
    - { id: a, tool: "files:read", arguments: { path: a.txt } }
    - { id: b, tool: "notes:add", arguments: { text: "$OUTPUT[a]" } }
${RUN_CODES}`;

/** What people type who know other programs, and what it is called here. */
const MEANT: Readonly<Record<string, string | undefined>> = {
  list: "Servers: agentcards status. Tools: agentcards tools. Runs: agentcards runs.",
  servers: "agentcards status lists your servers.",
  start: "Nothing needs to be started: a client starts `agentcards serve`, and that what it needs.",
  stop: "agentcards engine stop",
  install: "agentcards add NAME -- COMMAND… adds a server.",
  uninstall: "agentcards remove NAME takes a server out; agentcards init --undo gives your clients' files back.",
  delete: "agentcards remove NAME",
  edit: "agentcards config edit",
  import: "agentcards init brings your clients' servers over.",
  setup: "agentcards init brings your clients' servers over.",
  version: "agentcards --version",
  log: "agentcards logs",
};

/** Parses a command line and runs it. Each command is loaded when it is used. */
export async function runProgram(args: readonly string[]): Promise<number> {
  let code = 0;
  const terminal = thisTerminal();
  const program = createProgram((result) => code = result);
  const tab = (await import("@bomb.sh/tab/commander")).default;
  const root = tab(program as never);
  groupCommands(program);
  if (args[0] === "complete" && args[1] === "--") {
    const { fillCompletions } = await load<typeof import("./completion/fill.ts")>("./completion/fill.ts");
    await fillCompletions(root, args.slice(2));
  }
  try {
    await program.parseAsync([...args], { from: "user" });
    if (args[0] === "complete" && args[1] === "bash") {
      const { BASH_COLONS } = await load<typeof import("./completion/bash_colons.ts")>("./completion/bash_colons.ts");
      terminal.out(BASH_COLONS);
    }
    return code;
  } catch (error) {
    if (error instanceof CommanderError) {
      const hint = hintFor(error.code, args);
      if (hint !== undefined) thisTerminal().err(`${hint}\n`);
      return error.exitCode === 0 ? 0 : WRONG_USAGE;
    }
    if (error instanceof AgentCardsError && error.code === "USAGE") {
      thisTerminal().err(`${sanitise(describe(error))}\n`);
      return WRONG_USAGE;
    }
    throw error;
  }
}

function hintFor(code: string, [command = ""]: readonly string[]): string | undefined {
  if (code === "commander.unknownOption" && command === "add") {
    return "Put -- before the command: agentcards add NAME -- COMMAND…";
  }
  return code === "commander.unknownCommand" && Object.hasOwn(MEANT, command) ? MEANT[command] : undefined;
}

/** Loads a command's module when the command is used; a literal `import()` would make Deno read all of them at start. */
function load<Module>(path: string): Promise<Module> {
  return import(path);
}

function createProgram(done: (code: number) => void): Command {
  const terminal = thisTerminal();
  const program = new Command("agentcards")
    .description("One local MCP gateway in front of all your MCP servers.")
    .version(VERSION, "-V, --version")
    .showHelpAfterError("(agentcards --help shows all commands)")
    // Otherwise `runs` would take the options of its own subcommands.
    .enablePositionalOptions()
    .exitOverride();
  for (const add of GROUPS) add(program as unknown as Command, { terminal, done });
  return program as unknown as Command;
}

function addSetup(program: Command, { terminal, done }: Surroundings): void {
  program.command("init")
    .description("bring the MCP servers of your clients over")
    .option("--dry-run", "show what would be done, change nothing")
    .option("--config <path>", "read just this file")
    .option("--client <name>", "only this client")
    .option("--project", "take the project's own files too")
    .option("--share", "let every client use the servers, not only those they come from")
    .option("--failing", "move servers that do not start, too")
    .option("--yes", "do not ask")
    .option("--undo", "put everything back")
    .option("--json", "print one JSON object")
    .action(async (options) => {
      const { runInit } = await load<typeof import("./init/command.ts")>("./init/command.ts");
      done(await runInit(options, terminal));
    });

  program.command("serve")
    .description("be the MCP server on stdin and stdout (this goes into your client)")
    .option("--stdio", "the default")
    .option("--client <name>", "the client it serves: it sees the servers that are for it")
    .option("--standalone", "run the engine in this process")
    .option("--http", "be it over HTTP on this machine's own address instead")
    .option("--port <number>", "with --http: where to listen; 0 takes any", port, 7420)
    .option("--host <address>", "with --http: listen on this address, which others may reach; wants TLS and a token")
    .option("--name <host...>", "with --http: how clients call this machine, besides localhost")
    .option("--cert <file>", "with --http: the certificate for TLS, as PEM")
    .option("--key <file>", "with --http: its key")
    .option("--behind-proxy", "with --http: a proxy in front does TLS")
    .option("--json", "with --http: print where it listens as one JSON object")
    .action(async ({ standalone, http, client, ...options }) => {
      if (!http && (options.host ?? options.cert ?? options.key ?? options.name ?? options.behindProxy) !== undefined) {
        throw new AgentCardsError("USAGE", "--host, --name, --cert, --key and --behind-proxy go with --http");
      }
      if (http) {
        const { serveOverHttp } = await load<typeof import("./serve_http.ts")>("./serve_http.ts");
        done(await serveOverHttp({ standalone, client: clientName(client), ...options }, terminal));
      } else if (standalone) {
        done(
          await (await load<typeof import("./standalone.ts")>("./standalone.ts"))
            .serveStandalone(clientName(client)),
        );
      } else done(await (await load<typeof import("./serve.ts")>("./serve.ts")).serve(client));
    });

  program.command("status")
    .description("show engine, database and server status")
    .option("--check", "try every server first")
    .option("--verbose", "with every tool that was left out or mended")
    .option("--json", "print one JSON object")
    .action(async (options) => {
      const { status } = await load<typeof import("./status.ts")>("./status.ts");
      done(await status(options, terminal));
    });
}

function addRuns(program: Command, { terminal, done }: Surroundings): void {
  program.command("run").argument("<file>", "YAML or JSON: {tasks, options?, parameters?}, or just a list of tasks")
    .argument("[input...]", "values of its parameters: name=value, or one JSON object")
    .description("run a workflow from a file")
    .option("--json", "print the answer as one JSON object")
    .addOption(new Option("--pause <when>", "stop and wait").choices(["never", "layer", "effects"] as const))
    .addHelpText("after", RUN_HELP)
    .action(async (file, input, options) => {
      const { run } = await load<typeof import("./runs/run.ts")>("./runs/run.ts");
      done(await run([file, input], options, terminal));
    });

  const runs = program.command("runs")
    .description("list the workflows that ran, and go on with one")
    .option("--limit <count>", "how many", positive, 20)
    .option("--json", "print one JSON list")
    .action(async (options) => {
      const { runs } = await load<typeof import("./runs/list.ts")>("./runs/list.ts");
      done(await runs(options, terminal));
    });
  runs.command("show").argument("<run>", RUN_ID)
    .description("show how a run went, on a common time axis")
    .option("--follow", "show the run while it goes on, until it ends")
    .option("--full", "with all that its tasks were given and gave, uncut")
    .option("--json", "print one JSON object; with --follow one event a line")
    .action(async (id, options) => {
      const { showRun } = await load<typeof import("./runs/show.ts")>("./runs/show.ts");
      done(await showRun(id, options, terminal));
    });
  runs.command("resume").argument("<run>", RUN_ID)
    .description("go on with a run that waits")
    .option("--note <text>", NOTE)
    .option("--json", "print the answer as one JSON object")
    .addHelpText("after", RUN_CODES)
    .action(async (id, options) => {
      const { resumeRun } = await load<typeof import("./runs/decide.ts")>("./runs/decide.ts");
      done(await resumeRun(id, { ...options, terminal }));
    });
  runs.command("retry").argument("<run>", RUN_ID).argument("[tasks...]", "these only")
    .description("run again what failed in a run; what has succeeded is kept")
    .option("--note <text>", NOTE)
    .option("--json", "print the answer as one JSON object")
    .addHelpText("after", RUN_CODES)
    .action(async (id, tasks, options) => {
      const { retryRun } = await load<typeof import("./runs/decide.ts")>("./runs/decide.ts");
      done(await retryRun(id, tasks, { ...options, terminal }));
    });
  runs.command("abort").argument("<run>", RUN_ID)
    .description("abort a run")
    .option("--note <text>", NOTE)
    .option("--json", "print the answer as one JSON object")
    .action(async (id, options) => {
      const { abortRun } = await load<typeof import("./runs/decide.ts")>("./runs/decide.ts");
      done(await abortRun(id, { ...options, terminal }));
    });
  runs.command("undo").argument("<run>", RUN_ID)
    .description("take back what a run changed in its git repository: all files or none")
    .option("--task <id>", "only this task, and those that ran at the same time")
    .option("--dry-run", "show the change, make none")
    .option("--take-back", "put back what the last undo took away, finished or not")
    .option("--yes", "do not ask")
    .option("--json", "print one JSON object")
    .action(async (id, options) => {
      const { undoRun } = await load<typeof import("./runs/undo.ts")>("./runs/undo.ts");
      done(await undoRun(id, options, terminal));
    });
  for (const parent of [runs, program]) {
    parent.command("resolve").argument("<run>", RUN_ID)
      .description("say what became of a call that may or may not have happened")
      .option("--task <id>", "which one, where there are several")
      .addOption(
        new Option("--outcome <what>", "it is done, do it again, or go on without")
          .choices(["done", "retry", "skip"] as const).makeOptionMandatory(),
      )
      .option("--value <json>", "what a call that is done gave")
      .option("--note <text>", NOTE)
      .option("--json", "print the answer as one JSON object")
      .addHelpText("after", RUN_CODES)
      .action(async (id, { json, note, ...command }) => {
        const { resolveRun } = await load<typeof import("./runs/decide.ts")>("./runs/decide.ts");
        done(await resolveRun(id, command, { json, note, terminal }));
      });
  }
}

function addApprovals(program: Command, { terminal, done }: Surroundings): void {
  program.command("approvals")
    .description("list calls awaiting approval")
    .option("--json", "print one JSON list")
    .action(async (options) => {
      const { approvals } = await load<typeof import("./prompts/approvals.ts")>("./prompts/approvals.ts");
      done(await approvals(options, terminal));
    });
  program.command("review").argument("[server]", "only this server")
    .description("look at definitions that changed since you accepted them (one question for each server)")
    .option("--json", "print one JSON object")
    .action(async (server, options) => {
      const { review } = await load<typeof import("./review.ts")>("./review.ts");
      done(await review(server, options, terminal));
    });
  for (const action of ["approve", "reject"] as const) {
    program.command(action).argument("<run>", RUN_ID)
      .description(`${action === "approve" ? "allow" : "refuse"} the call that a run waits with (at a terminal only)`)
      .option("--note <text>", NOTE)
      .addHelpText("after", RUN_CODES)
      .action(async (id, { note }) => {
        const { decideCall } = await load<typeof import("./prompts/approvals.ts")>("./prompts/approvals.ts");
        done(await decideCall(action, id, { note, terminal }));
      });
  }
}

function addHome(program: Command, { terminal, done }: Surroundings): void {
  program.command("trust")
    .description("trust this folder and its project's .agentcards/config.yaml, after reading it")
    .option("--yes", "do not ask")
    .option("--forget", "take the trust back, and end the rules that came with it")
    .action(async (options) => {
      const { trust } = await load<typeof import("./trust.ts")>("./trust.ts");
      done(await trust(options, terminal));
    });

  program.command("backup").argument("<file>")
    .description("write the database into one file")
    .action(async (file) => {
      const { backup } = await load<typeof import("./backup.ts")>("./backup.ts");
      done(await backup(file, terminal));
    });

  program.command("restore").argument("[file]")
    .description("restore a backup")
    .option("--latest", "the newest of those that are made by themselves")
    .option("--before <version>", "the one of before this version changed the database")
    .option("--yes", "with --before: do not ask")
    .action(async (file, options) => {
      const { restore } = await load<typeof import("./backup.ts")>("./backup.ts");
      done(await restore(file, options, terminal));
    });

  program.command("database").description("the database of this home")
    .command("accept").description("use it as it is, though rows are missing or it is another one than before")
    .action(async () => {
      const { acceptDatabase } = await load<typeof import("./backup.ts")>("./backup.ts");
      done(await acceptDatabase(terminal));
    });

  program.command("sandbox").description("where code runs")
    .command("accept").description("let code run at the level of now, though it was stronger before")
    .action(async () => {
      const { acceptSandbox } = await load<typeof import("./sandbox.ts")>("./sandbox.ts");
      done(await acceptSandbox(terminal));
    });
}

function addEngine(program: Command, { terminal, done }: Surroundings): void {
  const engine = program.command("engine").description("the process behind every serve");
  engine.command("stop").description("stop it; the next command starts a new one")
    .option("--force", "kill it at once")
    .action(async (options) => {
      const { stopEngine } = await load<typeof import("./engine.ts")>("./engine.ts");
      done(await stopEngine(options, terminal));
    });
  engine.command("drain").description("let it finish its calls; other engines go on with its runs")
    .action(async () => {
      const { drainEngine } = await load<typeof import("./cluster/cluster.ts")>("./cluster/cluster.ts");
      done(await drainEngine(terminal));
    });
  engine.command("restart").description("stop it and start a new one")
    .action(async () => {
      const { restartEngine } = await load<typeof import("./engine.ts")>("./engine.ts");
      done(await restartEngine(terminal));
    });

  program.command("library", { hidden: true })
    .action(async () => {
      const { serveLibrary } = await load<typeof import("./library.ts")>("./library.ts");
      done(await serveLibrary());
    });

  engine.command("pack", { hidden: true }).argument("<copy>").argument("<file>")
    .action(async (copy, file) => {
      const { pack } = await load<typeof import("./backup.ts")>("./backup.ts");
      done(await pack(copy, file));
    });
}

/** The commands, in the order in which help lists them. */
const GROUPS = [
  addSetup,
  addServers,
  addCare,
  addSeeing,
  addSignIns,
  addTools,
  addRuns,
  addWorkflows,
  addTriggers,
  addAgents,
  addApprovals,
  addPolicy,
  addAudit,
  addHome,
  addCluster,
  addEngine,
  addService,
];

function port(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0 && value < 65_536) return value;
  throw new InvalidArgumentError("must be a port, 0 to 65535");
}
