import type { Home } from "../config/home.ts";
import { loadConfig, type LoadedConfig } from "../config/load.ts";
import { type ResolvedServer, resolveServer, variablesNamedIn } from "../config/expand.ts";
import { type PlacedServer, placeServer } from "../config/place.ts";
import { type Config, requireServer, type ServerConfig } from "../config/schema.ts";
import { type Secret, secretsIn } from "../config/secret_values.ts";
import { readSecrets } from "../config/secrets.ts";
import { connectHttp } from "../mcp/connect_http.ts";
import { connectStdio } from "../mcp/connect_stdio.ts";
import { readLists } from "../mcp/discover.ts";
import { missingProgram } from "../mcp/program.ts";
import type { Reaper } from "../mcp/reaper.ts";
import { createServer, type Server, type ServerOptions } from "../mcp/server.ts";
import { createTraffic, type Traffic } from "../mcp/traffic.ts";
import {
  type ServerEvent,
  type ServerRequest,
  type Upstream,
  type UpstreamHandlers,
  type WhileAsked,
} from "../mcp/upstream.ts";
import { AgentCardsError, messageOf } from "../model/errors.ts";
import { canonicalJson } from "../model/json.ts";
import { cut } from "../model/text.ts";
import type { Catalogue, Tool } from "../model/tool.ts";
import { log } from "../telemetry/log.ts";
import type { Redactor } from "../telemetry/redact.ts";
import type { ToolSearch } from "../vector/search_port.ts";
import type { OpenApprovals } from "./approvals.ts";
import { askCaller, type Caller, type ClientSide, offered } from "./caller.ts";
import { presentable } from "./question_form.ts";
import { type CatalogueStore, changedLists, changedTools } from "./catalogue.ts";
import { VERSION } from "./hello.ts";
import type { HowToHide, LargeFrames } from "./large_port.ts";
import type { ToolResult } from "./answer.ts";
import { type CallRecord, NOBODY, type Notice } from "./notice.ts";
import type { ResultStore } from "./results.ts";

/** What all sessions of an engine have in common. */
export interface Shared {
  readonly home: Home;
  readonly catalogues: CatalogueStore;
  readonly results: ResultStore;
  readonly search: ToolSearch;
  readonly redactor: Redactor;
  readonly large: LargeFrames;
  reaper(): Reaper;
  /** Servers configured `shared: true`, by what they really start; they outlive the session that started them. */
  readonly sharedServers: Map<string, SharedServer>;
  /** How a session keeps personal data from its agent, where its policy says so. */
  privacy(policy: Config["policy"]): Privacy | undefined;
  /** Calls that a human is asked about just now. */
  readonly approvals: OpenApprovals;
  /** Told after an answer has gone out. */
  record(call: CallRecord): void;
  /** Whether a tool is known to have been called with success before. */
  wasUsed(tool: string): boolean;
  /** Begins to learn from a session. */
  watch(session: Session): Notice;
  /** Workflows that were saved, as tools. */
  readonly templates: { tools(): Promise<readonly Tool[]>; find(name: string): Promise<{ readonly name: string }> };
  /** Runs a saved workflow with what was said this time. */
  runTemplate(session: Session, name: string, given: Record<string, unknown>, caller: Caller): Promise<ToolResult>;
}

/** Tokens for personal data on the way in, the data for its tokens on the way out. */
export interface Privacy {
  /** `known`: values that are personal wherever they stand, by what they are, with their tokens. */
  hide<T>(value: T, server: string, known?: ReadonlyMap<string, string>): T;
  /** The same for what may be long: that is searched in a Worker. */
  hideLong<T>(value: T, server: string, known?: ReadonlyMap<string, string>): Promise<T>;
  /** What a server may have back; `onRestored` is told what it gets. */
  restore<T>(args: T, server: string, onRestored?: (value: string, token: string) => void): Promise<T>;
  /** An error whose words an agent may read. */
  error(error: unknown, server: string): unknown;
  /** What somebody else needs to hide a server's values the same way, and where the hidden values go, as JSON texts. */
  elsewhere(server: string): HowToHide;
  keep(server: string, hidden: readonly string[]): void;
}

/** A server that several sessions use, with all who wait for it and all who hear what it says. */
export interface SharedServer {
  readonly server: Server;
  readonly callers: Set<Caller>;
  readonly listeners: Set<(event: ServerEvent) => void>;
}

/** One connection's view: its folder, its environment, its configuration, its servers. */
export interface Session extends AsyncDisposable {
  readonly shared: Shared;
  readonly cwd: string;
  /** The name of the client's connection, which outlives an engine. */
  readonly connection: string | undefined;
  readonly loaded: LoadedConfig;
  readonly config: Config;
  readonly privacy: Privacy | undefined;
  /** The secrets of its configuration and of `secrets.env`. */
  readonly secrets: readonly Secret[];
  /** How long a server may take to start where its definition does not say; a first `npx` has to download. */
  startTimeoutMs: number;
  /** Set by whoever speaks to a client; servers are started with what it can answer. */
  client: ClientSide;
  server(name: string): Server;
  /** Who is waiting for a server: its questions go to the last one who can answer. */
  callers(name: string): Set<Caller>;
  /** Tells somebody else, too, what a server says by itself; what it gives ends that. */
  hear(name: string, listener: (event: ServerEvent) => void): () => void;
  /** A tool, if it is in memory already. */
  inMemory(server: string, name: string): Tool | undefined;
  /** What learns from its calls, and has some answers before they are asked for. */
  readonly notice: Notice;
  /** What a server offers as far as it is known, without starting it. */
  known(name: string): Promise<Catalogue | undefined>;
  /** What keeps a server from being started at all: a variable that is not set. */
  unstartable(name: string): string | undefined;
  /** The same, and a program, script or folder that is missing, by a look at the disk. */
  problemOf(name: string): Promise<string | undefined>;
  /** The folder that a server's program is started in, where it can be started. */
  startFolder(name: string): string | undefined;
  status(): { config: ServerConfig; server: Server | undefined }[];
}

export interface SessionContext {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Asks the client for variables that the configuration names; absent where `env` is the whole environment. */
  readonly variables?: ((names: readonly string[]) => Promise<Readonly<Record<string, string>>>) | undefined;
  readonly connection?: string | undefined;
  /** False where the folder is that of a process for many clients. */
  readonly hasFolder?: boolean;
}

interface Asked {
  readonly callers: ReadonlySet<Caller>;
  readonly signal: AbortSignal;
  readonly whileAsked: WhileAsked;
}

interface Connecting {
  readonly callers: Set<Caller>;
  readonly events: Parameters<ServerOptions["connect"]>[0];
  readonly traffic: Traffic;
}

const START_TIMEOUT_MS = 30_000;
/** So many lines of garbage are worth a line in the log each. */
const LOGGED_GARBAGE = 20;
const MAX_HTTP_FRAME = 16 * 1024 * 1024;
/** Looking for personal data takes longer than parsing. */
const LARGE_TO_HIDE = 64 * 1024;

export async function openSession(shared: Shared, context: SessionContext): Promise<Session> {
  const loaded = await loadConfig(shared.home, context.cwd, context);
  const { config } = loaded;
  shared.search.configure(config.embeddings);
  const stored = await readSecrets(shared.home.secrets);
  const env = { ...context.env, ...await context.variables?.(variablesOfAll(config, stored)) };
  const placed = new Map<ServerConfig, PlacedServer>();
  const privacy = shared.privacy(config.policy);
  const servers = new Map<string, SharedServer & { isShared: boolean }>();
  const leaving: (() => void)[] = [];
  let isClosed = false;

  function use(name: string): SharedServer {
    const existing = servers.get(name);
    if (existing) return existing;
    if (isClosed) throw new AgentCardsError("ENGINE_BUSY", "This session is closing down");
    const made = make(requireServer(config, name));
    servers.set(name, made);
    leaving.push(session.hear(name, (event) => session.client.tell(name, event)));
    return made;
  }

  const session: { -readonly [K in keyof Session]: Session[K] } = {
    shared,
    notice: NOBODY,
    cwd: context.cwd,
    connection: context.connection,
    loaded,
    config,
    privacy,
    secrets: [],
    client: { tell() {} },
    startTimeoutMs: START_TIMEOUT_MS,
    server: (name) => use(name).server,
    callers: (name) => use(name).callers,
    hear(name, listener) {
      const { listeners } = use(name);
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    inMemory(server, name) {
      const entry = Object.hasOwn(config.servers, server) ? config.servers[server]! : undefined;
      return entry && !entry.disabled ? shared.catalogues.peek(entry)?.byName.get(name) : undefined;
    },
    async known(name) {
      const entry = requireServer(config, name);
      return (shared.catalogues.peek(entry) ?? await shared.catalogues.find(entry))?.catalogue;
    },
    unstartable(name) {
      try {
        resolve(requireServer(config, name));
      } catch (error) {
        return messageOf(error);
      }
    },
    startFolder(name) {
      return session.unstartable(name) === undefined ? resolve(requireServer(config, name)).cwd : undefined;
    },
    async problemOf(name) {
      const unset = session.unstartable(name);
      const missing = unset ?? await missingProgram(resolve(requireServer(config, name)), { cwd: context.cwd, env });
      return unset ?? (missing && `Cannot start server "${name}": ${missing}`);
    },
    status: () =>
      Object.values(config.servers).map((entry) => ({ config: entry, server: servers.get(entry.name)?.server })),
    async [Symbol.asyncDispose]() {
      isClosed = true;
      session.notice.close();
      for (const leave of leaving) leave();
      const own = [...servers.values()].filter(({ isShared }) => !isShared);
      await Promise.all(own.map(({ server }) => server[Symbol.asyncDispose]()));
    },
  };

  function make(entry: ServerConfig): SharedServer & { isShared: boolean } {
    const fresh = () => {
      const callers = new Set<Caller>();
      const listeners: SharedServer["listeners"] = new Set();
      return { server: startable(entry, { callers, listeners }), callers, listeners };
    };
    if (!entry.shared) return { ...fresh(), isShared: false };
    // Shared is what would start the same program, with the same variables, in the same folder.
    const key = canonicalJson(resolve(entry));
    return { ...shared.sharedServers.getOrInsertComputed(key, fresh), isShared: true };
  }

  function resolve(entry: ServerConfig): PlacedServer {
    return placed.getOrInsertComputed(
      entry,
      () => placeServer(filledIn(entry), { home: shared.home, folder: loaded.folder }),
    );
  }

  function filledIn(entry: ServerConfig): ResolvedServer {
    return resolveServer(entry, entry.origin === "global" ? { ...env, ...stored } : env, config.secrets);
  }

  /** Every secret that a server could be given; one whose variables are not set is given none. */
  function findSecrets(): Secret[] {
    const ofFile = Object.entries(stored).flatMap(([name, value]) =>
      secretsIn({ name, value }, "secrets.env", config.secrets)
    );
    const ofServers = Object.values(config.servers).filter(({ disabled }) => !disabled).flatMap((entry) => {
      try {
        return filledIn(entry).secrets;
      } catch {
        return [];
      }
    });
    return [...ofFile, ...ofServers];
  }

  function startable(entry: ServerConfig, { callers, listeners }: Omit<SharedServer, "server">): Server {
    const traffic = createTraffic((dropped) => log("warning", "server_floods", { server: entry.name, ...dropped }));
    return createServer({
      dropped: traffic.dropped,
      name: entry.name,
      idleStopMs: entry.idle_stop ?? config.engine.server_idle_stop,
      connect: async (events) => await atLevel(await connect(entry, { callers, events, traffic })),
      list: (upstream, startMs) => list(entry, upstream, startMs),
      onServerEvent(event) {
        for (const tell of listeners) tell(event);
      },
      onEvent(event, fields) {
        log(event === "server failed" ? "warning" : "info", event, fields);
        if (event !== "server failed") return;
        noteFailure(entry, shared.redactor.redact(String(fields?.reason)))
          .catch((error) => log("error", "failure not saved", { server: entry.name, reason: messageOf(error) }));
      },
    });
  }

  /** Records a failure, unless its cause can be seen at any time: it would be told after it was mended. */
  async function noteFailure(entry: ServerConfig, reason: string): Promise<void> {
    if (await session.problemOf(entry.name) === undefined) await shared.catalogues.noteFailure(entry, reason);
  }

  /** A server that starts later is told what those that were running have been told. */
  async function atLevel(upstream: Upstream): Promise<Upstream> {
    const level = session.client.logLevel;
    if (level !== undefined && upstream.era.kind === "legacy" && upstream.capabilities.logging) {
      await upstream.request("logging/setLevel", { level }, { timeoutMs: 1_000 }).catch(() => {});
    }
    return upstream;
  }

  async function connect(entry: ServerConfig, { callers, events, traffic }: Connecting): Promise<Upstream> {
    const resolved = resolve(entry);
    const era = (await shared.catalogues.find(entry))?.era;
    const options = {
      version: VERSION,
      // A server of the older protocol hears this once: one that several clients use can count on none of them. A
      // stateless server hears with each call what the client behind it can do.
      capabilities: entry.shared || session.client.isCrowd ? {} : offered(session.client.capabilities),
      maxFrameBytes: config.limits.frame_bytes,
      startTimeoutMs: entry.start_timeout ?? session.startTimeoutMs,
      signal: events.signal,
      traffic,
      ...era && { era },
    };
    const handlers: UpstreamHandlers = {
      onEvent: events.onEvent,
      onRequest: (request, how) => asked(entry.name, request, { ...how, callers }),
    };
    if (resolved.url) {
      return await connectHttp(resolved, {
        ...options,
        // Read on the main thread, unlike what a program of ours says.
        maxFrameBytes: Math.min(options.maxFrameBytes, MAX_HTTP_FRAME),
        clean: shared.redactor.clean,
      }, handlers);
    }
    return await connectStdio(resolved, {
      ...options,
      cwd: context.cwd,
      env,
      reaper: shared.reaper(),
      ...privacy && { largeFrameBytes: LARGE_TO_HIDE },
      parse: shared.redactor.parse,
      redact: shared.redactor.redact,
      async parseLarge(frame, waiting) {
        // A client that sees the tools themselves sees their answers whole, too.
        const answerTokens = config.expose.tools === "direct" ? Infinity : config.limits.answer_tokens;
        const how = { ...waiting, answerTokens, ...privacy && { pii: privacy.elsewhere(entry.name) } };
        const { message, hidden } = await shared.large.parse(frame, how);
        privacy?.keep(entry.name, hidden);
        return message;
      },
      onGarbage(what) {
        if (traffic.dropped().garbage < LOGGED_GARBAGE) {
          log("debug", "server sent garbage", { server: entry.name, what });
        }
      },
    }, handlers);
  }

  /** What a server asks for a model is read by a model: personal data stays out of it, as it does of answers. */
  async function asked(server: string, given: ServerRequest, { callers, ...how }: Asked) {
    const request = presentable(given, server);
    const isHidden = privacy && request.method === "sampling/createMessage";
    const params = isHidden ? privacy.hide(request.params, server) : request.params;
    const isCrowd = session.client.isCrowd === true;
    const answer = await askCaller(callers, { ...request, params }, { ...how, isCrowd });
    return isHidden ? await privacy.restore(answer, server) : answer;
  }

  async function list(entry: ServerConfig, upstream: Upstream, startMs: number): Promise<Catalogue> {
    const before = (await shared.catalogues.find(entry))?.catalogue;
    const catalogue = await readLists(entry.name, upstream, config.limits);
    const changed = changedTools(before, catalogue);
    if (changed.length > 0) {
      log("warning", "tools changed", { server: entry.name, tools: cut(changed.join(", "), 500) });
    }
    await shared.catalogues.save(entry, { catalogue, era: upstream.era, startMs })
      .catch((error) => log("error", "catalogue not saved", { server: entry.name, reason: messageOf(error) }));
    shared.search.prepare(catalogue.tools);
    const tell = servers.get(entry.name)?.listeners ?? [];
    for (const list of changedLists(before, catalogue)) for (const one of tell) one({ kind: "list_changed", list });
    return catalogue;
  }

  session.secrets = findSecrets();
  shared.redactor.add(session.secrets.map(({ value }) => value));
  session.notice = shared.watch(session);
  return session;
}

/** The names of the variables that the definitions of servers mention and the engine does not have. */
function variablesOfAll({ servers }: Config, stored: Readonly<Record<string, string>>): string[] {
  const names = Object.values(servers).filter(({ disabled }) => !disabled).flatMap((entry) =>
    // A project's servers do not see secrets.env.
    variablesNamedIn(entry).filter((name) => entry.origin === "project" || !Object.hasOwn(stored, name))
  );
  return [...new Set(names)];
}
