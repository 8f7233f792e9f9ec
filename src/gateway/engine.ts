import { ensureHome, ensureSocketFolder, type Home, socketPath } from "../config/home.ts";
import { takeLock } from "../db/lock.ts";
import { describe } from "../model/errors.ts";
import { TOO_LONG } from "../model/lines.ts";
import { log } from "../telemetry/log.ts";
import { serveControl } from "./control.ts";
import { createFrameWriter, readLines } from "./frames.ts";
import { serveClient } from "./front.ts";
import { createGateway, type Gateway } from "./gateway.ts";
import { type Hello, isHello, MAX_CLIENT_FRAME, PROTOCOL, VERSION, type Welcome } from "./hello.ts";

/** The exit code of an engine that found another one at work: its starter connects to that one. */
export const LOST_THE_RACE = 75;

const WARM_UP_AFTER_MS = 250;

/** Runs the one engine of a home until it is told to stop or has been idle for long enough. */
export async function runEngine(home: Home): Promise<number> {
  await ensureHome(home);
  await using lock = await takeLock(home.lock);
  if (!lock) return LOST_THE_RACE;
  const path = await socketPath(home);
  await ensureSocketFolder(path, home);
  // Whoever holds the lock may remove what a killed engine left behind.
  await Deno.remove(path).catch(() => {});
  const mask = Deno.umask(0o177);
  const listener = Deno.listen({ transport: "unix", path });
  Deno.umask(mask);

  const stopping = Promise.withResolvers<void>();
  const stop = () => stopping.resolve();
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) Deno.addSignalListener(signal, stop);

  const gateway = createGateway(home, { logToStderr: false });
  const connections = new Set<Deno.Conn>();
  const idle = idleTimer(gateway, stop);
  (async () => {
    for await (const conn of listener) {
      connections.add(conn);
      idle.busy();
      serveConnection(conn, { gateway, stop, others: () => connections.size - 1 })
        .catch(async (error) => {
          await gateway;
          log("warning", "connection failed", { reason: describe(error) });
        })
        .finally(() => {
          connections.delete(conn);
          try {
            conn.close();
          } catch {
            // The other side was first.
          }
          if (connections.size === 0) idle.rest();
        });
    }
  })().catch(() => {});
  idle.rest();
  // Soon needed, but not before the first client has its list of tools.
  const warmUp = setTimeout(() => gateway.then(({ database }) => database()).catch(() => {}), WARM_UP_AFTER_MS);

  await stopping.promise;
  clearTimeout(warmUp);
  listener.close();
  await Deno.remove(path).catch(() => {});
  await (await gateway)[Symbol.asyncDispose]();
  for (const conn of connections) conn.close();
  return 0;
}

/** Stops an engine that nobody has used for a while. */
function idleTimer(gateway: Promise<Gateway>, stop: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    busy: () => clearTimeout(timer),
    rest() {
      clearTimeout(timer);
      gateway.then(({ idleExitMs }) => {
        clearTimeout(timer);
        timer = setTimeout(stop, idleExitMs);
      }, stop);
    },
  };
}

interface Engine {
  readonly gateway: Promise<Gateway>;
  stop(): void;
  /** How many other connections there are. */
  others(): number;
}

async function serveConnection(conn: Deno.Conn, engine: Engine): Promise<void> {
  const writer = createFrameWriter(conn, () => conn.close());
  const lines = readLines(conn, MAX_CLIENT_FRAME);
  const first = await lines.next();
  if (first.done) return;
  const [helloLine, ...rest] = first.value;
  const { hello, welcome } = greet(helloLine, engine);
  writer.write(JSON.stringify(welcome));
  if (!hello || welcome.error || welcome.leaving) {
    await writer.drained();
    if (welcome.leaving) engine.stop();
    return;
  }
  const gateway = await engine.gateway;
  const session = gateway.openSession({ cwd: hello.cwd, env: hello.env });
  session.catch(() => {});
  try {
    const wire = { lines: prepend(rest, lines), write: (frame: string | Uint8Array) => writer.write(frame) };
    if (hello.kind === "mcp") await serveClient(wire, session);
    else await serveControl(wire, { gateway, session, stop: engine.stop });
    await writer.drained();
  } finally {
    await session.then(gateway.closeSession, () => {});
  }
}

function greet(line: Uint8Array | typeof TOO_LONG | undefined, engine: Engine): { hello?: Hello; welcome: Welcome } {
  const welcome = { agentcards: PROTOCOL, version: VERSION, pid: Deno.pid };
  let hello: unknown;
  try {
    hello = line instanceof Uint8Array ? JSON.parse(new TextDecoder().decode(line)) : undefined;
  } catch {
    hello = undefined;
  }
  if (!isHello(hello)) return { welcome: { ...welcome, error: "the first line must be a hello" } };
  if (hello.version === VERSION && hello.agentcards === PROTOCOL) return { hello, welcome };
  // Another version: make room when nobody else is here, serve on when we still understand each other.
  if (engine.others() === 0) return { hello, welcome: { ...welcome, leaving: true } };
  if (hello.agentcards === PROTOCOL) return { hello, welcome };
  const error =
    `the running engine has version ${VERSION}, you have ${hello.version}; run \`agentcards engine restart\``;
  return { hello, welcome: { ...welcome, error } };
}

async function* prepend<T>(first: T[], rest: AsyncIterable<T[]>): AsyncGenerator<T[]> {
  if (first.length > 0) yield first;
  yield* rest;
}
