import { ensureHome, ensureSocketFolder, type Home, locateHome, socketPath } from "../config/start.ts";
import type { Gateway } from "../control/mod.ts";
import { identityOf, takeLock } from "../db/start.ts";
import { AgentCardsError, describe } from "../model/start.ts";
import { VERSION } from "../platform/start.ts";
import {
  type Activity,
  askingVariables,
  type Channel,
  createActivity,
  type Hello,
  HELLO_TIMEOUT_MS,
  HOME_REFUSED,
  isHello,
  isNewer,
  isSpoken,
  lastShown,
  type Line,
  LOST_ITS_HOME,
  LOST_THE_RACE,
  MAX_CLIENT_FRAME,
  PROTOCOL,
  socketChannel,
  STARTS_AGAIN,
  type Welcome,
} from "../serve/start.ts";
import { fs, stdio, system } from "../platform/start.ts";
import { startsAgain, watchExporter } from "./exporter_start.ts";
import { watchInstallation } from "./hand_over.ts";
import { listen } from "./listen.ts";
import { abandonHome, CLOSE_WITHIN_MS, leaveUnclosed } from "./leaving.ts";
import { watchPossession } from "./possession.ts";

/** Set by the unit of a service: the engine is to be there all the time. */
const SERVICE = "AGENTCARDS_SERVICE";
const WARM_UP_AFTER_MS = 50;
/** A client that began together with the engine gets its list of tools before the rest of the engine is loaded. */
const REST_AFTER_MS = 100;
const FIRST_SWEEP_AFTER_MS = 10_000;

/**
 * Runs the one engine of a home until it is told to stop or has been idle for long enough. It listens before it loads
 * anything slow: first what answers a handshake, then everything else.
 */
export async function runEngine(home = locateHome()): Promise<number> {
  try {
    return await run(home);
  } catch (error) {
    if (!(error instanceof AgentCardsError) || error.code !== "HOME_UNUSABLE") throw error;
    // Whoever started it reads this, and the code says that another try is of no use.
    stdio.stderr.writeSync(new TextEncoder().encode(`${describe(error)}\n`));
    return HOME_REFUSED;
  }
}

async function run(home: Home): Promise<number> {
  await ensureHome(home);
  const path = await socketPath(home);
  await ensureSocketFolder(path, home);
  await using lock = await takeLock(home.lock, { socket: path });
  if (!lock) return LOST_THE_RACE;
  if (await startsAgain(home)) return STARTS_AGAIN;
  // Whoever holds the lock may remove what a killed engine left behind.
  await fs.remove(path).catch(() => {});

  const front = import("../serve/client_connection.ts" as string) as Promise<
    typeof import("../serve/client_connection.ts")
  >;
  using possession = watchPossession(home, (lost) => void abandonHome(lost, { report }));
  const { isStillOurs } = possession;
  const lockIdentity = identityOf(home.lock);
  const rest = Promise.withResolvers<void>();
  const gateway = front.then(() => void setTimeout(rest.resolve, REST_AFTER_MS)).then(() => rest.promise)
    .then(() => (import("./gateway.ts" as string) as Promise<typeof import("./gateway.ts")>))
    .then(({ createGateway }) => createGateway(home, { logToStderr: false, isStillOurs }));
  const report = (what: string, reason: unknown) =>
    gateway.then(() => (import("../telemetry/log.ts" as string) as Promise<typeof import("../telemetry/log.ts")>))
      .then(({ log }) => log("error", what, { reason: describe(reason) }), () => {});
  const stopping = Promise.withResolvers<void>();
  const stop = () => stopping.resolve();
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) system.addSignalListener(signal, stop);
  // One session's surprise must not end all the others.
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    void report("unhandled rejection", event.reason);
  });

  const connections = new Set<Channel>();
  const newer = new Set<Channel>();
  const activity = createActivity();
  const { isIdle } = watchInstallation({ gateway, activity, newer, exporter: watchExporter(home), stop, report });
  const idle = idleTimer(gateway, stop);
  const serve = async (channel: Channel) => {
    connections.add(channel);
    idle.busy();
    try {
      const isAlone = () => connections.size === 1 && isIdle();
      await serveConnection(channel, { home, lockIdentity, front, rest, gateway, activity, newer, stop, isAlone });
    } catch (error) {
      await report("connection failed", error);
    } finally {
      connections.delete(channel);
      newer.delete(channel);
      channel.close();
      if (connections.size === 0) idle.rest();
    }
  };
  const listener = await listen(path, (socket) => void serve(socketChannel(socket, MAX_CLIENT_FRAME)));
  possession.add(path);
  idle.rest();
  // Soon needed, but not before the first client has its list of tools. A look then finds the folder that was opened.
  const open = () =>
    gateway.then(async ({ database, triggers }) => {
      await (await database()).ready();
      if (isStillOurs()) await triggers.begin();
    }).catch(() => {});
  const warmUp = setTimeout(open, WARM_UP_AFTER_MS);
  const sweeping = setTimeout(
    () =>
      (import("./gc.ts" as string) as Promise<typeof import("./gc.ts")>)
        .then(async ({ sweepNowAndThen }) => sweepNowAndThen((await gateway).workflows.isRunning))
        // Loaded before an update could replace it: commands are not sent again.
        .then(() => import("../control/server.ts" as string))
        .catch((error) => report("memory is not swept", error)),
    FIRST_SWEEP_AFTER_MS,
  );

  await stopping.promise;
  // What hangs, a database or a server, must not keep the next engine out: the journal needs no clean end.
  const late = setTimeout(() => void leaveUnclosed({ report }), CLOSE_WITHIN_MS);
  clearTimeout(warmUp);
  clearTimeout(sweeping);
  // The socket of another engine may lie there by now.
  if (!isStillOurs()) return LOST_ITS_HOME;
  possession.drop(path);
  listener.close();
  await fs.remove(path).catch(() => {});
  // Runs before those who watch them: one that is called off would rest until somebody goes on with it.
  (await gateway).workflows.leave();
  // Clients first: a call that came now would start what nobody would stop.
  for (const channel of connections) channel.close();
  await (await gateway)[Symbol.asyncDispose]();
  clearTimeout(late);
  return 0;
}

/** Stops an engine that nobody has used for a while. */
function idleTimer(gateway: Promise<Gateway>, stop: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isBusy = false;
  const idle = {
    busy() {
      isBusy = true;
      clearTimeout(timer);
    },
    rest() {
      isBusy = false;
      gateway.then(async ({ idleExitMs, triggers }) => {
        const ms = await idleExitMs();
        clearTimeout(timer);
        // A workflow that starts by itself keeps its engine, and so does a service.
        if (!isBusy && system.variable(SERVICE) === undefined) {
          timer = setTimeout(() => triggers.isOn() ? idle.rest() : stop(), ms);
        }
      }).catch(stop);
    },
  };
  return idle;
}

interface Engine {
  readonly home: Home;
  readonly lockIdentity: string | undefined;
  readonly front: Promise<typeof import("../serve/client_connection.ts")>;
  /** Resolved when the rest of the engine is to be loaded. */
  readonly rest: PromiseWithResolvers<void>;
  readonly gateway: Promise<Gateway>;
  readonly activity: Activity;
  /** Connections of a newer version. */
  readonly newer: Set<Channel>;
  stop(): void;
  /** True if nothing is under way, and a new connection is the only one. */
  isAlone(): boolean;
}

async function serveConnection(client: Channel, engine: Engine): Promise<void> {
  const { channel, ask } = askingVariables(client);
  const silence = setTimeout(channel.close, HELLO_TIMEOUT_MS);
  const first = await channel.first();
  clearTimeout(silence);
  if (first === undefined) return;
  const { hello, welcome } = greet(first, engine);
  channel.write(JSON.stringify(welcome));
  if (!hello || welcome.error || welcome.leaving) {
    await channel.end();
    if (welcome.leaving) engine.stop();
    return;
  }
  const { gateway, activity } = engine;
  if (isNewer(hello.version, VERSION)) engine.newer.add(client);
  const viewer = hello.kind === "control" ? "user" : { client: hello.client };
  const shown = lastShown(engine.home, hello.cwd, viewer);
  const { cwd, env, connection } = hello;
  const session = gateway.then(({ openSession }) =>
    // Only `serve --http` asks for related requests; its clients have no folder.
    openSession({
      cwd,
      env,
      connection,
      viewer,
      hasFolder: hello.tellsRelated !== true,
      keepsServers: hello.kind !== "mcp",
      // An older client has sent its whole environment, and would pass the question on.
      ...hello.agentcards === PROTOCOL && { variables: ask },
    })
  );
  session.catch(() => {});
  if (hello.isCrowd === true) client.neverRest?.();
  try {
    if (hello.kind === "mcp") {
      const { serveClient } = await engine.front;
      await serveClient(channel, session, {
        shown,
        tellsRelated: hello.tellsRelated === true,
        isCrowd: hello.isCrowd === true,
        connection,
        activity,
        rest: engine.rest,
      });
    } else {
      engine.rest.resolve();
      const { serveControl } =
        await (import("../control/server.ts" as string) as Promise<typeof import("../control/server.ts")>);
      await serveControl(channel, { gateway: await gateway, session, activity, stop: engine.stop });
    }
  } finally {
    await session.then(async (open) => (await gateway).closeSession(open), () => {});
  }
}

function greet(line: Line, engine: Engine): { hello?: Hello; welcome: Welcome } {
  const welcome = {
    agentcards: PROTOCOL,
    version: VERSION,
    pid: system.pid,
    takesAgain: true,
    lock: engine.lockIdentity,
  };
  let hello: unknown;
  try {
    hello = line instanceof Uint8Array ? JSON.parse(new TextDecoder().decode(line)) : undefined;
  } catch {
    hello = undefined;
  }
  if (!isHello(hello)) return { welcome: { ...welcome, error: "the first line must be a hello" } };
  const isUnderstood = isSpoken(hello.agentcards);
  // A newer version takes over at once when nobody else is here. An older one would find this version again.
  if (engine.isAlone() && (!isUnderstood || isNewer(hello.version, VERSION))) {
    return { hello, welcome: { ...welcome, leaving: true } };
  }
  if (isUnderstood) return { hello, welcome };
  const error =
    `the running engine has version ${VERSION}, you have ${hello.version}; run \`agentcards engine restart\``;
  return { hello, welcome: { ...welcome, error } };
}
