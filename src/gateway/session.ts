import type { Home } from "../config/home.ts";
import { loadConfig, type LoadedConfig } from "../config/load.ts";
import { resolveServer } from "../config/expand.ts";
import type { Config, ServerConfig } from "../config/schema.ts";
import { readSecrets } from "../config/secrets.ts";
import { requireServer } from "../config/servers.ts";
import { connectHttp } from "../mcp/connect_http.ts";
import { connectStdio } from "../mcp/connect_stdio.ts";
import { readTools } from "../mcp/discover.ts";
import type { Reaper } from "../mcp/reaper.ts";
import { createServer, type Server } from "../mcp/server.ts";
import type { ServerRequest, Upstream } from "../mcp/upstream.ts";
import { AgentCardsError, messageOf } from "../model/errors.ts";
import { canonicalJson } from "../model/json.ts";
import type { Catalogue } from "../model/tool.ts";
import { log } from "../telemetry/log.ts";
import type { Redactor } from "../telemetry/redact.ts";
import { askCaller, type Caller } from "./caller.ts";
import type { CatalogueStore } from "./catalogue.ts";
import { VERSION } from "./hello.ts";
import type { LargeFrames } from "./large.ts";
import type { ResultStore } from "./results.ts";

/** What all sessions of an engine have in common. */
export interface Shared {
  readonly home: Home;
  readonly catalogues: CatalogueStore;
  readonly results: ResultStore;
  readonly redactor: Redactor;
  readonly large: LargeFrames;
  reaper(): Reaper;
  /** Servers configured `shared: true`, by definition; they outlive the session that started them. */
  readonly sharedServers: Map<string, Server>;
  /** Told after an answer has gone out. */
  record(call: CallRecord): void;
}

export interface CallRecord {
  readonly tool: string;
  readonly ms: number;
  readonly ok: boolean;
  readonly bytes: number;
}

/** One connection's view: its folder, its environment, its configuration, its servers. */
export interface Session extends AsyncDisposable {
  readonly shared: Shared;
  readonly loaded: LoadedConfig;
  readonly config: Config;
  /** Who is waiting for which server: its questions go to the last one who can answer. */
  readonly callers: Map<string, Set<Caller>>;
  server(name: string): Server;
  /** Whether a tool is in memory already. */
  isKnown(server: string, name: string): boolean;
  /** What a server offers as far as it is known, without starting it. */
  known(name: string): Promise<Catalogue | undefined>;
  status(): { config: ServerConfig; server: Server | undefined }[];
}

export interface SessionContext {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

const START_TIMEOUT_MS = 30_000;
const LIST_TIMEOUT_MS = 30_000;
const MAX_PAGES = 64;

export async function openSession(shared: Shared, context: SessionContext): Promise<Session> {
  const loaded = await loadConfig(shared.home, context.cwd);
  const { config } = loaded;
  const secrets = await readSecrets(shared.home.secrets);
  shared.redactor.add(Object.values(secrets));
  const servers = new Map<string, Server>();

  const session: Session = {
    shared,
    loaded,
    config,
    callers: new Map(),
    server(name) {
      const existing = servers.get(name);
      if (existing) return existing;
      const server = makeServer(requireServer(config, name));
      servers.set(name, server);
      return server;
    },
    isKnown(server, name) {
      const entry = Object.hasOwn(config.servers, server) ? config.servers[server]! : undefined;
      return entry !== undefined && !entry.disabled && shared.catalogues.peek(entry)?.names.has(name) === true;
    },
    async known(name) {
      const entry = requireServer(config, name);
      return (shared.catalogues.peek(entry) ?? await shared.catalogues.find(entry))?.catalogue;
    },
    status: () => Object.values(config.servers).map((entry) => ({ config: entry, server: servers.get(entry.name) })),
    async [Symbol.asyncDispose]() {
      const own = [...servers.values()].filter((server) => ![...shared.sharedServers.values()].includes(server));
      await Promise.all(own.map((server) => server[Symbol.asyncDispose]()));
    },
  };

  function makeServer(entry: ServerConfig): Server {
    if (!entry.shared) return startable(entry);
    const key = canonicalJson(entry);
    const existing = shared.sharedServers.get(key);
    if (existing) return existing;
    const server = startable(entry);
    shared.sharedServers.set(key, server);
    return server;
  }

  function startable(entry: ServerConfig): Server {
    return createServer({
      name: entry.name,
      idleStopMs: entry.idle_stop ?? config.engine.server_idle_stop,
      connect: (events) => connect(entry, events.onListChanged),
      list: (upstream, startMs) => list(entry, upstream, startMs),
      onEvent(event, fields) {
        log(event === "server failed" ? "warning" : "info", event, fields);
        if (event !== "server failed") return;
        shared.catalogues.noteFailure(entry, String(fields?.reason))
          .catch((error) => log("error", "failure not saved", { server: entry.name, reason: messageOf(error) }));
      },
    });
  }

  async function connect(entry: ServerConfig, onListChanged: () => void): Promise<Upstream> {
    const variables = entry.origin === "global" ? { ...context.env, ...secrets } : context.env;
    const resolved = resolveServer(entry, variables);
    shared.redactor.add(resolved.secrets);
    const era = (await shared.catalogues.find(entry))?.era;
    const options = {
      version: VERSION,
      maxFrameBytes: config.limits.frame_bytes,
      startTimeoutMs: entry.start_timeout ?? START_TIMEOUT_MS,
      ...era && { era },
    };
    const onRequest = (request: ServerRequest, signal: AbortSignal) =>
      askCaller(session.callers.get(entry.name), request, signal);
    const handlers = { onListChanged, onRequest };
    if (resolved.url) return await connectHttp(resolved, { ...options, clean: shared.redactor.clean }, handlers);
    return await connectStdio(resolved, {
      ...options,
      ...context,
      reaper: shared.reaper(),
      parse: shared.redactor.parse,
      parseLarge: (frame, calls) => shared.large.parse(frame, { calls, answerTokens: config.limits.answer_tokens }),
      onGarbage: (what) => log("debug", "server sent garbage", { server: entry.name, what }),
    }, handlers);
  }

  async function list(entry: ServerConfig, upstream: Upstream, startMs: number): Promise<Catalogue> {
    const raw: unknown[] = [];
    let cursor: unknown;
    for (let page = 0; page < MAX_PAGES && raw.length <= config.limits.tools_per_server; page++) {
      const reply = await upstream.request("tools/list", cursor ? { cursor } : {}, { timeoutMs: LIST_TIMEOUT_MS });
      if (reply.kind !== "result") {
        const why = reply.kind === "error" ? reply.message : "the list is too large";
        throw new AgentCardsError("SERVER_UNREACHABLE", `Server "${entry.name}" does not list its tools: ${why}`);
      }
      if (Array.isArray(reply.result.tools)) raw.push(...reply.result.tools);
      cursor = reply.result.nextCursor;
      if (typeof cursor !== "string" || cursor === "") break;
    }
    const read = await readTools(entry.name, raw, config.limits);
    const catalogue = upstream.instructions ? Object.freeze({ ...read, instructions: upstream.instructions }) : read;
    await shared.catalogues.save(entry, { catalogue, era: upstream.era, startMs })
      .catch((error) => log("error", "catalogue not saved", { server: entry.name, reason: messageOf(error) }));
    return catalogue;
  }

  return session;
}
