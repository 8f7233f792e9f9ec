import type { Command } from "@commander-js/extra-typings";
import type { Surroundings } from "../surroundings.ts";

/** The commands about the rules. */
export function addPolicy(program: Command, { terminal, done }: Surroundings): void {
  const policy = program.command("policy").description("what calls may do: rules, presets, what was allowed");
  const show = () => import("./show.ts" as string) as Promise<typeof import("./show.ts")>;
  const judge = () => import("./judge.ts" as string) as Promise<typeof import("./judge.ts")>;
  policy.command("show").description("show the policy of this folder: the preset's rules, your own, lists")
    .option("--json", "print one JSON object")
    .action(async (options) => done(await (await show()).showPolicy(options, terminal)));
  policy.command("check").description("check the rules: what cannot be read, and what can never match")
    .option("--json", "print one JSON object")
    .action(async (options) => done(await (await show()).checkPolicy(options, terminal)));
  policy.command("test").argument("<file>", "calls with the verdicts that you expect (docs/POLICY.md)")
    .description("judge the calls of a file; nothing is called")
    .option("--json", "print one JSON object")
    .action(async (file, options) => done(await (await judge()).testPolicy(file, options, terminal)));
  policy.command("replay").argument("[file]", "a file with another policy; the one that holds unless said")
    .description("say which of the calls that were made would have been stopped or asked about")
    .option("--since <time>", "from then on: 30m, 12h, 7d, or a date; the last week unless told")
    .option("--json", "print one JSON object")
    .action(async (file, options) => done(await (await judge()).replayPolicy(file, options, terminal)));
  policy.command("explain").argument("<tool>", "server:tool").argument("[arguments]", "as one JSON object")
    .description("say which rules are about a tool, and what becomes of a call")
    .option("--json", "print one JSON object")
    .action(async (tool, given, options) => done(await (await judge()).explainTool([tool, given], options, terminal)));
  policy.command("suggest").description("propose rules from what was allowed and refused so far")
    .option("--since <time>", "from then on: 30m, 12h, 7d, or a date; 90 days unless told")
    .option("--json", "print one JSON object")
    .action(async (options) => done(await (await judge()).suggestPolicy(options, terminal)));
  const grants = policy.command("grants").description("list the tools that you allowed always")
    .option("--json", "print one JSON list")
    .action(async (options) => done(await (await show()).listGrants(options, terminal)));
  grants.command("revoke").argument("<pattern>", 'server:tool, or "server:*"')
    .description("take back what was allowed always")
    .action(async (pattern) => done(await (await show()).revokeGrants(pattern, terminal)));
}
