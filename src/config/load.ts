import { AgentCardsError } from "../model/errors.ts";
import { deepFreeze } from "../model/json.ts";
import type { Home } from "./home.ts";
import { twinsOf } from "./program.ts";
import { parseConfig, readConfigFile } from "./read.ts";
import { type Config, type ConfigFile, DEFAULTS, type ServerConfig } from "./schema.ts";
import { findProject, type ProjectFile } from "./trust.ts";

/** The configuration as it holds in one folder. */
export interface LoadedConfig {
  readonly config: Config;
  readonly project?: ProjectFile;
  /** What the user should know: an untrusted project file, for example. */
  readonly notes: readonly string[];
}

/** Global file plus the trusted project's file for `cwd`, joined and frozen. */
export async function loadConfig(home: Home, cwd: string): Promise<LoadedConfig> {
  const global = await readConfigFile(home.config);
  const project = await findProject(cwd, home);
  if (!project) return deepFreeze({ config: join(global), notes: [] });
  if (!project.trusted) {
    const note = `${project.path} is not used until you run \`agentcards trust\` in that folder`;
    return deepFreeze({ config: join(global), project, notes: [note] });
  }
  // The very text whose hash was pinned: the file may have changed since.
  return deepFreeze({
    config: join(global, parseConfig(project.text, project.path), project.path),
    project,
    notes: [],
  });
}

/** A project may add servers and tighten policy, sandbox and limits; it never loosens them. */
function join(global: ConfigFile, project: ConfigFile = {}, path = ""): Config {
  if (project.engine || project.embeddings || project.expose || project.durability) {
    throw new AgentCardsError(
      "CONFIG_INVALID",
      `Cannot use ${path}: engine, embeddings, expose and durability belong into the global file`,
      {
        hint: "Remove these sections from the project's file.",
      },
    );
  }
  const limits = { ...DEFAULTS.limits, ...defined(global.limits) };
  for (const [key, value] of Object.entries(defined(project.limits))) {
    const name = key as keyof typeof limits;
    limits[name] = Math.min(limits[name], value);
  }
  const all = { ...servers(global, "global"), ...servers(project, "project") };
  const expose = { ...DEFAULTS.expose, ...defined(global.expose) };
  const enabled = Object.values(all).filter(({ disabled }) => !disabled);
  if (expose.prefix === "none" && enabled.length > 1) {
    throw new AgentCardsError("CONFIG_INVALID", "expose.prefix: none is for a single server: names would collide", {
      hint: `Enabled are ${enabled.map(({ name }) => name).join(", ")}; leave one, or remove expose.prefix.`,
    });
  }
  return {
    servers: all,
    durability: global.durability ?? DEFAULTS.durability,
    expose,
    engine: { ...DEFAULTS.engine, ...defined(global.engine) },
    embeddings: { ...DEFAULTS.embeddings, ...defined(global.embeddings) },
    sandbox: { minimum_level: Math.max(global.sandbox?.minimum_level ?? 0, project.sandbox?.minimum_level ?? 0) },
    policy: {
      deny: [...global.policy?.deny ?? [], ...project.policy?.deny ?? []],
      approve: [...global.policy?.approve ?? [], ...project.policy?.approve ?? []],
      twins: twinsOf(all),
      effects: joinEffects(global.policy?.effects, project),
      pii: project.policy?.pii === "tokenize" ? "tokenize" : global.policy?.pii ?? DEFAULTS.policy.pii,
      // Under a name that both use, the global pattern holds.
      pii_patterns: { ...project.policy?.pii_patterns, ...global.policy?.pii_patterns },
      pii_allow: global.policy?.pii_allow ?? [],
      speculate: joinSpeculation(global.policy?.speculate, project.policy?.speculate),
    },
    limits,
  };
}

/** A project may call a tool more dangerous than it looks, and speak freely of its own servers; never the reverse. */
function joinEffects(global: Effects = {}, { policy, servers = {} }: ConfigFile): Effects {
  const allowed = Object.entries(policy?.effects ?? {}).filter(([pattern, effect]) =>
    effect === "effectful" || Object.hasOwn(servers, pattern.split(":")[0]!)
  );
  return { ...global, ...Object.fromEntries(allowed) };
}

type Speculation = NonNullable<ConfigFile["policy"]>["speculate"];

/** A project may turn it off, forbid more, and call a tool dearer than it was. */
function joinSpeculation(global: Speculation, project: Speculation): Config["policy"]["speculate"] {
  const usual = DEFAULTS.policy.speculate;
  const costs: Record<string, number> = { ...global?.costs };
  for (const [pattern, cost] of Object.entries(project?.costs ?? {})) {
    costs[pattern] = Math.max(cost, costs[pattern] ?? 0);
  }
  return {
    enabled: (global?.enabled ?? usual.enabled) && project?.enabled !== false,
    deny: [...global?.deny ?? [], ...project?.deny ?? []],
    costs,
    cost_usd: Math.min(global?.cost_usd ?? usual.cost_usd, project?.cost_usd ?? Infinity),
  };
}

type Effects = NonNullable<NonNullable<ConfigFile["policy"]>["effects"]>;

function servers(file: ConfigFile, origin: ServerConfig["origin"]): Record<string, ServerConfig> {
  const entries = Object.entries(file.servers ?? {});
  return Object.fromEntries(entries.map(([name, server]) => [name, { ...server, name, origin }]));
}

function defined<T extends object>(value: T | undefined): { [K in keyof T]: NonNullable<T[K]> } {
  const entries = Object.entries(value ?? {}).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: NonNullable<T[K]> };
}
