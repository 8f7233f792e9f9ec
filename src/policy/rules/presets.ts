import type { Preset } from "../../config/mod.ts";
import { OWN_SERVER, splitToolId, WORKFLOW_SERVER } from "../../model/mod.ts";
import {
  applies,
  asRoot,
  type Commands,
  commandsIn,
  deletesAll,
  dropsTable,
  opensToAll,
  pushes,
  removesByForce,
  restarts,
} from "./commands.ts";
import type { JudgedCall } from "./judged.ts";
import { outsideValue } from "./outside.ts";

/** A rule of a preset. */
export interface PresetRule {
  readonly name: string;
  readonly in: readonly Preset[];
  readonly then: "deny" | "approve";
  /** The rule in words, for `policy show`. */
  readonly says: string;
  /** True if each call is asked about: no earlier answer counts. */
  readonly isOnce?: boolean;
  /** True for a rule about calls of tools that act, made by somebody else than a person. */
  readonly isAboutActing?: boolean;
  /** The reason why it holds for a call. */
  holds(call: JudgedCall, commands: () => Commands): string | undefined;
}

const STRICTER: readonly Preset[] = ["standard", "strict"];

const shell = (name: string, then: PresetRule["then"], shown: string, test: (text: string) => boolean): PresetRule => ({
  name,
  in: STRICTER,
  then,
  says: `a command with ${shown}`,
  ...then === "approve" && { isOnce: true },
  holds: (_, commands) => commands().shell.some(test) ? `the command has ${shown}` : undefined,
});

const sql = (name: string, shown: string, test: (text: string) => boolean): PresetRule => ({
  name,
  in: STRICTER,
  then: "deny",
  says: `a statement with ${shown}`,
  holds: (_, commands) => commands().sql.some(test) ? `the statement has ${shown}` : undefined,
});

/** Everything that the presets consist of, in the order in which it is judged. */
export const PRESET_RULES: readonly PresetRule[] = [
  shell("no rm -rf", "deny", "rm -rf", removesByForce),
  shell("no sudo", "deny", "sudo", asRoot),
  shell("no chmod 777", "deny", "chmod 777", opensToAll),
  sql("no drop table", "DROP TABLE", dropsTable),
  sql("no delete without where", "DELETE without WHERE", deletesAll),
  shell("git push", "approve", "git push", pushes),
  shell("kubectl apply", "approve", "kubectl apply", applies),
  shell("systemctl restart", "approve", "systemctl restart", restarts),
  {
    name: "values from outside",
    in: ["strict"],
    then: "approve",
    says: "a call that acts with a value that came out of a result of a server that is not trusted",
    isOnce: true,
    isAboutActing: true,
    holds(call) {
      const found = outsideValue(call);
      return found && `${found.path} came out of ${found.origin}`;
    },
  },
  {
    name: "destructive",
    in: STRICTER,
    then: "approve",
    says: "a call of a tool that its server calls destructive, each time",
    isOnce: true,
    isAboutActing: true,
    holds: ({ definition }) =>
      definition?.annotations?.destructiveHint === true ? "its server calls it destructive" : undefined,
  },
  {
    name: "first use",
    in: STRICTER,
    then: "approve",
    says: "the first call of a tool that acts; once allowed for the session or always, it is not asked about again",
    isAboutActing: true,
    holds: () => "it acts, and was not allowed before",
  },
];

/** The rules of a preset without those that are switched off. */
export function rulesOfPreset(preset: Preset, without: readonly string[]): readonly PresetRule[] {
  return PRESET_RULES.filter((rule) => rule.in.includes(preset) && !without.includes(rule.name));
}

/** True for calls that a preset may ask about as acting ones: what people do themselves, and what is ours, is not. */
export function isActing({ tool, effect, by, isToolCall }: JudgedCall): boolean {
  const { server } = splitToolId(tool);
  return isToolCall && effect !== "read" && by !== "human" && by !== "speculation" && server !== OWN_SERVER &&
    server !== WORKFLOW_SERVER;
}

export const lazyCommands = (args: Readonly<Record<string, unknown>>): () => Commands => {
  let found: Commands | undefined;
  return () => found ??= commandsIn(args);
};
