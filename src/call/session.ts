import type {
  Config,
  Home,
  LoadedConfig,
  Look,
  PlacedServer,
  Program,
  Secret,
  ServerConfig,
  Viewer,
} from "../config/mod.ts";
import type { Reaper, Server, ServerEvent, TokenFile } from "../mcp/mod.ts";
import type {
  Address,
  AgentCardsError,
  Call,
  CallResult,
  Capabilities,
  Catalogue,
  Effect,
  Tool,
} from "../model/mod.ts";
import type { Audit, Grants, PinKind, Pins, Provenance, Rulebook, RuleHistory } from "../policy/mod.ts";
import type { Redactor, Traces } from "../telemetry/mod.ts";
import type { SearchExperience, ToolSearch } from "../vector/mod.ts";
import type { HookLog } from "./hooks/hook_log.ts";
import type { UserWords } from "./hooks/user_words.ts";
import type { CatalogueStore } from "./catalogue/catalogue.ts";
import type { OpenApprovals } from "./human/open_approvals.ts";
import type { HowToHide, LargeFrames } from "./large/port.ts";
import type { CallRecord, Learner, Observer } from "./observer.ts";
import type { Guardrail } from "./stages/guard.ts";
import type { ArgumentHistory } from "./stores/argument_history.ts";
import type { ResultStore } from "./results.ts";

/** The client in front of a session. */
export interface ClientSide {
  /** The name that the client gives itself, once it has said so. */
  readonly name?: string | undefined;
  /** The questions that the client can answer, once it has said so. */
  readonly capabilities?: Capabilities | undefined;
  /** The level from which on it wants to hear log messages of servers, once it has said so. */
  readonly logLevel?: string | undefined;
  /** True if the connection carries several HTTP clients. */
  readonly isMultiplexed?: boolean;
  /** Hears the events of servers. */
  tell(server: string, event: ServerEvent): void;
}

/** The parts that all sessions of an engine share. */
export interface Shared {
  readonly home: Home;
  readonly catalogues: CatalogueStore;
  /** The accepted definitions of all servers. */
  readonly pins: Pins;
  readonly results: ResultStore;
  readonly search: ToolSearch;
  readonly redactor: Redactor;
  readonly large: LargeFrames;
  /** The tokens of remote servers that the user has signed in to. */
  readonly tokens: TokenFile;
  reaper(): Reaper;
  /** Servers configured `shared: true`, by what they really start; they outlive the session that started them. */
  readonly sharedServers: Map<string, SharedServer>;
  /** Hides personal data from the agent of a session; absent where its policy does not say so. */
  privacy(policy: Config["policy"]): Privacy | undefined;
  /** Calls that a human is asked about just now. */
  readonly approvals: OpenApprovals;
  /** The chained record of every call. */
  readonly audit: Audit;
  /** OpenTelemetry; absent unless configured. */
  readonly traces?: Traces | undefined;
  /** The events of clients' hooks. */
  readonly hooks: {
    readonly log: HookLog;
    isKey(given: unknown): Promise<boolean>;
    /** A session was opened: files of hooks are looked for from now on, where hooks are installed. */
    opened(): void;
  };
  /** The calls that rules count. */
  readonly ruleHistory: RuleHistory;
  /** The arguments of calls, for the replay of rules. */
  readonly argumentHistory: ArgumentHistory;
  /** The tools that a person allowed for good. */
  grants(): Promise<Grants>;
  /** Files a call that has ended. */
  record(call: CallRecord): void;
  /** True if a tool is known to have been called with success before. */
  wasUsed(tool: string): boolean;
  /** Begins to learn from a session. */
  watch(session: Session): Learner;
  /** The lessons for searches where a session is; undefined until they have been read. */
  experience(session: Session): SearchExperience | undefined;
  /** Saved workflows, as tools. */
  readonly saved: {
    tools(session: Session): Promise<readonly Tool[]>;
    find(session: Session, name: string): Promise<{ readonly name: string }>;
  };
  /** Runs a saved workflow with the arguments of a call. */
  runSaved(session: Session, name: string, call: Call): Promise<CallResult>;
}

/** Tokens for personal data on the way in, the data for its tokens on the way out. */
export interface Privacy {
  /** `known`: values that are personal wherever they stand, by what they are, with their tokens. */
  hide<T>(value: T, server: string, known?: ReadonlyMap<string, string>): T;
  /** The same for what may be long: that is searched in a Worker. */
  hideLong<T>(value: T, server: string, known?: ReadonlyMap<string, string>): Promise<T>;
  /** Puts the values back that a server may have; `onRestored` is told each. */
  restore<T>(args: T, server: string, onRestored?: (value: string, token: string) => void): Promise<T>;
  /** An error whose words an agent may read. */
  error(error: unknown, server: string): unknown;
  /** The key and patterns for hiding a server's values elsewhere in the same way, and the receiver of what was hidden. */
  elsewhere(server: string): HowToHide;
  keep(server: string, hidden: readonly string[]): void;
}

/** A server that several sessions use, with the calls that wait for it and the listeners to its events. */
export interface SharedServer {
  readonly server: Server;
  readonly calls: Set<Call>;
  readonly listeners: Set<(event: ServerEvent) => void>;
}

/** The answers of a person that hold for more than one call. */
export interface SessionGrants {
  has(tool: string, definition: string | undefined, run: string | undefined): boolean;
  /** For as long as the session lasts, or only for the calls of one run. */
  allow(tool: string, definition: string, run?: string): void;
  allowAlways(tool: string, definition: string): Promise<void>;
}

/** One connection's view: its folder, its environment, its configuration, its servers. */
export interface Session extends AsyncDisposable {
  readonly shared: Shared;
  readonly cwd: string;
  /** The name of the client's connection, which outlives an engine. */
  readonly connection: string | undefined;
  /** The client or the person who sees its servers. */
  readonly viewer: Viewer;
  /** Functions of the program around the gateway that judge each call. */
  readonly guardrails: readonly Guardrail[];
  readonly loaded: LoadedConfig;
  readonly config: Config;
  readonly privacy: Privacy | undefined;
  /** The rules of its configuration, which judge each call. */
  readonly rules: Rulebook;
  /** The places where its values were seen. */
  readonly provenance: Provenance;
  /** The tools that a person allowed for as long as the session lasts, or always. */
  readonly grants: SessionGrants;
  /** The secrets of its configuration and of `secrets.env`. */
  readonly secrets: readonly Secret[];
  /** The time that a server may take to start where its definition does not say; a first `npx` has to download. */
  startTimeoutMs: number;
  /** Set by whoever speaks to a client; servers are started with what it can answer. */
  client: ClientSide;
  server(name: string): Server;
  /** The calls that wait for a server: its questions go to the newest one whose client can answer. */
  calls(name: string): Set<Call>;
  /** Sends a call on its way: the pipeline is the only way to a server. */
  call(call: Call): Promise<CallResult>;
  /** Tells somebody else, too, what a server says by itself; what it gives ends that. */
  hear(name: string, listener: (event: ServerEvent) => void): () => void;
  /** A tool by its id, or by its server and name, if it is in memory already. */
  tool(id: string): Tool | undefined;
  inMemory(server: string, name: string): Tool | undefined;
  /** The reason why a tool, a prompt or a resource waits for a person's review. */
  withheld(server: string, kind: PinKind, name: string): string | undefined;
  /** Compares a server's lists with their pins where that is due; true if it did. */
  lookAt(server: string, signal: AbortSignal): Promise<boolean> | undefined;
  /** The prompts that hooks of its client reported. */
  readonly words: UserWords;
  /** Hears of every call that has ended. */
  readonly observer: Observer;
  /** The effect of a tool; tools that are not known act. */
  effectOf(address: Address): Effect;
  /** The known catalogue of a server, without starting it. */
  known(name: string): Promise<Catalogue | undefined>;
  /** True while a server waits for the user to sign in. */
  needsSignIn(name: string): boolean;
  /** The reason why a server cannot be started at all: a variable that is not set. */
  unstartable(name: string): string | undefined;
  /** The same, and a program, script or folder that is missing, by a look at the disk. */
  problemOf(name: string): Promise<string | undefined>;
  /** The program of an agent with its variables filled in, and the environment that it inherits from. */
  agentProgram(agent: Program): { readonly program: PlacedServer; readonly env: Readonly<Record<string, string>> };
  /** The folder that a server's program is started in, where it can be started. */
  startFolder(name: string): string | undefined;
  status(): { config: ServerConfig; server: Server | undefined }[];
  /** The reason why the configuration on the disk cannot be used. The last good one holds; without one nothing works. */
  readonly problem: AgentCardsError | undefined;
  /** True if there is a configuration that holds. */
  readonly isUsable: boolean;
  /** Has the next call start a server anew. Gives the process that runs until then, in a list of at most one. */
  renew(server: string): readonly Server[];
  /** Takes up a configuration that was changed. True if a file is being written: another look is due soon. */
  refresh(look: Look): Promise<boolean>;
}

export interface SessionContext {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Asks the client for variables that the configuration names; absent where `env` is the whole environment. */
  readonly variables?: ((names: readonly string[]) => Promise<Readonly<Record<string, string>>>) | undefined;
  readonly connection?: string | undefined;
  /** The client or the person who sees the session's servers; a client without a name by default. */
  readonly viewer?: Viewer;
  /** True for one command: its servers stay for the next command as long as any other that is not used. */
  readonly keepsServers?: boolean;
  readonly guardrails?: readonly Guardrail[];
  /** False where the folder is that of a process for many clients. */
  readonly hasFolder?: boolean;
}
