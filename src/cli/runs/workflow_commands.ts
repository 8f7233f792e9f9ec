import type { Command } from "@commander-js/extra-typings";
import type { Surroundings } from "../surroundings.ts";
import { RUN_CODES, RUN_ID } from "./help_texts.ts";

/** The commands about saved workflows. */
export function addWorkflows(program: Command, { terminal, done }: Surroundings): void {
  const workflow = program.command("workflow").description("workflows that are saved under a name, a file each");
  const files = () => import("./workflow.ts" as string) as Promise<typeof import("./workflow.ts")>;
  workflow.command("save").argument("<run>", RUN_ID).argument("<name>", "agents call it as workflow:NAME")
    .description("save a workflow that succeeded")
    .option("--param <name=task.argument...>", "what has to be said each time (otherwise all can be, nothing must)")
    .option("--description <text>", "what it does, for search")
    .option("--replace", "take the place of the one of that name")
    .option("--json", "print one JSON object")
    .action(async (run, name, options) => done(await (await files()).saveWorkflow([run, name], options, terminal)));
  workflow.command("list").description("list what is saved").option("--json", "print one JSON list")
    .action(async (options) => done(await (await files()).listWorkflows(options, terminal)));
  workflow.command("show").argument("<name>").description("show a saved workflow and its file")
    .option("--json", "print one JSON object")
    .action(async (name, options) => done(await (await files()).showWorkflow(name, options, terminal)));
  workflow.command("run").argument("<name>").argument("[input...]", "name=value, or one JSON object")
    .description("run a saved workflow, with a live view")
    .option("--json", "print the answer as one JSON object")
    .addHelpText("after", RUN_CODES)
    .action(async (name, input, options) => done(await (await files()).runWorkflow([name, input], options, terminal)));
  workflow.command("export").argument("<name>").description("print the file of a saved workflow")
    .action(async (name) => done(await (await files()).showWorkflow(name, { isBare: true }, terminal)));
  workflow.command("import").argument("<file>").argument("[name]", "the name of the file unless said")
    .description("check a file and save it")
    .option("--replace", "take the place of the one of that name")
    .option("--json", "print one JSON object")
    .action(async (file, name, options) => done(await (await files()).importWorkflow([file, name], options, terminal)));
  workflow.command("suggest").description("chains of calls that came back three times, as workflows to save")
    .option("--save <id>", "save this one").option("--name <name>", "agents call it as workflow:NAME")
    .option("--json", "print one JSON object")
    .action(async (options) => done(await (await files()).suggestWorkflows(options, terminal)));
  workflow.command("schema").description("print the JSON Schema of workflow files, for editors")
    .action(async () => done(await (await files()).printSchema(terminal)));
  workflow.command("remove").argument("<name>").description("delete a saved workflow")
    .action(async (name) => done(await (await files()).removeWorkflow(name, terminal)));
}
