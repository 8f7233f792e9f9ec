import { AgentCardsError, type CallResult, type Catalogue, messageOf } from "../model/mod.ts";
import { unrefTimer } from "../platform/start.ts";
import type { Dropped } from "./traffic.ts";
import type { RequestOptions, ServerEvent, Upstream } from "./upstream.ts";

/** The state of a server in its life. */
export type ServerState = "stopped" | "starting" | "running" | "failing";

/** The state of a server as others see it. */
export interface ServerStatus {
  readonly state: ServerState;
  readonly lastError?: string;
  /** The reason why it gave no sign of life when it was last asked for one. */
  readonly silent?: string;
  readonly startMs?: number;
  /** The counts of its output that was left out, where any was. */
  readonly dropped?: Dropped;
}

/** One configured server of one connection: started on first use, stopped when idle, started again after a fall. */
export interface Server extends AsyncDisposable {
  readonly name: string;
  status(): ServerStatus;
  /** Sends a request, starting the server when needed. */
  request(method: string, params: Record<string, unknown>, options: RequestOptions): Promise<CallResult>;
  /** The lists of the running server, which is started when needed. */
  catalogue(): Promise<Catalogue>;
  /** The same, read anew; a list that is being read counts. */
  look(signal: AbortSignal): Promise<Catalogue>;
  /** The time of the last reading of the lists of the process that runs; undefined where it was not read yet. */
  listedAt(): number | undefined;
  /** From now on these are watched for somebody, also after it was started again; while anything is, it is not idle. */
  watch(holder: unknown, uris: readonly string[]): Promise<void>;
  /** Asks a process that runs for a sign of life, which is no use of it; gives the reason where there is none. */
  ping(timeoutMs: number): Promise<string | undefined>;
  /** Tells it something, if it is running. */
  notify(method: string): void;
  stop(): Promise<void>;
  /** Another definition has taken its place: it stops once the calls under way have ended. Gives what was watched. */
  retire(): { readonly watched: ReadonlyMap<unknown, readonly string[]>; readonly gone: Promise<void> };
}

export interface ServerOptions {
  readonly name: string;
  readonly idleStopMs: number;
  connect(handlers: { onEvent(event: ServerEvent): void; signal: AbortSignal }): Promise<Upstream>;
  /** Told what the server says by itself; where lists changed, they are read anew instead. */
  onServerEvent(event: ServerEvent): void;
  /** Reads the lists of a server that has just started or said that they changed. */
  list(upstream: Upstream, startMs: number): Promise<Catalogue>;
  onEvent(event: string, fields?: Record<string, unknown>): void;
  /** The counts of its unasked output that was left out. */
  dropped(): Dropped;
}

/** After this many failures in a row calls are refused until the pause is over, instead of waiting for it. */
const CIRCUIT_OPENS_AT = 3;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** A server that lived this long had started well: its fall is not counted as a failed start. */
const HEALTHY_MS = 10_000;
const LIST_CHANGED_PAUSE_MS = 1_000;
const LIST_CHANGED_SOON_MS = 20;
/** Lists that keep changing are read ever more rarely, down to this. */
const LIST_CHANGED_LONGEST_MS = 60_000;
/** So many changes in quick succession are seen at their usual pace, before lists are read ever more rarely. */
const QUICK_CHANGES = 3;

interface Running {
  readonly upstream: Upstream;
  readonly startedAt: number;
  readonly startMs: number;
  catalogue?: Promise<Catalogue>;
  isListing?: boolean;
  listedAt?: number;
  silent?: string | undefined;
}

export function createServer(options: ServerOptions): Server {
  let running: Promise<Running> | undefined;
  let current: Running | undefined;
  let lastError: string | undefined;
  let failures = 0;
  let retryAt = 0;
  let inFlight = 0;
  let lastUsed = 0;
  let idleTimer: ReturnType<typeof setTimeout> | undefined;
  let disposed = false;
  let retired: PromiseWithResolvers<void> | undefined;
  let starting: AbortController | undefined;
  const watching = new Map<unknown, readonly string[]>();
  const watched = () => [...new Set([...watching.values()].flat())];

  function failed(reason: string): void {
    failures++;
    lastError = reason;
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
    // The first fall is forgiven: most servers just start again.
    retryAt = failures === 1 ? 0 : performance.now() + pause;
    options.onEvent("server failed", { server: options.name, failures, reason });
  }

  /** A server that wants a sign-in is tried again by the next call, however often it has refused. */
  function waits(reason: string): void {
    failures = 0;
    lastError = reason;
    options.onEvent("server failed", { server: options.name, reason });
  }

  async function waitForTurn(signal: AbortSignal): Promise<void> {
    const pause = retryAt - performance.now();
    if (pause <= 0) return;
    if (failures >= CIRCUIT_OPENS_AT) {
      throw new AgentCardsError(
        "SERVER_UNREACHABLE",
        `Server "${options.name}" failed ${failures} times in a row: ${lastError}`,
        { hint: `It is tried again in ${Math.ceil(pause / 1000)} s; the other servers are not affected.` },
      );
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pause);
      signal.addEventListener("abort", () => (clearTimeout(timer), resolve()));
    });
  }

  async function start(): Promise<Running> {
    const { signal } = starting = new AbortController();
    const stopped = () =>
      new AgentCardsError("SERVER_UNREACHABLE", `Server "${options.name}" was stopped while it started`);
    try {
      await waitForTurn(signal);
      const begin = performance.now();
      if (signal.aborted || disposed) throw stopped();
      const upstream = await options.connect({ onEvent, signal });
      if (signal.aborted) {
        await upstream.close();
        throw stopped();
      }
      const started: Running = { upstream, startedAt: performance.now(), startMs: performance.now() - begin };
      const { startMs } = started;
      list(started).catch(() => {});
      current = started;
      // Nobody waits for this: a resource that is gone by now is watched no more.
      if (watching.size > 0) upstream.watch(watched()).catch(() => {});
      upstream.closed.then((reason) => ended(started, reason));
      options.onEvent("server started", { server: options.name, ms: Math.round(startMs), pid: upstream.pid });
      return started;
    } catch (error) {
      if (isWaitingForSignIn(error)) waits(messageOf(error));
      // A circuit that is open says so; that is no failure of its own.
      else if (!signal.aborted && performance.now() >= retryAt) failed(messageOf(error));
      throw error;
    }
  }

  /** The tools of a running server; a list that failed is asked for again next time. */
  function list(live: Running): Promise<Catalogue> {
    if (live.catalogue) return live.catalogue;
    live.isListing = true;
    const reading = options.list(live.upstream, live.startMs).finally(() => live.isListing = false);
    reading.then(() => live.listedAt = performance.now(), () => {});
    return live.catalogue = reading.catch((error) => {
      live.catalogue = undefined;
      // One that was stopped meanwhile has not failed; one that ended by itself says so by itself.
      if (current === live) {
        lastError = messageOf(error);
        options.onEvent("server failed", { server: options.name, reason: lastError });
      }
      throw error;
    });
  }

  function ended(ofThis: Running, reason: string): void {
    if (current !== ofThis) return;
    current = undefined;
    running = undefined;
    clearTimeout(idleTimer);
    idleTimer = undefined;
    if (performance.now() - ofThis.startedAt > HEALTHY_MS) failures = 0;
    failed(reason);
    // Somebody waits for its news.
    if (watching.size > 0 && failures < CIRCUIT_OPENS_AT) use(() => Promise.resolve()).catch(() => {});
  }

  /**
   * However often a server says so, its lists are read at most once a second, and more rarely when they keep changing; a
   * single change is read soon.
   */
  let refresh: ReturnType<typeof setTimeout> | undefined;
  let refreshedAt = -Infinity;
  let pause = LIST_CHANGED_PAUSE_MS;
  let quick = 0;
  function onEvent(event: ServerEvent): void {
    if (event.kind !== "list_changed") return options.onServerEvent(event);
    if (refresh !== undefined) return;
    const quiet = performance.now() - refreshedAt;
    quick = quiet > 2 * pause ? 0 : quick + 1;
    pause = quick <= QUICK_CHANGES ? LIST_CHANGED_PAUSE_MS : Math.min(2 * pause, LIST_CHANGED_LONGEST_MS);
    const wait = Math.max(LIST_CHANGED_SOON_MS, pause - quiet);
    refresh = setTimeout(() => {
      refresh = undefined;
      refreshedAt = performance.now();
      if (!current) return;
      current.catalogue = undefined;
      list(current).catch(() => {});
    }, wait);
  }

  async function use<T>(work: (running: Running) => Promise<T>, signal?: AbortSignal): Promise<T> {
    inFlight++;
    try {
      const live = current ?? await unlessAborted(
        running ??= start().catch((error) => {
          running = undefined;
          throw error;
        }),
        signal,
      );
      const result = await work(live);
      failures = 0;
      live.silent = undefined;
      return result;
    } finally {
      inFlight--;
      lastUsed = performance.now();
      if (retired) stopWhenDone();
      else if (idleTimer === undefined && options.idleStopMs > 0 && !disposed) stopWhenIdle(options.idleStopMs);
    }
  }

  /** The timer runs on through calls and looks at the clock when it fires; resetting it each time would be wasted work. */
  function stopWhenIdle(after: number): void {
    idleTimer = setTimeout(() => {
      idleTimer = undefined;
      const rest = options.idleStopMs - (performance.now() - lastUsed);
      if (inFlight > 0 || watching.size > 0) stopWhenIdle(options.idleStopMs);
      else if (rest > 1) stopWhenIdle(rest);
      else void stop();
    }, after);
    unrefTimer(idleTimer as unknown as number);
  }

  function stopWhenDone(): void {
    if (inFlight === 0) retired?.resolve(stop());
  }

  async function stop(): Promise<void> {
    clearTimeout(idleTimer);
    idleTimer = undefined;
    starting?.abort();
    const stopping = current ?? await running?.catch(() => undefined);
    current = undefined;
    running = undefined;
    if (!stopping) return;
    await stopping.upstream.close();
    options.onEvent("server stopped", { server: options.name });
  }

  return {
    name: options.name,
    status: () => ({
      ...leftOut(options.dropped()),
      state: current ? "running" : running ? "starting" : failures > 0 ? "failing" : "stopped",
      ...lastError !== undefined && failures > 0 && { lastError },
      ...current && { startMs: Math.round(current.startMs) },
      ...current?.silent !== undefined && { silent: current.silent },
    }),
    request: (method, params, request) =>
      use(({ upstream }) => {
        request.onSent?.();
        return upstream.request(method, params, request);
      }, request.signal),
    catalogue: () => use(list),
    look: (signal) =>
      use((live) => {
        if (!live.isListing) delete live.catalogue;
        return unlessAborted(list(live), signal);
      }, signal),
    listedAt: () => current?.listedAt,
    async watch(holder, uris) {
      if (uris.length > 0) watching.set(holder, uris);
      else if (!watching.delete(holder)) return;
      if (current || watching.size > 0) await use(({ upstream }) => upstream.watch(watched()));
    },
    async ping(timeoutMs) {
      const live = current;
      // A call that is under way shows more than a ping does, and some servers do one thing at a time.
      if (!live || inFlight > 0) return undefined;
      const method = live.upstream.era.kind === "modern" ? "server/discover" : "ping";
      live.silent = await live.upstream.request(method, {}, { timeoutMs }).then(() => undefined, messageOf);
      // One that was stopped meanwhile has not gone silent; one that fell has.
      return live === current || failures > 0 ? live.silent : undefined;
    },
    notify: (method) => current?.upstream.notify(method),
    stop,
    retire() {
      retired ??= Promise.withResolvers();
      const watched = new Map(watching);
      watching.clear();
      clearTimeout(refresh);
      stopWhenDone();
      return { watched, gone: retired.promise };
    },
    async [Symbol.asyncDispose]() {
      disposed = true;
      clearTimeout(refresh);
      await stop();
    },
  };
}

function isWaitingForSignIn(error: unknown): boolean {
  return error instanceof AgentCardsError && error.code === "SIGN_IN_NEEDED";
}

function leftOut(dropped: Dropped): Pick<ServerStatus, "dropped"> {
  return Object.values(dropped).some((count) => count > 0) ? { dropped } : {};
}

/** The value of a promise, unless the signal aborts first; then the work goes on for itself. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return await promise;
  promise.catch(() => {});
  const gone = Promise.withResolvers<never>();
  const leave = () => gone.reject(new AgentCardsError("CANCELLED", "The call was cancelled before it was sent"));
  signal.addEventListener("abort", leave);
  if (signal.aborted) leave();
  try {
    return await Promise.race([promise, gone.promise]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
