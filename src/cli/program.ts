import { AgentCardsError, describe, sanitise } from "../model/mod.ts";
import { VERSION } from "../platform/mod.ts";
import { Command, CommanderError, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { type Terminal, thisTerminal } from "./screen/terminal.ts";

/** 0 done, 1 failed, 2 wrong usage; 3 a run that paused. */
const WRONG_USAGE = 2;

const RUN_ID = "its id, or how the id begins";
const RUN_CODES = "\nExit code: 0 completed, 1 failed, partly failed or aborted, 3 paused.";
const RUN_HELP = `
For example:
  tasks:
    - { id: a, tool: "files:read", arguments: { path: a.txt } }
    - { id: b, tool: "notes:add", arguments: { text: "$OUTPUT[a]" } }
${RUN_CODES}`;

/** Parses a command line and runs it. Each command is loaded when it is used. */
export async function runProgram(args: readonly string[]): Promise<number> {
  let code = 0;
  const program = createProgram((result) => code = result);
  const tab = (await import("@bomb.sh/tab/commander")).default;
  tab(program as never);
  try {
    await program.parseAsync([...args], { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
    if (error instanceof AgentCardsError && error.code === "USAGE") {
      thisTerminal().err(`${sanitise(describe(error))}\n`);
      return WRONG_USAGE;
    }
    throw error;
  }
}

/** Loads a command's module when the command is used; a literal `import()` would make Deno read all of them at start. */
function load<Module>(path: string): Promise<Module> {
  return import(path);
}

/** The terminal that commands print to, and the function that takes their exit code. */
interface Surroundings {
  readonly terminal: Terminal;
  done(code: number): void;
}

function createProgram(done: (code: number) => void): Command {
  const terminal = thisTerminal();
  const program = new Command("agentcards")
    .description("One local MCP gateway in front of all your MCP servers.")
    .version(VERSION, "--version")
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
    .option("--standalone", "run the engine in this process")
    .option("--http", "be it over HTTP on this machine's own address instead")
    .option("--port <number>", "with --http: where to listen; 0 takes any", port, 7420)
    .option("--json", "with --http: print where it listens as one JSON object")
    .action(async ({ standalone, http, port, json }) => {
      if (http) {
        const { serveOverHttp } = await load<typeof import("./serve_http.ts")>("./serve_http.ts");
        done(await serveOverHttp({ port, standalone, json }, terminal));
      } else if (standalone) {
        done(
          await (await load<typeof import("./standalone.ts")>("./standalone.ts"))
            .serveStandalone(),
        );
      } else done(await (await load<typeof import("./serve.ts")>("./serve.ts")).serve());
    });

  program.command("status")
    .description("show engine, database and server status")
    .option("--verbose", "with every tool that was left out or mended")
    .option("--json", "print one JSON object")
    .action(async (options) => {
      const { status } = await load<typeof import("./status.ts")>("./status.ts");
      done(await status(options, terminal));
    });
}

function addTools(program: Command, { terminal, done }: Surroundings): void {
  program.command("search").argument("<query...>", "what you want to do")
    .description("find tools")
    .option("--limit <count>", "how many", positive, 10)
    .option("--server <name>", "only of this server")
    .option("--json", "print one JSON object")
    .action(async (query, options) => {
      const { search } = await load<typeof import("./search.ts")>("./search.ts");
      done(await search(query.join(" "), options, terminal));
    });

  program.command("index").argument("[server...]", "only these servers")
    .description("read the tools of your servers anew and learn what they mean")
    .option("--json", "print one JSON object")
    .action(async (servers, options) => {
      const { index } = await load<typeof import("./index_command.ts")>("./index_command.ts");
      done(await index(servers, options, terminal));
    });

  program.command("tools").argument("[server]", "only of this server")
    .description("list tools")
    .option("--json", "print one JSON object")
    .action(async (server, options) => {
      const { tools } = await load<typeof import("./tools.ts")>("./tools.ts");
      done(await tools(server, options, terminal));
    });

  program.command("graph").argument("[tool]", "server:tool").argument("[to]", "show the way to this one")
    .description("show what was learned about which tool leads to which")
    .option("--dot", "print it for Graphviz")
    .option("--json", "print one JSON object")
    .action(async (tool, to, options) => {
      const { graph } = await load<typeof import("./graph.ts")>("./graph.ts");
      done(await graph([tool, to], options, terminal));
    });

  program.command("call").argument("<tool>", "server:tool").argument("[json]", "its arguments")
    .description("call one tool")
    .option("--json", "print the whole result")
    .action(async (tool, json, options) => {
      const { call } = await load<typeof import("./call.ts")>("./call.ts");
      done(await call(tool, json, { ...options, terminal }));
    });
}

function addRuns(program: Command, { terminal, done }: Surroundings): void {
  program.command("run").argument("<file>", "YAML or JSON: {name?, tasks, options?}, or just a list of tasks")
    .description("run a workflow from a file")
    .option("--json", "print the answer as one JSON object")
    .addOption(new Option("--pause <when>", "stop and wait").choices(["never", "layer", "effects"]))
    .addHelpText("after", RUN_HELP)
    .action(async (file, options) => {
      const { run } = await load<typeof import("./runs/run.ts")>("./runs/run.ts");
      done(await run(file, options, terminal));
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
    .option("--json", "print one JSON object; with --follow one event a line")
    .action(async (id, options) => {
      const { showRun } = await load<typeof import("./runs/show.ts")>("./runs/show.ts");
      done(await showRun(id, options, terminal));
    });
  runs.command("resume").argument("<run>", RUN_ID)
    .description("go on with a run that waits")
    .option("--json", "print the answer as one JSON object")
    .addHelpText("after", RUN_CODES)
    .action(async (id, options) => {
      const { resumeRun } = await load<typeof import("./runs/decide.ts")>("./runs/decide.ts");
      done(await resumeRun(id, { ...options, terminal }));
    });
  runs.command("retry").argument("<run>", RUN_ID).argument("[tasks...]", "these only")
    .description("run again what failed in a run; what has succeeded is kept")
    .option("--json", "print the answer as one JSON object")
    .addHelpText("after", RUN_CODES)
    .action(async (id, tasks, options) => {
      const { retryRun } = await load<typeof import("./runs/decide.ts")>("./runs/decide.ts");
      done(await retryRun(id, tasks, { ...options, terminal }));
    });
  runs.command("abort").argument("<run>", RUN_ID)
    .description("abort a run")
    .option("--json", "print the answer as one JSON object")
    .action(async (id, options) => {
      const { abortRun } = await load<typeof import("./runs/decide.ts")>("./runs/decide.ts");
      done(await abortRun(id, { ...options, terminal }));
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
      .option("--json", "print the answer as one JSON object")
      .addHelpText("after", RUN_CODES)
      .action(async (id, { json, ...command }) => {
        const { resolveRun } = await load<typeof import("./runs/decide.ts")>("./runs/decide.ts");
        done(await resolveRun(id, command, { json, terminal }));
      });
  }
}

function addWorkflows(program: Command, { terminal, done }: Surroundings): void {
  const workflow = program.command("workflow").description("workflows that are saved under a name");
  workflow.command("save").argument("<run>", RUN_ID).argument("<name>", "agents call it as workflow:NAME")
    .description("save a workflow that succeeded")
    .option("--param <name=task.argument...>", "what has to be said each time (otherwise all can be, nothing must)")
    .option("--description <text>", "what it does, for search")
    .option("--json", "print one JSON object")
    .action(async (run, name, options) => {
      const { saveWorkflow } = await load<typeof import("./runs/workflow.ts")>("./runs/workflow.ts");
      done(await saveWorkflow([run, name], options, terminal));
    });
  workflow.command("list").description("list what is saved").option("--json", "print one JSON list")
    .action(async (options) => {
      const { listWorkflows } = await load<typeof import("./runs/workflow.ts")>("./runs/workflow.ts");
      done(await listWorkflows(options, terminal));
    });
  workflow.command("remove").argument("<name>").description("delete a saved workflow")
    .action(async (name) => {
      const { removeWorkflow } = await load<typeof import("./runs/workflow.ts")>("./runs/workflow.ts");
      done(await removeWorkflow(name, terminal));
    });
}

function addApprovals(program: Command, { terminal, done }: Surroundings): void {
  program.command("approvals")
    .description("list calls awaiting approval")
    .option("--json", "print one JSON list")
    .action(async (options) => {
      const { approvals } = await load<typeof import("./prompts/approvals.ts")>("./prompts/approvals.ts");
      done(await approvals(options, terminal));
    });
  for (const action of ["approve", "reject"] as const) {
    program.command(action).argument("<run>", RUN_ID)
      .description(`${action === "approve" ? "allow" : "refuse"} the call that a run waits with (at a terminal only)`)
      .addHelpText("after", RUN_CODES)
      .action(async (id) => {
        const { decideCall } = await load<typeof import("./prompts/approvals.ts")>("./prompts/approvals.ts");
        done(await decideCall(action, id, terminal));
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
    .action(async (file, { latest = false }) => {
      const { restore } = await load<typeof import("./backup.ts")>("./backup.ts");
      done(await restore(file, latest, terminal));
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
  engine.command("restart").description("stop it and start a new one")
    .action(async () => {
      const { restartEngine } = await load<typeof import("./engine.ts")>("./engine.ts");
      done(await restartEngine(terminal));
    });

  engine.command("pack", { hidden: true }).argument("<copy>").argument("<file>")
    .action(async (copy, file) => {
      const { pack } = await load<typeof import("./backup.ts")>("./backup.ts");
      done(await pack(copy, file));
    });
}

/** The commands, in the order in which help lists them. */
const GROUPS = [addSetup, addTools, addRuns, addWorkflows, addApprovals, addHome, addEngine];

function positive(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new InvalidArgumentError("must be a positive whole number");
}

function port(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0 && value < 65_536) return value;
  throw new InvalidArgumentError("must be a port, 0 to 65535");
}
