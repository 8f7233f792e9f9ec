import {
  type Config,
  loadConfig,
  type PlacedServer,
  placeServer,
  readSecrets,
  requireServer,
  type ResolvedServer,
  resolveServer,
  type Secret,
  secretsIn,
  type ServerConfig,
  variablesNamedIn,
} from "../config/mod.ts";
import {
  connectHttp,
  connectStdio,
  createServer,
  createTraffic,
  missingProgram,
  readLists,
  type Server,
  type ServerOptions,
  type Traffic,
  type Upstream,
  type UpstreamHandlers,
  type WhileAsked,
} from "../mcp/mod.ts";
import {
  AgentCardsError,
  type Call,
  canonicalJson,
  type Catalogue,
  cut,
  type Effect,
  messageOf,
  OWN_SERVER,
  type ServerRequest,
  toAgentCardsError,
  type Tool,
} from "../model/mod.ts";
import { VERSION } from "../platform/mod.ts";
import { effectOf } from "../policy/mod.ts";
import { log } from "../telemetry/mod.ts";
import { changedLists, changedTools } from "./catalogue/catalogue.ts";
import { askCall, offered } from "./human/asking.ts";
import { presentable } from "./human/question_form.ts";
import { NO_OBSERVER } from "./observer.ts";
import { createPipeline } from "./pipeline.ts";
import { createObserver } from "./session_observer.ts";
import type { Session, SessionContext, Shared, SharedServer } from "./session.ts";

interface Asked {
  readonly calls: ReadonlySet<Call>;
  readonly signal: AbortSignal;
  readonly whileAsked: WhileAsked;
}

interface Connecting {
  readonly calls: ReadonlySet<Call>;
  readonly events: Parameters<ServerOptions["connect"]>[0];
  readonly traffic: Traffic;
}

const START_TIMEOUT_MS = 30_000;
/** So many lines of garbage are worth a line in the log each. */
const LOGGED_GARBAGE = 20;
const MAX_HTTP_FRAME = 16 * 1024 * 1024;
/** Looking for personal data takes longer than parsing. */
const LARGE_TO_HIDE = 64 * 1024;

/** Opens the session of one connection: its configuration, its servers, its pipeline. */
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
  const effects = new WeakMap<Tool, Effect>();
  let isClosed = false;

  function use(name: string): SharedServer {
    const existing = servers.get(name);
    if (existing) return existing;
    if (isClosed) throw new AgentCardsError("ENGINE_BUSY", "This session is closing down");
    const made = make(required(name));
    servers.set(name, made);
    leaving.push(session.hear(name, (event) => session.client.tell(name, event)));
    return made;
  }

  const session: { -readonly [K in keyof Session]: Session[K] } = {
    shared,
    observer: NO_OBSERVER,
    call: () => Promise.reject(new AgentCardsError("ENGINE_BUSY", "This session is still opening")),
    cwd: context.cwd,
    connection: context.connection,
    loaded,
    config,
    privacy,
    secrets: [],
    client: { tell() {} },
    startTimeoutMs: START_TIMEOUT_MS,
    server: (name) => use(name).server,
    calls: (name) => use(name).calls,
    hear(name, listener) {
      const { listeners } = use(name);
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    inMemory(server, name) {
      const entry = Object.hasOwn(config.servers, server) ? config.servers[server]! : undefined;
      return entry && !entry.disabled ? shared.catalogues.peek(entry)?.byName.get(name) : undefined;
    },
    effectOf({ server, name }) {
      const tool = session.inMemory(server, name);
      if (!tool) return server === OWN_SERVER ? "read" : "effectful";
      return effects.getOrInsertComputed(tool, () => effectOf(config.policy, tool));
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
      session.observer.close();
      for (const leave of leaving) leave();
      const own = [...servers.values()].filter(({ isShared }) => !isShared);
      await Promise.all(own.map(({ server }) => server[Symbol.asyncDispose]()));
    },
  };

  /** The entry of a server; a project that is not trusted may be the reason why there is none. */
  function required(name: string): ServerConfig {
    try {
      return requireServer(config, name);
    } catch (error) {
      const { code, message, hint } = toAgentCardsError(error);
      const notes = [...hint === undefined ? [] : [hint], ...loaded.notes].join(" ");
      throw notes === "" ? error : new AgentCardsError(code, message, { hint: notes });
    }
  }

  function make(entry: ServerConfig): SharedServer & { isShared: boolean } {
    const fresh = () => {
      const calls = new Set<Call>();
      const listeners: SharedServer["listeners"] = new Set();
      return { server: startable(entry, { calls, listeners }), calls, listeners };
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
    // The address of a proxy may have a password in it, which every server is given.
    const ofProxies = Object.entries(env).filter(([name]) => /_proxy$/i.test(name)).flatMap(([name, value]) =>
      secretsIn({ name, value }, "environment", config.secrets)
    );
    return [...ofFile, ...ofServers, ...ofProxies];
  }

  function startable(entry: ServerConfig, { calls, listeners }: Omit<SharedServer, "server">): Server {
    const traffic = createTraffic((dropped) => log("warning", "server_floods", { server: entry.name, ...dropped }));
    return createServer({
      dropped: traffic.dropped,
      name: entry.name,
      idleStopMs: entry.idle_stop ?? config.engine.server_idle_stop,
      connect: async (events) => await atLevel(await connect(entry, { calls, events, traffic })),
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

  async function connect(entry: ServerConfig, { calls, events, traffic }: Connecting): Promise<Upstream> {
    const resolved = resolve(entry);
    const era = (await shared.catalogues.find(entry))?.era;
    const options = {
      version: VERSION,
      // A server of the older protocol hears this once: one that several clients use can count on none of them. A
      // stateless server hears with each call what the client behind it can do.
      capabilities: entry.shared || session.client.isMultiplexed ? {} : offered(session.client.capabilities),
      maxFrameBytes: config.limits.frame_bytes,
      startTimeoutMs: entry.start_timeout ?? session.startTimeoutMs,
      signal: events.signal,
      traffic,
      ...era && { era },
    };
    const handlers: UpstreamHandlers = {
      onEvent: events.onEvent,
      onRequest: (request, how) => asked(entry.name, request, { ...how, calls }),
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

  async function asked(server: string, request: ServerRequest, { calls, ...how }: Asked) {
    const isMultiplexed = session.client.isMultiplexed === true;
    return await askCall(calls, presentable(request, server), { ...how, isMultiplexed });
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
  session.observer = createObserver(session);
  session.call = createPipeline(session);
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
