import {
  agentProgram,
  configPaths,
  DEFAULTS,
  type PlacedServer,
  placeServer,
  programsOf,
  requireServer,
  type ResolvedServer,
  resolveServer,
  type Secret,
  secretsIn,
  type ServerConfig,
  stampOf,
} from "../config/mod.ts";
import { canSignIn, keyOf, missingProgram, type Server, type ServerEvent } from "../mcp/mod.ts";
import {
  AgentCardsError,
  type Call,
  canonicalJson,
  type Effect,
  messageOf,
  OWN_SERVER,
  toAgentCardsError,
  type Tool,
} from "../model/mod.ts";
import { askProgram, createProvenance, createRulebook, effectOf, type Rulebook } from "../policy/mod.ts";
import { log } from "../telemetry/mod.ts";
import { createUserWords } from "./hooks/user_words.ts";
import { NO_OBSERVER } from "./observer.ts";
import { createPipeline } from "./pipeline.ts";
import { createSessionGrants } from "./human/session_grants.ts";
import type { Privacy, Session, SessionContext, Shared, SharedServer } from "./session.ts";
import { keyOfKept, keyOfShared, retireUnused } from "./shared_servers.ts";
import { createObserver } from "./stages/observe.ts";
import { createLooks } from "./stages/pin.ts";
import { startableServer } from "./start_server.ts";
import { differing, following, type Settings, settingsReader } from "./settings.ts";

const START_TIMEOUT_MS = 30_000;
/** A server that a session uses. */
interface UsedServer extends SharedServer {
  readonly isShared: boolean;
  /** Hears no more of its events. */
  leave(): void;
}

/**
 * Opens the session of one connection: its configuration, its servers, its pipeline. Where the configuration cannot be
 * used, all that needs one fails with the reason until the file was mended.
 */
export async function openSession(shared: Shared, context: SessionContext): Promise<Session> {
  const paths = await configPaths(shared.home, context.cwd);
  let stamp = await stampOf(paths);
  let unsettled: string | undefined;
  const read = settingsReader(shared.home, context);
  let settings: Settings | undefined;
  let problem: AgentCardsError | undefined;
  let privacy: Privacy | undefined;
  let placed = new WeakMap<ServerConfig, PlacedServer>();
  let effects = new WeakMap<Tool, Effect>();
  let rulebook: Rulebook | undefined;
  const servers = new Map<string, UsedServer>();
  const retiring = new Set<Server>();
  const looks = createLooks();
  const heard = new Map<string, Set<(event: ServerEvent) => void>>();
  let isClosed = false;

  /** The settings that hold: the last good ones. */
  function current(): Settings {
    if (!settings) throw problem;
    return settings;
  }

  function use(name: string): SharedServer {
    const existing = servers.get(name);
    if (existing) return existing;
    if (isClosed) throw new AgentCardsError("ENGINE_BUSY", "This session is closing down");
    const made = make(required(name));
    const listener = (event: ServerEvent) => {
      session.client.tell(name, event);
      for (const tell of heard.get(name) ?? []) tell(event);
    };
    made.listeners.add(listener);
    servers.set(name, { ...made, leave: () => void made.listeners.delete(listener) });
    return made;
  }

  const grants = createSessionGrants(await shared.grants(), () => session.client.name);
  const configured = () => settings ? JSON.stringify(settings.loaded.config.servers).toLowerCase() : "";
  const session: { -readonly [K in keyof Session]: Session[K] } = {
    shared,
    grants,
    provenance: createProvenance(
      (server) => session.config.policy.trusted.includes(server),
      configured,
      () => session.words.texts(),
    ),
    get rules() {
      return rulebook ??= createRulebook(session.config.policy, {
        rules: current().rules,
        history: shared.ruleHistory,
        counters: shared.ruleHistory.counters,
        check: askProgram,
        isGranted: ({ tool, definition, run }) => grants.has(tool, definition?.hash, run),
      });
    },
    observer: NO_OBSERVER,
    words: createUserWords(),
    call: () => Promise.reject(new AgentCardsError("ENGINE_BUSY", "This session is still opening")),
    cwd: context.cwd,
    connection: context.connection,
    viewer: context.viewer ?? {},
    guardrails: context.guardrails ?? [],
    get loaded() {
      const { loaded } = current();
      if (!problem) return loaded;
      return { ...loaded, notes: [`${problem.message}; the last good configuration holds`, ...loaded.notes] };
    },
    get config() {
      return current().loaded.config;
    },
    get privacy() {
      return privacy;
    },
    get problem() {
      return problem;
    },
    get isUsable() {
      return settings !== undefined;
    },
    secrets: [],
    client: { tell() {} },
    startTimeoutMs: START_TIMEOUT_MS,
    server: (name) => use(name).server,
    calls: (name) => use(name).calls,
    hear(name, listener) {
      const listeners = heard.getOrInsertComputed(name, () => new Set());
      use(name);
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    tool(id) {
      const colon = id.indexOf(":");
      return colon < 0 ? undefined : session.inMemory(id.slice(0, colon), id.slice(colon + 1));
    },
    inMemory(server, name) {
      const { servers } = session.config;
      const entry = Object.hasOwn(servers, server) ? servers[server]! : undefined;
      return entry && !entry.disabled ? shared.catalogues.peek(entry)?.byName.get(name) : undefined;
    },
    withheld(server, kind, name) {
      const { servers } = session.config;
      return Object.hasOwn(servers, server) ? shared.pins.withheld(servers[server]!, kind, name) : undefined;
    },
    lookAt: (name, signal) => looks.at(use(name).server, signal),
    effectOf({ server, name }) {
      const tool = session.inMemory(server, name);
      if (!tool) return server === OWN_SERVER ? "read" : "effectful";
      return effects.getOrInsertComputed(tool, () => effectOf(session.config.policy, tool));
    },
    async known(name) {
      const entry = requireServer(session.config, name);
      return (shared.catalogues.peek(entry) ?? await shared.catalogues.find(entry))?.catalogue;
    },
    needsSignIn(name) {
      if (session.unstartable(name) !== undefined) return false;
      const server = resolve(requireServer(session.config, name));
      try {
        return canSignIn(server) && shared.tokens.find(keyOf(server))?.challenge !== undefined;
      } catch {
        // A file that cannot be read is told by the calls that need it.
        return false;
      }
    },
    unstartable(name) {
      try {
        resolve(requireServer(session.config, name));
      } catch (error) {
        return messageOf(error);
      }
    },
    agentProgram: (agent) => ({ program: resolve(agentProgram(agent)), env: current().env }),
    startFolder(name) {
      return session.unstartable(name) === undefined ? resolve(requireServer(session.config, name)).cwd : undefined;
    },
    async problemOf(name) {
      const unset = session.unstartable(name);
      const missing = unset ??
        await missingProgram(resolve(requireServer(session.config, name)), { cwd: context.cwd, env: current().env });
      return unset ?? (missing && `Cannot start server "${name}": ${missing}`);
    },
    status: () =>
      Object.values(session.config.servers).map((entry) => ({
        config: entry,
        server: servers.get(entry.name)?.server,
      })),
    renew(name) {
      const used = servers.get(name);
      const wasRunning = used?.server.status().state === "running";
      replaceServer(name);
      return used && wasRunning ? [used.server] : [];
    },
    async refresh(look) {
      const now = await stampOf(paths, look);
      if (isClosed || now === stamp || now !== unsettled) {
        unsettled = now === stamp ? undefined : now;
        return unsettled !== undefined;
      }
      stamp = now;
      unsettled = undefined;
      await read().then(takeUp, refuse);
      return false;
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      session.observer.close();
      for (const { leave } of servers.values()) leave();
      retireUnused(shared);
      const own = [...servers.values()].filter(({ isShared }) => !isShared).map(({ server }) => server);
      await Promise.all([...own, ...retiring].map((server) => server[Symbol.asyncDispose]()));
    },
  };

  /** The entry of a server; a project that is not trusted may be the reason why there is none. */
  function required(name: string): ServerConfig {
    try {
      return requireServer(session.config, name);
    } catch (error) {
      const { code, message, hint } = toAgentCardsError(error);
      const notes = [...hint === undefined ? [] : [hint], ...session.loaded.notes].join(" ");
      throw notes === "" ? error : new AgentCardsError(code, message, { hint: notes });
    }
  }

  function make(entry: ServerConfig): Omit<UsedServer, "leave"> {
    const fresh = () => {
      const calls = new Set<Call>();
      const listeners: SharedServer["listeners"] = new Set();
      return {
        server: startableServer(entry, { session, calls, listeners, resolve, env: () => current().env }),
        calls,
        listeners,
      };
    };
    if (!entry.shared && !context.keepsServers) return { ...fresh(), isShared: false };
    const key = entry.shared ? keyOfShared(resolve(entry)) : keyOfKept(resolve(entry), session, current().env);
    return { ...shared.sharedServers.getOrInsertComputed(key, fresh), isShared: true };
  }

  function resolve(entry: ServerConfig): PlacedServer {
    return placed.getOrInsertComputed(
      entry,
      () => placeServer(filledIn(entry), { home: shared.home, folder: current().loaded.folder }),
    );
  }

  function filledIn(entry: ServerConfig): ResolvedServer {
    const { env, stored, loaded } = current();
    return resolveServer(entry, entry.origin === "global" ? { ...env, ...stored } : env, loaded.config.secrets);
  }

  /** Every secret that a server or an agent could be given; one whose variables are not set is given none. */
  function findSecrets(): Secret[] {
    const { env, stored, loaded: { config } } = current();
    const ofFile = Object.entries(stored).flatMap(([name, value]) =>
      secretsIn({ name, value }, "secrets.env", config.secrets)
    );
    const ofPrograms = programsOf(config).flatMap((entry) => {
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
    return [...ofFile, ...ofPrograms, ...ofProxies];
  }

  /** The program or address of each server, with its variables; for a server that cannot be started its definition. */
  function definitions(): Map<string, string> {
    const enabled = settings ? Object.values(session.config.servers).filter(({ disabled }) => !disabled) : [];
    return new Map(enabled.map((entry) => {
      const { secrets: _, ...made } = session.unstartable(entry.name) === undefined ? resolve(entry) : { secrets: [] };
      return [entry.name, canonicalJson([entry, made])];
    }));
  }

  function refuse(error: unknown): void {
    problem = toAgentCardsError(error);
    log("error", "configuration_refused", { folder: context.cwd, reason: messageOf(error) });
  }

  /** From here on these settings hold. Servers that are defined otherwise now are replaced, the others stay. */
  function takeUp(given: Settings): void {
    const [before, old] = [definitions(), settings];
    const expose = old ? session.config.expose : problem ? DEFAULTS.expose : given.loaded.config.expose;
    settings = following(old, given, expose);
    problem = undefined;
    const { config } = settings.loaded;
    placed = new WeakMap();
    effects = new WeakMap();
    rulebook = undefined;
    if (given.rules.windowMs > 0) shared.ruleHistory.reachBack(given.rules.windowMs);
    if (!old || piiOf(old) !== piiOf(settings)) privacy = shared.privacy(config.policy);
    session.secrets = findSecrets();
    shared.redactor.add(session.secrets.map(({ value }) => value));
    if (!old || scopeOf(old) !== scopeOf(settings)) {
      session.observer.close();
      session.observer = createObserver(session);
    }
    session.call = createPipeline(session);
    shared.search.configure({ ...config.embeddings, isOff: config.profile === "minimal" });
    if (!old) return;
    const changed = differing(before, definitions());
    log("info", "configuration_changed", { folder: context.cwd, servers: changed.join(", ") });
    for (const name of changed) replaceServer(name);
    const isJudgedOtherwise = canonicalJson(old.loaded.config.policy) !== canonicalJson(config.policy);
    shared.audit.append({
      kind: "config",
      folder: context.cwd,
      client: session.client.name,
      servers: changed.join(", "),
      policy: isJudgedOtherwise,
      text: shared.audit.digest(canonicalJson(config)),
    });
    if (changed.length === 0 && !isJudgedOtherwise) return;
    const concerned = [...Object.values(old.loaded.config.servers), ...Object.values(config.servers)]
      .filter(({ name }) => isJudgedOtherwise || changed.includes(name));
    tellLists(concerned).catch(() => {});
  }

  /** The next call goes to a server of the new definition; the old one stops after the calls that it has. */
  function replaceServer(name: string): void {
    const used = servers.get(name);
    servers.delete(name);
    const entry = session.config.servers[name];
    if (entry) shared.catalogues.forgetFailure(entry).catch(() => {});
    if (!used) return;
    used.leave();
    if (used.isShared) {
      if (used.listeners.size > 0) return;
      for (const [key, { server }] of shared.sharedServers) {
        if (server === used.server) shared.sharedServers.delete(key);
      }
    }
    const { watched, gone } = used.server.retire();
    retiring.add(used.server);
    gone.catch(() => {}).finally(() => retiring.delete(used.server));
    if (!entry || entry.disabled || isClosed) return;
    for (const [holder, uris] of watched) use(name).server.watch(holder, uris).catch(() => {});
  }

  /** Tells the client which lists it may find changed, where these servers have or had something to list. */
  async function tellLists(entries: readonly ServerConfig[]): Promise<void> {
    const offering = await Promise.all(entries.map(shared.catalogues.offersMore));
    const lists = offering.includes(true) ? ["tools", "resources", "prompts"] as const : ["tools"] as const;
    for (const list of lists) session.client.tell("", { kind: "list_changed", list });
  }

  const first = await read().catch((error) => {
    if (!(error instanceof AgentCardsError) || error.code !== "CONFIG_INVALID") throw error;
    refuse(error);
  });
  if (first) takeUp(first);
  return session;
}

const piiOf = ({ loaded: { config: { policy } } }: Settings) =>
  canonicalJson([policy.pii, policy.pii_patterns, policy.pii_allow]);

/** The settings by which lessons are kept apart. */
const scopeOf = ({ loaded: { project, config } }: Settings) =>
  canonicalJson([project?.trusted ? project.path : "", config.policy.pii]);
