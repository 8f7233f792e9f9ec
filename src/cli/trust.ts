import { locateHome } from "../config/home.ts";
import { parseConfig, readConfigFile } from "../config/read.ts";
import { findProject, trustProject } from "../config/trust.ts";
import { AgentCardsError } from "../model/errors.ts";
import { confirm } from "./confirm.ts";
import type { Terminal } from "./terminal.ts";

/** `agentcards trust`: shows exactly what a project's configuration would start and reach, and pins it on a yes. */
export async function trust(options: { yes?: boolean }, terminal: Terminal): Promise<number> {
  const home = locateHome();
  const project = await findProject(Deno.cwd(), home);
  if (!project) {
    terminal.err("There is no .agentcards/config.yaml in this folder or above it.\n");
    return 1;
  }
  // The very text whose hash will be pinned.
  const file = parseConfig(project.text, project.path);
  const global = await readConfigFile(home.config);
  terminal.out(`${project.path}\n`);
  for (const [name, server] of Object.entries(file.servers ?? {})) {
    // Untruncated, one argument a line: nothing may hide behind the edge of the screen.
    terminal.out(`\n${name}${global.servers?.[name] ? " (replaces your own server of this name)" : ""}\n`);
    const words = server.url ? [server.url] : [server.command!, ...server.args ?? []];
    for (const word of words) terminal.out(`  ${visible(word)}\n`);
    if (server.cwd) terminal.out(`  in ${visible(server.cwd)}\n`);
    for (const [key, value] of Object.entries({ ...server.env, ...server.headers })) {
      terminal.out(`  ${visible(key)}: ${visible(value)}\n`);
    }
  }
  for (const [rule, said] of Object.entries(file.policy ?? {})) {
    const patterns = typeof said === "string"
      ? [said]
      : Array.isArray(said)
      ? said
      : Object.entries(said ?? {}).map(([key, effect]) => `${key} = ${effect}`);
    terminal.out(`\npolicy.${rule}: ${patterns.map(visible).join(", ")}\n`);
  }
  if (project.trusted) {
    terminal.out("\nThis text is trusted already.\n");
    return 0;
  }
  if (!options.yes && !terminal.isTerminal) {
    throw new AgentCardsError("USAGE", "Nobody is here to say yes", {
      hint: "Add --yes after you have read the file.",
    });
  }
  if (!options.yes && !await confirm("Trust exactly this?")) return 1;
  await trustProject(project, home);
  terminal.out("\nTrusted. Any change to the file asks again.\n");
  return 0;
}

/** A text with nothing hidden in it: everything but plain ASCII is spelt out. */
function visible(text: string): string {
  return JSON.stringify(text).replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
