import {
  type ConfigFile,
  findProject,
  forgetTrust,
  type Home,
  locateHome,
  parseConfig,
  type ProjectFile,
  projectPlaces,
  readConfigFile,
  sessionFolder,
  startFolder,
  trustFolder,
  trustProject,
  unusable,
} from "../config/mod.ts";
import { AgentCardsError } from "../model/mod.ts";
import { system } from "../platform/start.ts";
import { confirm } from "./prompts/confirm.ts";
import type { Terminal } from "./screen/terminal.ts";

export interface TrustOptions {
  readonly yes?: boolean;
  readonly forget?: boolean;
}

/** `agentcards trust`: shows exactly what a folder and its project's file would start and reach; pins both on a yes. */
export async function trust(options: TrustOptions, terminal: Terminal): Promise<number> {
  const home = locateHome();
  if (options.forget) return await forget(home, terminal);
  const project = await findProject(system.cwd(), home);
  const global = await readConfigFile(home.config);
  const folder = await sessionFolder(system.cwd(), home, {});
  if (project) showFile(project, global, terminal);
  else await requireReadable(home);
  if (folder.trustedBy && project?.trusted !== false) {
    terminal.out(`${project ? "\nThis text" : folder.path} is trusted already.\n`);
    return 0;
  }
  terminal.out(folderText(folder.path, global));
  if (!options.yes && !terminal.isTerminal) {
    throw new AgentCardsError("USAGE", "Nobody is here to say yes", {
      hint: "Add --yes after you have read what is shown.",
    });
  }
  if (!options.yes && !await confirm(project ? "Trust exactly this?" : "Trust this folder?")) return 1;
  if (project) await trustProject(project, home);
  await trustFolder(folder.path, home);
  terminal.out(project ? "\nTrusted. Any change to the file asks again.\n" : "\nTrusted.\n");
  terminal.out("Clients that are open use it within two seconds.\n");
  return 0;
}

async function forget(home: Home, terminal: Terminal): Promise<number> {
  const forgotten = await forgetTrust(system.cwd(), home);
  for (const path of forgotten) terminal.out(`${path} is not trusted any more.\n`);
  if (forgotten.length === 0) terminal.out("Nothing was trusted here.\n");
  const { trustedBy, path } = await sessionFolder(system.cwd(), home, system.env());
  if (trustedBy) {
    const by = trustedBy === "claude-code" ? "Claude Code trusts it" : "its repository is trusted";
    terminal.out(`Servers still start in ${path}: ${by}. \`cwd: neutral\` of a server keeps it out.\n`);
  }
  return 0;
}

/** A file that cannot be read cannot be trusted either. */
async function requireReadable(home: Home): Promise<void> {
  for (const { path, problem } of await projectPlaces(system.cwd(), home)) {
    if (problem !== undefined) throw unusable(path, problem);
  }
}

function folderText(path: string, global: ConfigFile): string {
  const trusted = { folder: { path, trustedBy: "agentcards" as const }, root: undefined };
  const names = Object.entries(global.servers ?? {}).filter(([name, server]) =>
    !server.disabled && startFolder({ ...server, name, origin: "global" }, trusted)
  ).map(([name]) => name);
  const what = names.length > 0
    ? `your servers are started in it: ${names.join(", ")}`
    : "your servers may start in it";
  return `\nThe folder ${visible(path)}: once it is trusted, ${what}.\n`;
}

function showFile(project: ProjectFile, global: ConfigFile, terminal: Terminal): void {
  // The very text whose hash will be pinned.
  const file = parseConfig(project.text, project.path);
  terminal.out(`${project.path}\n`);
  for (const [name, server] of Object.entries(file.servers ?? {})) {
    // Untruncated, one argument a line: nothing may hide behind the edge of the screen.
    terminal.out(`\n${name}${global.servers?.[name] ? " (replaces your own server of this name)" : ""}\n`);
    const words = server.url ? [server.url] : [server.command!, ...server.args ?? []];
    for (const word of words) terminal.out(`  ${visible(word)}\n`);
    if (server.cwd) terminal.out(`  in ${visible(server.cwd)}\n`);
    for (const [key, value] of Object.entries({ ...server.env, ...server.headers, ...server.oauth })) {
      terminal.out(`  ${visible(key)}: ${visible(value)}\n`);
    }
  }
  for (const [rule, said] of Object.entries(file.policy ?? {})) {
    const patterns = typeof said === "string"
      ? [said]
      : Array.isArray(said)
      ? said.map((item) => typeof item === "string" ? item : JSON.stringify(item))
      : Object.entries(said ?? {}).map(([key, effect]) => `${key} = ${effect}`);
    terminal.out(`\npolicy.${rule}: ${patterns.map(visible).join(", ")}\n`);
  }
}

/** A text with nothing hidden in it: everything but plain ASCII is spelt out. */
function visible(text: string): string {
  return JSON.stringify(text).replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
