import { AgentCardsError, nearest } from "../../model/mod.ts";
import { z } from "../../../deps.ts";

/** The ways in which agent programs are spoken to. */
export const AGENT_PROTOCOLS = ["acp", "claude", "codex", "command"] as const;
export type AgentProtocol = typeof AGENT_PROTOCOLS[number];

const AGENT_NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;
/** Names with another meaning in this section or in a task. */
const RESERVED: ReadonlySet<string> = new Set(["auto", "routes"]);

const usd = z.number().nonnegative();

const agent = z.strictObject({
  command: z.string()
    .regex(/^(?:[^/\\]+|(?:\/|\$|[A-Za-z]:[\\/]).*)$/, "must be a name, or an absolute path")
    .optional(),
  args: z.array(z.union([z.string(), z.number()], { error: "must be text" }).transform(String)).optional(),
  env: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String)).optional(),
  /** `command`: reads its prompt from stdin and prints its answer. */
  protocol: z.enum(AGENT_PROTOCOLS).optional(),
  model: z.string().min(1).max(200).optional(),
  /** True if tasks may let the program use the tools that it brings. */
  own_tools: z.boolean().optional(),
  /** US dollars for a million tokens. */
  price: z.strictObject({ input: usd, output: usd, cached: usd.optional() }).optional(),
  /** The budget of tasks that name none. */
  budget: z.strictObject({
    usd: z.number().positive().optional(),
    turns: z.number().int().min(1).optional(),
    minutes: z.number().positive().max(1_440).optional(),
  }).optional(),
  disabled: z.boolean().optional(),
});

/** The choice of an agent for tasks with `agent: auto`. */
const route = z.strictObject({
  /** A condition in CEL over `task`. */
  when: z.string().min(1).max(2_000),
  use: z.string().regex(AGENT_NAME, "must be the name of an agent"),
});

/** The section `agents` of a configuration file: agents by their names, and `routes`. */
export const agentsSchema = z.object({ routes: z.array(route).max(100).optional() }).catchall(agent)
  .superRefine((section, context) => {
    for (const name of Object.keys(section)) {
      const problem = RESERVED.has(name) && name !== "routes"
        ? "this name is ours; choose another"
        : AGENT_NAME.test(name)
        ? undefined
        : "an agent's name is 1 to 64 letters, digits, _ . or -";
      if (problem !== undefined) context.addIssue({ code: "custom", path: [name], message: problem });
    }
  });

/** A rule that chooses an agent. */
export type Route = Readonly<z.infer<typeof route>>;
type Section = z.infer<typeof agentsSchema>;
type AgentEntry = z.infer<typeof agent>;

/** An agent program: what is configured, over what is known of it. */
export interface AgentConfig extends Readonly<Omit<AgentEntry, "command" | "protocol" | "args">> {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly protocol: AgentProtocol;
  /** True where the configuration names it; others are used where their program is found. */
  readonly isConfigured: boolean;
}

/** The programs that are known without a configuration. */
const KNOWN: Readonly<Record<string, Pick<AgentConfig, "command" | "args" | "protocol">>> = {
  claude: { command: "claude", args: [], protocol: "claude" },
  codex: { command: "codex", args: [], protocol: "codex" },
  gemini: { command: "gemini", args: ["--acp"], protocol: "acp" },
};

/** The agents of a configuration, the known ones included. An entry without a command is an error of the file. */
export function joinAgents({ routes: _, ...entries }: Section = {}): Readonly<Record<string, AgentConfig>> {
  const names = [...new Set([...Object.keys(entries), ...Object.keys(KNOWN)])];
  return Object.fromEntries(names.map((name) => {
    const entry = Object.hasOwn(entries, name) ? entries[name] : undefined;
    const known = Object.hasOwn(KNOWN, name) ? KNOWN[name] : undefined;
    const command = entry?.command ?? known?.command;
    if (command === undefined) {
      throw new AgentCardsError("CONFIG_INVALID", `agents.${name} needs a command`, {
        hint: `Without a configuration of theirs, AgentCards knows ${Object.keys(KNOWN).join(", ")}.`,
      });
    }
    // A command of the user's own is spoken to as the user says.
    const protocol = entry?.protocol ?? (known ? known.protocol : "command");
    const args = entry?.args ?? (entry?.command === undefined ? known?.args : undefined) ?? [];
    return [name, { ...entry, name, command, args, protocol, isConfigured: entry !== undefined }];
  }));
}

/** The agent of a name, or an error with the nearest names. */
export function requireAgent(agents: Readonly<Record<string, AgentConfig>>, name: string): AgentConfig {
  const found = Object.hasOwn(agents, name) ? agents[name] : undefined;
  if (found && !found.disabled) return found;
  const names = Object.values(agents).filter(({ disabled }) => !disabled).map((one) => one.name);
  const near = nearest(name, names);
  throw new AgentCardsError(
    "INPUT_INVALID",
    found ? `The agent "${name}" is disabled` : `There is no agent "${name}"`,
    { hint: `${near.length > 0 ? `Nearest: ${near.join(", ")}` : `There are ${names.join(", ")}`}.` },
  );
}
