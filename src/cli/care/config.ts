import { joinPolicy, locateHome, parseConfig, writeConfig } from "../../config/mod.ts";
import { AgentCardsError, describe, messageOf } from "../../model/mod.ts";
import { Command, fs, system } from "../../platform/start.ts";
import { compileRules } from "../../policy/mod.ts";
import { ask } from "../ask.ts";
import { jsonLine } from "../json_out.ts";
import { confirm } from "../prompts/confirm.ts";
import { painter, plural, type Terminal } from "../screen/terminal.ts";

/** `agentcards config path` */
export function configPath(terminal: Terminal): number {
  terminal.out(`${locateHome().config}\n`);
  return 0;
}

/** `agentcards config check`: the files that hold in this folder, and what keeps a server from being started. */
export async function checkConfig({ json }: { json?: boolean }, terminal: Terminal): Promise<number> {
  const { config_problem, servers, notes } = await ask({ method: "status" });
  const problems = [
    ...config_problem === null ? [] : [config_problem],
    // One that failed when it was last tried is not the configuration's fault.
    ...servers.filter(({ error, error_at }) => error !== null && error_at === null).map(({ error }) => error!),
  ];
  if (json) terminal.out(jsonLine({ ok: problems.length === 0, problems, notes }));
  else {
    const paint = painter(terminal.color);
    for (const note of notes) terminal.out(`${note}\n`);
    for (const problem of problems) terminal.out(`${paint("red", "✗")} ${problem}\n`);
    if (problems.length === 0) {
      const enabled = servers.filter(({ state }) => state !== "disabled").length;
      terminal.out(
        `${paint("green", "✓")} ${locateHome().config} is right: ${enabled} of ${servers.length} ${
          plural(servers.length, "server")
        } enabled\n`,
      );
    }
  }
  return problems.length === 0 ? 0 : 1;
}

/** `agentcards config edit`: opens a copy in the user's editor; only one that is right takes the place of the file. */
export async function editConfig(terminal: Terminal): Promise<number> {
  if (!terminal.isTerminal) {
    throw new AgentCardsError("USAGE", "There is no terminal to edit at", {
      hint: "`agentcards config path` says which file it is.",
    });
  }
  const { dir, config } = locateHome();
  const before = await fs.readTextFile(config).catch((error) => {
    if (fs.isNotFound(error)) return EXAMPLE;
    throw new AgentCardsError("CONFIG_INVALID", `Cannot read ${config}: ${messageOf(error)}`, { cause: error });
  });
  await fs.mkdir(dir, { recursive: true, mode: 0o700 });
  const draft = `${dir}/config.draft.yaml`;
  await fs.writeTextFile(draft, before, { mode: 0o600 });
  for (;;) {
    await openEditor(draft);
    const text = await fs.readTextFile(draft);
    try {
      const global = parseConfig(text, config);
      await compileRules(joinPolicy({ global, trusted: [], untrusted: [] }, { own: {}, twins: {} }));
      if (text === before) terminal.out("Nothing was changed.\n");
      else {
        await writeConfig(config, text);
        terminal.out("Saved. Open clients have it within two seconds.\n");
      }
      await fs.remove(draft);
      return 0;
    } catch (error) {
      terminal.err(`${describe(error)}\n`);
      if (await confirm("Edit it again?")) continue;
      terminal.err(`${config} is as it was. What you wrote is in ${draft}.\n`);
      return 1;
    }
  }
}

async function openEditor(path: string): Promise<void> {
  const editor = system.variable("VISUAL") || system.variable("EDITOR") || (system.os === "windows" ? "notepad" : "vi");
  // As git does it: the variable may hold options.
  const words = system.os === "windows" ? [editor, path] : ["sh", "-c", `${editor} "$1"`, "sh", path];
  const [program, ...args] = words;
  const { code } = await new Command(program!, { args, stdin: "inherit", stdout: "inherit", stderr: "inherit" })
    .spawn().status;
  if (code === 0) return;
  throw new AgentCardsError("USAGE", `Cannot edit the file: "${editor}" ended with ${code}`, {
    hint: "Nothing was changed. Set EDITOR to a program that is there.",
  });
}

const EXAMPLE = `# The servers behind AgentCards. \`agentcards config check\` checks this file.
servers: {}
#  files:
#    command: npx
#    args: ["-y", "@modelcontextprotocol/server-filesystem", "/path/to/a/folder"]
`;
