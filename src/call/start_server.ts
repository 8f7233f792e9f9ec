import type { PlacedServer, ServerConfig } from "../config/mod.ts";
import {
  connectHttp,
  connectStdio,
  createServer,
  createTraffic,
  fetchLists,
  readLists,
  type Server,
  type ServerOptions,
  type Traffic,
  type Upstream,
  type UpstreamHandlers,
} from "../mcp/mod.ts";
import { type Catalogue, cut, messageOf } from "../model/mod.ts";
import { type Names, presetOf } from "../policy/mod.ts";
import { VERSION } from "../platform/mod.ts";
import { log } from "../telemetry/mod.ts";
import { changedLists, changedTools } from "./catalogue/catalogue.ts";
import { askCall, offered } from "./human/asking.ts";
import { presentable } from "./human/question_form.ts";
import type { Session, SharedServer } from "./session.ts";

interface Surroundings extends Omit<SharedServer, "server"> {
  readonly session: Session;
  /** The definition with its variables and its folder, as they are now. */
  resolve(entry: ServerConfig): PlacedServer;
  /** The environment of the session, as far as the engine was told. */
  env(): Readonly<Record<string, string>>;
}

interface Connecting extends Surroundings {
  readonly events: Parameters<ServerOptions["connect"]>[0];
  readonly traffic: Traffic;
}

interface Listing extends Surroundings {
  readonly startMs: number;
}

/** So many lines of garbage are worth a line in the log each. */
const LOGGED_GARBAGE = 20;
/** So many lines of stderr are logged of each start. */
const LOGGED_WORDS = 200;
const MAX_HTTP_FRAME = 16 * 1024 * 1024;
/** Looking for personal data takes longer than parsing. */
const LARGE_TO_HIDE = 64 * 1024;

/** A server that is started when it is first used, as the session's settings are by then. */
export function startableServer(entry: ServerConfig, surroundings: Surroundings): Server {
  const { session, listeners } = surroundings;
  const { shared } = session;
  const traffic = createTraffic((dropped) => log("warning", "server_floods", { server: entry.name, ...dropped }));
  return createServer({
    dropped: traffic.dropped,
    name: entry.name,
    idleStopMs: entry.idle_stop ?? session.config.engine.server_idle_stop,
    connect: async (events) => await atLevel(session, await connect(entry, { ...surroundings, events, traffic })),
    list: (upstream, startMs) => list(entry, upstream, { ...surroundings, startMs }),
    onServerEvent(event) {
      for (const tell of listeners) tell(event);
    },
    onEvent(event, fields) {
      log(event === "server failed" ? "warning" : "info", event, fields);
      if (event !== "server failed") return;
      noteFailure(session, entry, shared.redactor.redact(String(fields?.reason)))
        .catch((error) => log("error", "failure_not_saved", { server: entry.name, reason: messageOf(error) }));
    },
  });
}

/** Records a failure, unless its cause can be seen at any time: it would be told after it was mended. */
async function noteFailure(session: Session, entry: ServerConfig, reason: string): Promise<void> {
  if (await session.problemOf(entry.name) === undefined) await session.shared.catalogues.noteFailure(entry, reason);
}

/** A server that starts later is told what those that were running have been told. */
async function atLevel(session: Session, upstream: Upstream): Promise<Upstream> {
  const level = session.client.logLevel;
  if (level !== undefined && upstream.era.kind === "legacy" && upstream.capabilities.logging) {
    await upstream.request("logging/setLevel", { level }, { timeoutMs: 1_000 }).catch(() => {});
  }
  return upstream;
}

async function connect(entry: ServerConfig, connecting: Connecting): Promise<Upstream> {
  const { session, calls, events, traffic } = connecting;
  const { shared, config } = session;
  const resolved = connecting.resolve(entry);
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
    onRequest: (request, how) =>
      askCall(calls, presentable(request, entry.name), {
        ...how,
        isMultiplexed: session.client.isMultiplexed === true,
      }),
  };
  if (resolved.url) {
    return await connectHttp(resolved, {
      ...options,
      // Read on the main thread, unlike what a program of ours says.
      maxFrameBytes: Math.min(options.maxFrameBytes, MAX_HTTP_FRAME),
      tokens: shared.tokens,
      clean: shared.redactor.clean,
    }, handlers);
  }
  return await connectStdio(resolved, {
    ...options,
    cwd: session.cwd,
    env: connecting.env(),
    reaper: shared.reaper(),
    ...session.privacy && { largeFrameBytes: LARGE_TO_HIDE },
    parse: shared.redactor.parse,
    redact: shared.redactor.redact,
    async parseLarge(frame, waiting) {
      const { privacy, config } = session;
      // A client that sees the tools themselves sees their answers whole, too.
      const answerTokens = config.expose.tools === "direct" ? Infinity : config.limits.answer_tokens;
      const how = { ...waiting, answerTokens, ...privacy && { pii: privacy.elsewhere(entry.name) } };
      const { message, hidden } = await shared.large.parse(frame, how);
      privacy?.keep(entry.name, hidden);
      return message;
    },
    onWords: wordsLogger(entry.name),
    onGarbage(what) {
      if (traffic.dropped().garbage < LOGGED_GARBAGE) {
        log("debug", "server_sent_garbage", { server: entry.name, what });
      }
    },
  }, handlers);
}

/** Logs what a program writes to stderr, up to a bound for each start: some write there all day. */
function wordsLogger(server: string): (line: string) => void {
  let count = 0;
  return (line) => {
    if (++count > LOGGED_WORDS) return;
    log("info", "server_stderr", { server, text: line });
    if (count === LOGGED_WORDS) {
      log("info", "server_stderr", { server, text: "(more is not logged until it starts anew)" });
    }
  };
}

async function list(entry: ServerConfig, upstream: Upstream, listing: Listing): Promise<Catalogue> {
  const { session, startMs } = listing;
  const { shared } = session;
  const before = (await shared.catalogues.find(entry))?.catalogue;
  const { limits, policy } = session.config;
  const { command, args, url } = listing.resolve(entry);
  const lists = await shared.pins.look(entry, {
    identity: { command, args, url, version: upstream.version },
    lists: await fetchLists(entry.name, upstream, limits),
    preset: presetOf(policy),
    others: () => namesAround(session, entry.name),
  });
  const catalogue = await readLists(entry.name, lists, { upstream, limits });
  const changed = changedTools(before, catalogue);
  if (changed.length > 0) {
    log("warning", "tools_changed", { server: entry.name, tools: cut(changed.join(", "), 500) });
  }
  await shared.catalogues.save(entry, { catalogue, era: upstream.era, startMs })
    .catch((error) => log("error", "catalogue_not_saved", { server: entry.name, reason: messageOf(error) }));
  shared.search.prepare(catalogue.tools);
  for (const list of changedLists(before, catalogue)) {
    for (const tell of listing.listeners) tell({ kind: "list_changed", list });
  }
  return catalogue;
}

/** The names of the other servers of a session and of their tools, as far as they are in memory. */
function namesAround({ config, shared }: Session, server: string): Names {
  const others = Object.values(config.servers).filter(({ name, disabled }) => !disabled && name !== server);
  const tools = others.flatMap((entry) => [...shared.catalogues.peek(entry)?.byName.keys() ?? []]);
  return { servers: new Set(others.map(({ name }) => name)), tools: new Set(tools) };
}
