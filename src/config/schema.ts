import { AgentCardsError, CLIENT_NAME, nearest, SERVER_NAME } from "../model/mod.ts";
import { z } from "../../deps.ts";
import { type AgentConfig, agentsSchema, type Route } from "./agents/agents.ts";
import { durationUpTo, UNITS } from "./duration.ts";
import {
  type Check,
  pattern,
  type Preset,
  type Rule,
  RULE_FIELDS,
  type RunCheck,
  runChecksSchema,
} from "./policy_schema.ts";
import { SEEING_FIELDS } from "./seeing/schema.ts";
import { type Supervisor, supervisorsSchema } from "./supervisors/supervisors.ts";
import { NO_SECRET_RULES, type SecretRules } from "./secret_values.ts";

const DEFAULT_MODEL = "all-MiniLM-L6-v2";

/** What a timer can wait; one that is set to more goes off at once. */
const LONGEST_TIMER = 2 ** 31 - 1;
const CENTURY = 36_525 * UNITS.d!;

const duration = durationUpTo(LONGEST_TIMER);

const SHORTEST_LEASE = 1_000;

const variables = z.record(
  z.string(),
  z.union([z.string(), z.number(), z.boolean()], { error: "must be text" }).transform(String),
);

/** How to sign in to a remote server, where what it says about that is not enough. */
const oauth = z.strictObject({
  /** A client that was registered by hand; or the https address of a document about us. */
  client_id: z.string().min(1).max(2_000).optional(),
  client_secret: z.string().min(1).optional(),
  /** The authorization server that the client belongs to: no other is told its secret. */
  issuer: z.string().min(1).optional(),
  scope: z.string().min(1).max(2_000).optional(),
  /** The address that was registered for the client. */
  redirect_uri: z.string().regex(
    /^http:\/\/(?:127\.0\.0\.1|localhost):\d{1,5}\/[\w./-]*$/,
    'must be like "http://127.0.0.1:7421/callback"',
  ).optional(),
}).superRefine(({ client_id, client_secret, issuer }, context) => {
  const problem = (message: string) => context.addIssue({ code: "custom", message });
  if (client_secret !== undefined && client_id === undefined) problem("has a client_secret and no client_id");
  if (client_secret !== undefined && issuer === undefined) {
    problem("needs issuer, the authorization server that may be told the client_secret");
  }
});

const server = z.strictObject({
  command: z.string().min(1).optional(),
  args: z.array(z.union([z.string(), z.number()], { error: "must be text" }).transform(String)).optional(),
  env: variables.optional(),
  /** The folder of its program: a word of `PLACE_WORDS`, or a path. */
  cwd: z.string().min(1).optional(),
  url: z.string().min(1).optional(),
  transport: z.enum(["http", "sse"]).optional(),
  headers: variables.optional(),
  oauth: oauth.optional(),
  disabled: z.boolean().optional(),
  shared: z.boolean().optional(),
  /** The clients that see it, by the names that `serve --client` says; absent: all of them. */
  clients: z.array(z.string().regex(CLIENT_NAME, 'must be a client such as "claude-code" or "cursor"')).optional(),
  timeout: duration.optional(),
  start_timeout: duration.optional(),
  idle_stop: duration.optional(),
}).superRefine((value, context) => {
  const problem = (message: string) => context.addIssue({ code: "custom", message });
  if (value.command && value.url) return problem("has both command and url; a server is one or the other");
  if (!value.command && !value.url) return problem("needs a command (a program to start) or a url (a remote server)");
  const foreign = value.command ? ["transport", "headers", "oauth"] as const : ["args", "env", "cwd"] as const;
  const wrong = foreign.filter((key) => value[key] !== undefined);
  if (wrong.length) problem(`${wrong.join(", ")} does not go with ${value.command ? "command" : "url"}`);
  if (value.shared && value.cwd !== undefined && !/^(?:auto$|neutral$|\$|[A-Za-z]:|[\\/])/.test(value.cwd)) {
    problem("is shared by sessions of all folders: its cwd is neutral or an absolute path");
  }
});

/** Words that stand for a folder in `servers.NAME.cwd`. */
export const PLACE_WORDS = ["auto", "session", "neutral"] as const;

/** True for a `cwd` that is one of the words, or absent, and no path. */
export function isPlaceWord(cwd: string | undefined): boolean {
  return cwd === undefined || (PLACE_WORDS as readonly string[]).includes(cwd);
}

const serverName = z.string()
  .regex(SERVER_NAME, "a server name is 1 to 64 letters, digits, _ . or -")
  .refine(
    (name) => name !== "agentcards" && name !== "workflow" && name !== "agent",
    "this name is ours; choose another",
  );

/** One configuration file, as written. Defaults are filled in by `load.ts`, after files were joined. */
export const fileSchema = z.strictObject({
  servers: z.record(serverName, server).optional(),
  /** Agent programs that tasks of a workflow may name. */
  agents: agentsSchema.optional(),
  supervisors: supervisorsSchema.optional(),
  /** Programs that `options.check` of a run may name. */
  checks: runChecksSchema.optional(),
  /** `power`: an acknowledged row survives a power cut; `process`: the end of the engine only. */
  durability: z.enum(["power", "process"]).optional(),
  /** A PostgreSQL server instead of the database in the home; `${NAME}` stands for a value of `secrets.env`. */
  database: z.string().max(2_000).regex(
    /^(?:postgres(?:ql)?:\/\/|\$\{)/,
    'must be like "postgres://agentcards:${DATABASE_PASSWORD}@db.example.com/agentcards"',
  ).optional(),
  /** `minimal`: no model is loaded, tools are found by words and names. */
  profile: z.enum(["full", "minimal"]).optional(),
  engine: z.strictObject({
    /** How long the engine stays without connections and work. */
    idle_exit: duration.optional(),
    /** How long a server process stays without calls; 0 keeps it. */
    server_idle_stop: duration.optional(),
    /** How long after a crash a run goes on by itself once its folder is connected again. */
    auto_resume: duration.optional(),
    log_level: z.enum(["debug", "info", "warning", "error"]).optional(),
    /** A runner that says nothing for so long has lost its runs to other engines; the same for all of them. */
    lease: duration.refine((ms) => ms >= SHORTEST_LEASE, "is 1s or more").optional(),
    /** The person whose runs these are, among those who share a database; the user of the system unless told. */
    owner: z.string().min(1).max(100).optional(),
    /** `team`: engines of other people see the runs that begin here, and may go on with them. */
    share: z.enum(["private", "team"]).optional(),
  }).optional(),
  embeddings: z.strictObject({
    /** The default, or a feature-extraction model of the hub, such as `BAAI/bge-large-en-v1.5`. */
    model: z.string().max(200)
      .regex(/^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)?$/, 'must be a model name such as "BAAI/bge-large-en-v1.5"')
      .refine((name) => name.includes("/") || name === DEFAULT_MODEL, `is ${DEFAULT_MODEL}, or OWNER/NAME on the hub`)
      .optional(),
    /** Where other models are fetched from. */
    hub: z.url({ protocol: /^https?$/, error: "must be a URL" }).transform((url) => url.replace(/\/+$/, "")).optional(),
  }).optional(),
  /** Tools whose results may be that old: `"docs:*": 5m`. */
  cache: z.record(pattern, duration).optional(),
  expose: z.strictObject({
    /** What a client sees: our few tools, or every tool of every server. */
    tools: z.enum(["meta", "direct"]).optional(),
    /** Whether names begin with their server's; `none` is for a single server. */
    prefix: z.enum(["server", "none"]).optional(),
    /** Whether servers' resources and prompts are passed on. */
    resources: z.boolean().optional(),
  }).optional(),
  ...SEEING_FIELDS,
  sandbox: z.strictObject({ minimum_level: z.number().int().min(0).max(3).optional() }).optional(),
  /** Which configured values are secrets, where the rule for them is wrong: names of variables, headers, options. */
  secrets: z.strictObject({
    /** The place for values that `agentcards secrets set` sets: `secrets.env`, or the keyring of the system. */
    store: z.enum(["file", "keyring"]).optional(),
    not: z.array(z.string().min(1).max(200)).optional(),
    also: z.array(z.string().min(1).max(200)).optional(),
  }).optional(),
  audit: z.strictObject({
    /** `digests`: rows hold keyed digests of arguments; `full`: the arguments themselves, without secrets. */
    content: z.enum(["digests", "full"]).optional(),
    /** How long rows are kept. */
    keep: durationUpTo(CENTURY).optional(),
    /** A second place for signed heads: a file, or a program that reads each from its stdin. */
    head_to: z.union([
      z.string().regex(/^(?:\/|[A-Za-z]:[\\/])/, "must be an absolute path"),
      z.strictObject({ command: z.string().min(1), args: z.array(z.string()).optional() }),
    ], { error: "must be an absolute path, or { command, args }" }).optional(),
  }).optional(),
  history: z.strictObject({
    /** For how many days the arguments of calls are kept, for `policy replay`; 0 keeps none. */
    days: z.number().int().min(0).max(3_650).optional(),
  }).optional(),
  policy: z.strictObject({
    ...RULE_FIELDS,
    /** Tools that may not be called at all. */
    deny: z.array(pattern).optional(),
    /** Of the servers that are named here, all that may be called or read besides what `approve` names. */
    allow: z.array(pattern).optional(),
    /** Tools that a human must allow, call by call. */
    approve: z.array(pattern).optional(),
    /** What calling a tool does to the world, where it or its name does not tell, or tells it wrong. */
    effects: z.record(pattern, z.enum(["read", "idempotent", "effectful"])).optional(),
    /** Whether agents see tokens instead of personal data: e-mail addresses, phone, card and IBAN numbers. */
    pii: z.enum(["off", "tokenize"]).optional(),
    /** What else is personal: names and regular expressions. */
    pii_patterns: z.record(z.string(), z.string().max(300)).optional(),
    /** Servers that may be given what another server told. */
    pii_allow: z.array(z.string().min(1).max(64)).optional(),
    /** Calls that only read, made before they are asked for. */
    speculate: z.strictObject({
      enabled: z.boolean().optional(),
      /** What is never called ahead, though it only reads. */
      deny: z.array(pattern).optional(),
      /** Tools that may be read ahead though their server is remote, foreign or open to the world. */
      allow: z.array(pattern).optional(),
      /** What a call costs, where it costs something. */
      costs: z.record(pattern, z.number().nonnegative()).optional(),
      /** What calls made ahead may cost in an hour, all together. */
      cost_usd: z.number().nonnegative().optional(),
    }).optional(),
  }).optional(),
  limits: z.strictObject({
    answer_tokens: z.number().int().min(100).max(1_000_000).optional(),
    frame_bytes: z.number().int().min(65_536).max(512 * 1024 * 1024).optional(),
    tools_per_server: z.number().int().min(1).max(100_000).optional(),
    definition_bytes: z.number().int().min(1_024).max(4 * 1024 * 1024).optional(),
    results_bytes: z.number().int().min(1_048_576).optional(),
    results_age: durationUpTo(CENTURY).optional(),
    /** The most tasks of one workflow, and how many run at once, in all and on one server. */
    tasks: z.number().int().min(1).max(100_000).optional(),
    concurrency: z.number().int().min(1).max(10_000).optional(),
    server_concurrency: z.number().int().min(1).max(10_000).optional(),
    /** How many runs that are over are remembered, for how long, and how many bytes of them. */
    runs: z.number().int().min(1).max(1_000_000).optional(),
    runs_age: durationUpTo(CENTURY).optional(),
    runs_bytes: z.number().int().min(1_048_576).optional(),
  }).optional(),
});

/** A configuration file after validation. */
export type ConfigFile = z.infer<typeof fileSchema>;
type ServerEntry = NonNullable<ConfigFile["servers"]>[string];

/** How to reach one MCP server, variables not yet filled in. */
export interface ServerConfig extends Readonly<ServerEntry> {
  readonly name: string;
  /** Project servers never see `secrets.env`. */
  readonly origin: "global" | "project";
  /** The trusted folder that it is started in, or that its relative paths begin at; absent where there is none. */
  readonly folder?: string;
}

/** Everything the files said, joined, with defaults, frozen. */
export interface Config {
  readonly servers: Readonly<Record<string, ServerConfig>>;
  readonly agents: Readonly<Record<string, AgentConfig>>;
  /** The rules of the configuration that choose an agent, the first that holds. */
  readonly routes: readonly Route[];
  readonly supervisors: readonly Supervisor[];
  readonly checks: Readonly<Record<string, RunCheck>>;
  readonly durability: "power" | "process";
  readonly engine: Readonly<
    {
      idle_exit: number;
      server_idle_stop: number;
      auto_resume: number;
      log_level: "debug" | "info" | "warning" | "error";
    }
  >;
  readonly profile: "full" | "minimal";
  readonly embeddings: Readonly<{ model: string; hub: string }>;
  readonly cache: Readonly<Record<string, number>>;
  readonly expose: Readonly<{ tools: "meta" | "direct"; prefix: "server" | "none"; resources: boolean }>;
  readonly sandbox: Readonly<{ minimum_level: number }>;
  readonly secrets: SecretRules & { readonly store: "file" | "keyring" };
  readonly audit: Readonly<{ content: "digests" | "full"; keep: number; head_to?: HeadPlace | undefined }>;
  readonly history: Readonly<{ days: number }>;
  readonly policy: Readonly<{
    preset: Preset;
    without: readonly string[];
    trusted: readonly string[];
    unattended: "ask" | "allow" | "deny";
    mode: "enforce" | "observe";
    rules: readonly Rule[];
    checks: Readonly<Record<string, Check>>;
    deny: readonly string[];
    approve: readonly string[];
    /** One list for each file that has one; a call has to pass all of them. */
    allow: readonly AllowList[];
    /** For each entry the others that start the same program: what is denied or asked about for one, is for all. */
    twins: Readonly<Record<string, readonly string[]>>;
    effects: Readonly<Record<string, "read" | "idempotent" | "effectful">>;
    pii: "off" | "tokenize";
    pii_patterns: Readonly<Record<string, string>>;
    pii_allow: readonly string[];
    speculate: Readonly<{
      enabled: boolean;
      deny: readonly string[];
      allow: readonly string[];
      costs: Readonly<Record<string, number>>;
      cost_usd: number;
    }>;
  }>;
  readonly limits: Limits;
}

/** A second place for the signed heads of the audit. */
export type HeadPlace = string | Readonly<{ command: string; args?: readonly string[] | undefined }>;

/** What one file lets pass of the servers that it names. */
export interface AllowList {
  readonly allow: readonly string[];
  /** Patterns of the same file whose calls a human may let pass. */
  readonly approve: readonly string[];
  /** True for a project's list, which forbids what it does not name and spares nobody a question. */
  readonly isProject?: boolean;
}

/** The bounds on everything that comes in from outside. */
export interface Limits {
  readonly answer_tokens: number;
  readonly frame_bytes: number;
  readonly tools_per_server: number;
  readonly definition_bytes: number;
  readonly results_bytes: number;
  readonly results_age: number;
  readonly tasks: number;
  readonly concurrency: number;
  readonly server_concurrency: number;
  readonly runs: number;
  readonly runs_age: number;
  readonly runs_bytes: number;
}

export const DEFAULTS = {
  durability: "power",
  profile: "full",
  engine: { idle_exit: 600_000, server_idle_stop: 600_000, auto_resume: 600_000, log_level: "info" },
  embeddings: { model: DEFAULT_MODEL, hub: "https://huggingface.co" },
  cache: {},
  expose: { tools: "meta", prefix: "server", resources: true },
  sandbox: { minimum_level: 0 },
  secrets: { ...NO_SECRET_RULES, store: "file" },
  audit: { content: "digests", keep: 365 * 86_400_000 } as Config["audit"],
  history: { days: 30 },
  policy: {
    preset: "standard",
    without: [],
    trusted: [],
    unattended: "ask",
    mode: "enforce",
    rules: [],
    checks: {},
    deny: [],
    approve: [],
    allow: [],
    twins: {},
    effects: {},
    pii: "off",
    pii_patterns: {},
    pii_allow: [],
    speculate: { enabled: true, deny: [], allow: [], costs: {}, cost_usd: 0.1 },
  },
  limits: {
    answer_tokens: 10_000,
    frame_bytes: 64 * 1024 * 1024,
    tools_per_server: 2_000,
    definition_bytes: 256 * 1024,
    results_bytes: 1024 * 1024 * 1024,
    results_age: 7 * 86_400_000,
    tasks: 1_000,
    concurrency: 32,
    server_concurrency: 16,
    runs: 1_000,
    runs_age: 30 * 86_400_000,
    runs_bytes: 256 * 1024 * 1024,
  },
} as const satisfies Omit<Config, "servers" | "agents" | "routes" | "supervisors" | "checks">;

/** The definition of a configured server, or an error with the nearest names. */
export function requireServer(config: Config, name: string): ServerConfig {
  const entry = Object.hasOwn(config.servers, name) ? config.servers[name] : undefined;
  if (entry && !entry.disabled) return entry;
  const names = Object.values(config.servers).filter((server) => !server.disabled).map((server) => server.name);
  const near = nearest(name, names);
  throw new AgentCardsError(
    "SERVER_UNKNOWN",
    entry ? `Server "${name}" is disabled` : `There is no server "${name}"`,
    { hint: near.length ? `Nearest: ${near.join(", ")}.` : `Configured: ${names.join(", ") || "none"}.` },
  );
}
