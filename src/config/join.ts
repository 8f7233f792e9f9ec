import { AgentCardsError } from "../model/mod.ts";
import { joinAgents } from "./agents/agents.ts";
import { twinsOf } from "./program.ts";
import { PRESETS, UNATTENDED } from "./policy_schema.ts";
import { type AllowList, type Config, type ConfigFile, DEFAULTS, type ServerConfig } from "./schema.ts";
import type { Tightening } from "./tighten.ts";

/** The files that count in one folder. */
export interface Files {
  readonly global: ConfigFile;
  /** The trusted project's own file: it adds servers. */
  readonly project?: { readonly path: string; readonly file: ConfigFile };
  /** Files and texts of which everything that tightens holds, the project's own among them, the outermost first. */
  readonly trusted: readonly ConfigFile[];
  readonly untrusted: readonly Tightening[];
  /** The trusted folder that a server is started in, if there is one. */
  folderOf(server: ServerConfig): string | undefined;
}

/** Sections that a project's file cannot have. */
const GLOBAL_SECTIONS = [
  "engine",
  "embeddings",
  "cache",
  "expose",
  "durability",
  "profile",
  "audit",
  "notify",
  "history",
  "database",
  "telemetry",
  "analytics",
  "health",
  "agents",
  "checks",
  "supervisors",
] as const;

/** A project may add servers and tighten policy, sandbox and limits; it never loosens them. */
export function joinConfig({ global, project, trusted, untrusted, folderOf }: Files): Config {
  const own = project?.file ?? {};
  if (GLOBAL_SECTIONS.some((name) => own[name] !== undefined)) {
    const sections = `${GLOBAL_SECTIONS.slice(0, -1).join(", ")} and ${GLOBAL_SECTIONS.at(-1)}`;
    throw new AgentCardsError(
      "CONFIG_INVALID",
      `Cannot use ${project?.path}: ${sections} belong into the global file`,
      {
        hint: "Remove these sections from the project's file.",
      },
    );
  }
  const forClients = Object.entries(own.servers ?? {}).find(([, server]) => server.clients !== undefined)?.[0];
  if (forClients !== undefined) {
    throw new AgentCardsError(
      "CONFIG_INVALID",
      `Cannot use ${project?.path}: servers.${forClients}.clients belongs into the global file`,
      { hint: "Remove it from the project's file: a trusted project's servers are for every client." },
    );
  }
  const limits = { ...DEFAULTS.limits, ...defined(global.limits) };
  for (const [key, value] of trusted.flatMap((file) => Object.entries(defined(file.limits)))) {
    const name = key as keyof typeof limits;
    limits[name] = Math.min(limits[name], value);
  }
  const named = { ...servers(global, "global"), ...servers(own, "project") };
  const all = Object.fromEntries(
    Object.entries(named).map(([name, server]) => {
      const folder = folderOf(server);
      return [name, folder === undefined ? server : { ...server, folder }];
    }),
  );
  const expose = { ...DEFAULTS.expose, ...defined(global.expose) };
  const enabled = Object.values(all).filter(({ disabled }) => !disabled);
  if (expose.prefix === "none" && enabled.length > 1) {
    throw new AgentCardsError("CONFIG_INVALID", "expose.prefix: none is for a single server: names would collide", {
      hint: `Enabled are ${enabled.map(({ name }) => name).join(", ")}; leave one, or remove expose.prefix.`,
    });
  }
  const loosening = looseningIn(own);
  if (loosening !== undefined) {
    throw new AgentCardsError(
      "CONFIG_INVALID",
      `Cannot use ${project?.path}: ${loosening} belongs into the global file`,
      {
        hint: "Remove it from the project's file: a project may deny, ask and redact more, never less.",
      },
    );
  }
  if (own.secrets?.not?.length || own.secrets?.store) {
    throw new AgentCardsError(
      "CONFIG_INVALID",
      `Cannot use ${project?.path}: secrets.${own.secrets.store ? "store" : "not"} belongs into the global file`,
      {
        hint: "Remove it from the project's file.",
      },
    );
  }
  const levels = [global, ...trusted].map(({ sandbox }) => sandbox?.minimum_level ?? 0);
  return {
    servers: all,
    agents: joinAgents(global.agents),
    routes: global.agents?.routes ?? [],
    supervisors: global.supervisors ?? [],
    checks: global.checks ?? {},
    durability: global.durability ?? DEFAULTS.durability,
    profile: global.profile ?? DEFAULTS.profile,
    cache: global.cache ?? {},
    expose,
    engine: { ...DEFAULTS.engine, ...defined(global.engine) },
    embeddings: { ...DEFAULTS.embeddings, ...defined(global.embeddings) },
    sandbox: { minimum_level: Math.max(...levels, ...untrusted.map(({ minimumLevel }) => minimumLevel)) },
    secrets: {
      store: global.secrets?.store ?? "file",
      not: global.secrets?.not ?? [],
      also: [global, ...trusted].flatMap(({ secrets }) => secrets?.also ?? []),
    },
    audit: { ...DEFAULTS.audit, ...defined(global.audit) },
    history: { ...DEFAULTS.history, ...defined(global.history) },
    policy: joinPolicy({ global, trusted, untrusted }, { own, twins: twinsOf(all) }),
    limits,
  };
}

/** The policy of the global file, tightened by those of projects. */
export function joinPolicy(
  { global, trusted, untrusted }: Pick<Files, "global" | "trusted" | "untrusted">,
  { own, twins }: { own: ConfigFile; twins: Config["policy"]["twins"] },
): Config["policy"] {
  const files = [global, ...trusted];
  const all = (name: "deny" | "approve") => [
    ...files.flatMap(({ policy }) => policy?.[name] ?? []),
    ...untrusted.flatMap((rules) => rules[name]),
  ];
  const isHidden = trusted.some(({ policy }) => policy?.pii === "tokenize") ||
    untrusted.some((rules) => rules.tokenize);
  return {
    preset: strictest(PRESETS, files.map(({ policy }) => policy?.preset), DEFAULTS.policy.preset),
    without: global.policy?.without ?? [],
    trusted: global.policy?.trusted ?? [],
    unattended: strictest(UNATTENDED, files.map(({ policy }) => policy?.unattended), DEFAULTS.policy.unattended),
    mode: global.policy?.mode ?? DEFAULTS.policy.mode,
    rules: [
      ...global.policy?.rules ?? [],
      ...trusted.flatMap(({ policy }) => policy?.rules?.filter(tightens) ?? []),
    ],
    checks: global.policy?.checks ?? {},
    deny: all("deny"),
    approve: all("approve"),
    allow: files.flatMap((file) => allowListOf(file, file !== global)),
    twins,
    effects: joinEffects(global.policy?.effects, trusted, own),
    pii: isHidden ? "tokenize" : global.policy?.pii ?? DEFAULTS.policy.pii,
    // Under a name that several use, the outermost pattern holds.
    pii_patterns: Object.assign({}, ...files.toReversed().map(({ policy }) => policy?.pii_patterns)),
    pii_allow: global.policy?.pii_allow ?? [],
    speculate: joinSpeculation(global.policy?.speculate, trusted.map(({ policy }) => policy?.speculate)),
  };
}

/** The word of the global file, or of a file that is stricter. */
function strictest<T extends string>(order: readonly T[], [global, ...more]: readonly (T | undefined)[], usual: T): T {
  return more.reduce<T>(
    (now, word) => word !== undefined && order.indexOf(word) > order.indexOf(now) ? word : now,
    global ?? usual,
  );
}

type ProjectRule = NonNullable<NonNullable<ConfigFile["policy"]>["rules"]>[number];

/** True for a rule that a project may have. A program is named in the global file only. */
function tightens({ then, check }: ProjectRule): boolean {
  return then !== "allow" && check === undefined;
}

/** The part of a project's policy that would loosen something. */
function looseningIn({ policy }: ConfigFile): string | undefined {
  const word = (["without", "trusted", "mode", "checks"] as const).find((key) => policy?.[key] !== undefined);
  if (word !== undefined) return `policy.${word}`;
  const rule = policy?.rules?.find((one) => !tightens(one));
  return rule && `the rule "${rule.name}"`;
}

function allowListOf({ policy }: ConfigFile, isProject: boolean): AllowList[] {
  if (!policy?.allow?.length) return [];
  return [{ allow: policy.allow, approve: policy.approve ?? [], ...isProject && { isProject } }];
}

type Effects = NonNullable<NonNullable<ConfigFile["policy"]>["effects"]>;

/** A project may call a tool more dangerous than it looks, and speak freely of its own servers; never the reverse. */
function joinEffects(global: Effects = {}, trusted: readonly ConfigFile[], own: ConfigFile): Effects {
  const isOwn = (pattern: string) => Object.hasOwn(own.servers ?? {}, pattern.split(":")[0]!);
  const said = trusted.flatMap(({ policy }) => Object.entries(policy?.effects ?? {}));
  return {
    ...global,
    ...Object.fromEntries(Object.entries(own.policy?.effects ?? {}).filter(([pattern]) => isOwn(pattern))),
    ...Object.fromEntries(said.filter(([, effect]) => effect === "effectful")),
  };
}

type Speculation = NonNullable<ConfigFile["policy"]>["speculate"];

/** A project may turn it off, forbid more, and call a tool dearer than it was. */
function joinSpeculation(global: Speculation, projects: readonly Speculation[]): Config["policy"]["speculate"] {
  const usual = DEFAULTS.policy.speculate;
  const costs: Record<string, number> = { ...global?.costs };
  for (const [pattern, cost] of projects.flatMap((project) => Object.entries(project?.costs ?? {}))) {
    costs[pattern] = Math.max(cost, costs[pattern] ?? 0);
  }
  return {
    enabled: (global?.enabled ?? usual.enabled) && projects.every((project) => project?.enabled !== false),
    deny: [global, ...projects].flatMap((one) => one?.deny ?? []),
    allow: global?.allow ?? [],
    costs,
    cost_usd: Math.min(
      global?.cost_usd ?? usual.cost_usd,
      ...projects.map((project) => project?.cost_usd ?? Infinity),
    ),
  };
}

function servers(file: ConfigFile, origin: ServerConfig["origin"]): Record<string, ServerConfig> {
  const entries = Object.entries(file.servers ?? {});
  return Object.fromEntries(entries.map(([name, server]) => [name, { ...server, name, origin }]));
}

function defined<T extends object>(value: T | undefined): { [K in keyof T]: NonNullable<T[K]> } {
  const entries = Object.entries(value ?? {}).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: NonNullable<T[K]> };
}
