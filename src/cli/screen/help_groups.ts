import type { Command } from "@commander-js/extra-typings";

/** The commands as `--help` shows them, by what a person wants. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  "Set up and look after:": ["init", "status", "doctor", "dashboard", "config", "trust", "hook", "service", "serve"],
  "Servers:": ["add", "remove", "enable", "disable", "restart", "login", "logout", "secrets", "logs"],
  "Tools:": ["search", "tools", "call", "index", "graph"],
  "Workflows:": ["run", "runs", "resolve", "workflow", "triggers", "agents", "undo"],
  "What may happen, and what did:": ["approvals", "approve", "reject", "review", "policy", "audit", "stats"],
  "Engine and database:": ["engine", "backup", "restore", "database", "sandbox", "engines", "contexts", "migrate"],
};

const MORE = "More:";

/** Puts the commands under their headings, in this order. */
export function groupCommands(program: Command): void {
  const order = Object.entries(GROUPS).flatMap(([heading, names]) => names.map((name) => ({ name, heading })));
  const placeOf = (command: { name(): string }) => order.findIndex(({ name }) => name === command.name());
  for (const command of program.commands) command.helpGroup(order[placeOf(command)]?.heading ?? MORE);
  (program.commands as Command[]).sort((a, b) => (placeOf(a) + 1 || Infinity) - (placeOf(b) + 1 || Infinity));
  program.commandsGroup(MORE).helpCommand("help [command]", "show the help of a command");
  program.commands.find((command) => command.name() === "complete")?.description("print completions for a shell");
}
