import { harmlessVariables, type Home, requireOwnHome, requireOwnSocket, socketPath } from "../../config/start.ts";
import { findHolder, identityOf, type LockHolder, lockHolder, readHolder } from "../../db/start.ts";
import { AgentCardsError, messageOf } from "../../model/start.ts";
import { systemProgram, VERSION } from "../../platform/start.ts";
import { Command, type CommandStatus, fs, installation, net, system } from "../../platform/start.ts";
import type { Channel, Line } from "./channel.ts";
import { connChannel } from "./conn_channel.ts";
import {
  type Hello,
  HELLO_TIMEOUT_MS,
  HOME_REFUSED,
  isWelcome,
  LOST_ITS_HOME,
  LOST_THE_RACE,
  PROTOCOL,
  STARTS_AGAIN,
  type Welcome,
} from "./handshake.ts";
import { readExporter } from "./exporter_file.ts";
import { answeringVariables } from "./variables.ts";

/** A connection to the engine after the greeting. */
export interface EngineConnection {
  readonly channel: Channel;
  readonly pid: number;
  /** True if the engine takes requests again that an engine before it was sent. */
  readonly takesAgain?: boolean;
}

export interface ConnectOptions {
  readonly home: Home;
  readonly kind: "mcp" | "control";
  readonly cwd: string;
  /** The environment of the session. The engine is sent what is harmless in it, and what it asks for by name. */
  readonly env: Readonly<Record<string, string>>;
  /** The command of our own program: the words before `engine run`. Without it no engine is started. */
  readonly program?: readonly string[];
  /** True if each message is to say which request it belongs to. */
  readonly tellsRelated?: boolean;
  /** The client that the session is for. */
  readonly client?: string | undefined;
  /** True if it carries the requests of many clients. */
  readonly isCrowd?: boolean;
  /** The name of the client's connection, where there may be a next engine for it. */
  readonly connection?: string;
}

const START_TIMEOUT_MS = 15_000;
const RETRY_MS = 5;
const AFTER_LOST_RACE_MS = 100;
const MOST_STARTS = 3;
const LOOK_EVERY_MS = 500;
/** An engine listens within a second and closes within three. */
const SILENT_ENGINE_MS = 8_000;
const ALONE_MS = 2_000;
/** The largest line the engine may send: a result with media in it. */
const MAX_ENGINE_FRAME = 512 * 1024 * 1024;

/** Ends of an engine that found another one at work, or made room for it: the next look finds that one. */
const MADE_ROOM: readonly number[] = [0, LOST_THE_RACE, LOST_ITS_HOME, STARTS_AGAIN];

/** Connects to the home's engine, starting one when there is none. */
export async function connectEngine(options: ConnectOptions): Promise<EngineConnection> {
  const { home, program } = options;
  const deadline = performance.now() + START_TIMEOUT_MS;
  const errors = `${home.logs}/engine.err`;
  const from = (await fs.stat(errors).catch(() => undefined))?.size ?? 0;
  const judge = createJudge(home);
  let starting = false;
  let ended = 0;
  let failure: unknown;
  let isMissing = false;

  async function start(program: readonly string[]): Promise<void> {
    const holder = await findHolder(home.lock);
    if (holder) return judge(holder);
    // npm removes a program before it unpacks the next one.
    if (!installation.isThere()) return void (isMissing = true);
    isMissing = false;
    const { code } = await startEngine(program, options);
    if (code === HOME_REFUSED) throw new AgentCardsError("HOME_UNUSABLE", await lastWords(home, from));
    // One that cannot even begin ends again and again.
    if (!MADE_ROOM.includes(code) && ++ended === MOST_STARTS) throw new Error(`it ends with code ${code}`);
  }

  for (;;) {
    const reached = await reach(options);
    if (reached && !(reached instanceof Error)) return reached;
    if (reached && !program) {
      throw new AgentCardsError("ENGINE_UNREACHABLE", "The engine is not running", { cause: reached });
    }
    if (reached && program && !starting) {
      starting = true;
      // One that ends at once lost the race to one that is just closing: after a moment the next may try.
      start(program).catch((error) => failure = error)
        .finally(() => setTimeout(() => starting = false, AFTER_LOST_RACE_MS));
    }
    if (failure instanceof AgentCardsError) throw failure;
    if (failure !== undefined) throw await notStarted(home, { cause: failure, from });
    if (performance.now() > deadline && isMissing) throw notInstalled(options.program ?? []);
    if (performance.now() > deadline) throw await notStarted(home, { cause: reached, from });
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/**
 * The socket of the engine that holds the lock, as it wrote it down: another environment may lead to another path. A lock
 * that nobody holds may be a copy, and name the engine of the home it was copied from.
 */
async function findSocket({ home, env }: ConnectOptions): Promise<string> {
  const usual = await socketPath(home, env);
  const named = readHolder(home.lock)?.socket;
  if (named === undefined || named === usual) return usual;
  return (await findHolder(home.lock))?.socket ?? usual;
}

/** Throws about a holder of the lock that cannot be reached for too long: an engine is soon there or gone. */
function createJudge(home: Home): (holder: LockHolder) => void {
  let seen = { pid: 0, since: 0 };
  return (holder) => {
    if (seen.pid !== holder.pid) seen = { pid: holder.pid, since: performance.now() };
    if (performance.now() - seen.since < (holder.isAlone ? ALONE_MS : SILENT_ENGINE_MS)) return;
    throw holder.isAlone ? inOtherUse(home, holder) : unreachable(home, holder);
  };
}

function unreachable(home: Home, { pid, socket }: LockHolder): AgentCardsError {
  return new AgentCardsError(
    "ENGINE_UNREACHABLE",
    `The engine of ${home.dir} (process ${pid}) cannot be reached${socket ? ` on ${socket}` : ""}`,
    {
      hint:
        "End it with `agentcards engine stop`; one that runs in a container or on another machine must be ended there.",
    },
  );
}

function inOtherUse(home: Home, { pid }: LockHolder): AgentCardsError {
  return new AgentCardsError("ENGINE_BUSY", `Process ${pid} uses ${home.dir} for itself alone`, {
    hint:
      "A restore is soon done; end `agentcards serve --standalone` or the program that opened it, or set AGENTCARDS_HOME to another folder.",
  });
}

/** Says hello to the engine; undefined means that it is going and a new one is due, an error that none is there. */
async function reach(options: ConnectOptions): Promise<EngineConnection | Error | undefined> {
  // The lock file of somebody else could lead anywhere.
  requireOwnHome(options.home);
  const path = await findSocket(options);
  requireOwnSocket(path, options.home);
  const conn = await net.connect({ transport: "unix", path }).catch((error) => error as Error);
  if (conn instanceof Error) return conn;
  const socket = identityOf(path);
  /** A process that outlived its engine may have inherited the socket, and answers never: lock and path tell. */
  const isLeft = async () => !await findHolder(options.home.lock) || identityOf(path) !== socket;
  return await greet(connChannel(conn, MAX_ENGINE_FRAME), isLeft, options);
}

async function greet(
  channel: Channel,
  isLeft: () => Promise<boolean>,
  options: ConnectOptions,
): Promise<EngineConnection | Error | undefined> {
  const { kind, cwd, env, client, tellsRelated, isCrowd, connection } = options;
  const more = {
    ...client !== undefined && { client },
    ...tellsRelated !== undefined && { tellsRelated },
    ...isCrowd !== undefined && { isCrowd },
    ...connection !== undefined && { connection },
  };
  const hello: Hello = { agentcards: PROTOCOL, version: VERSION, kind, cwd, env: harmlessVariables(env), ...more };
  channel.write(JSON.stringify(hello));
  const answer = channel.first();
  try {
    const deadline = performance.now() + HELLO_TIMEOUT_MS;
    let first = await before(answer, LOOK_EVERY_MS);
    for (; first === "silence"; first = await before(answer, LOOK_EVERY_MS)) {
      if (performance.now() > deadline) throw await silentEngine(options.home);
      if (!await isLeft()) continue;
      channel.close();
      return new Error("nobody answers on the socket that an engine left");
    }
    if (first === undefined) return undefined;
    const welcome = parseWelcome(first);
    if (welcome.error) throw new AgentCardsError("ENGINE_BUSY", `The engine refused: ${welcome.error}`);
    if (welcome.lock !== undefined && welcome.lock !== identityOf(options.home.lock)) {
      channel.close();
      return new Error("the engine on the socket is that of another home");
    }
    const takesAgain = connection !== undefined && welcome.takesAgain === true;
    return welcome.leaving ? undefined : { channel: answeringVariables(channel, env), pid: welcome.pid, takesAgain };
  } catch (error) {
    channel.close();
    throw error;
  }
}

async function before<T>(promise: Promise<T>, ms: number): Promise<T | "silence"> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<"silence">((resolve) => timer = setTimeout(() => resolve("silence"), ms));
  return await Promise.race([promise, silence]).finally(() => clearTimeout(timer));
}

function parseWelcome(line: Line): Welcome {
  const welcome: unknown = line instanceof Uint8Array ? JSON.parse(new TextDecoder().decode(line)) : undefined;
  if (!isWelcome(welcome)) {
    throw new AgentCardsError("ENGINE_BUSY", "What answers on the engine's socket is not an engine");
  }
  return welcome;
}

async function engineError(home: Home, what: string, hint: string): Promise<AgentCardsError> {
  const pid = await lockHolder(home.lock).catch(() => undefined);
  return new AgentCardsError("ENGINE_UNREACHABLE", what.replace("PID", pid ? ` (process ${pid})` : ""), { hint });
}

function silentEngine(home: Home): Promise<AgentCardsError> {
  return engineError(
    home,
    `The engine of ${home.dir}PID does not answer within ${HELLO_TIMEOUT_MS / 1000} s`,
    "End it with `agentcards engine stop --force`; the next command starts a new one.",
  );
}

function notInstalled(program: readonly string[]): AgentCardsError {
  return new AgentCardsError("ENGINE_UNREACHABLE", `AgentCards is not installed any more: ${program.at(-1)} is gone`, {
    hint: "Install it again; `agentcards init --undo`, with it, takes its entry out of your clients.",
  });
}

/** `from`: where in the file of its errors this start begins; what stands before it is of an earlier one. */
async function notStarted(home: Home, { cause, from }: { cause: unknown; from: number }): Promise<AgentCardsError> {
  const words = await lastWords(home, from);
  const isOtherPackages = PACKAGES_MISSING.test(words);
  return await engineError(
    home,
    `The engine of ${home.dir}PID did not start: ${words || messageOf(cause)}`,
    isOtherPackages
      ? `The packages of another version are installed: run \`npx -y deno@${system.runtimeVersion} task setup\` in the folder of AgentCards, then try again.`
      : `See ${home.logs}; is there free space, and may you write to ${home.dir}?`,
  );
}

async function lastWords(home: Home, from: number): Promise<string> {
  const bytes = await fs.readFile(`${home.logs}/engine.err`).catch(() => new Uint8Array());
  return new TextDecoder().decode(bytes.subarray(from)).trim().split("\n").slice(-3).join("\n");
}

/** Deno's messages about packages that the lock file or the code wants and that are not installed. */
const PACKAGES_MISSING = /--cached-only|not found in the cache|lockfile is out of date|Could not (?:find|resolve)/i;

/** The variables that the engine gets: none that a session could lend it by accident. */
const ENGINE_ENVIRONMENT = [
  "HOME",
  "PATH",
  "TMPDIR",
  "XDG_RUNTIME_DIR",
  "AGENTCARDS_HOME",
  "AGENTCARDS_SYSTEM_PATH",
  "DENO_DIR",
  // Of tests that measure which code they run.
  "DENO_COVERAGE_DIR",
  "USERPROFILE",
  "SYSTEMROOT",
];

/** Starts an engine that outlives us, our terminal and our process group. */
async function startEngine(program: readonly string[], { home, env }: ConnectOptions): Promise<CommandStatus> {
  await fs.mkdir(home.logs, { recursive: true, mode: 0o700 });
  const kept = ENGINE_ENVIRONMENT.flatMap((name) => env[name] === undefined ? [] : [[name, env[name]]]);
  const child = new Command(systemProgram("sh"), {
    // The file is made for its owner alone; the engine itself keeps the usual mask, which servers inherit.
    args: [
      "-c",
      '(umask 077; : >>"$ENGINE_ERR"); exec "$@" >>"$ENGINE_ERR" 2>&1 </dev/null',
      "sh",
      ...program,
      "engine",
      "run",
    ],
    clearEnv: true,
    env: {
      ...Object.fromEntries(kept),
      ...await readExporter(home),
      AGENTCARDS_HOME: home.dir,
      ENGINE_ERR: `${home.logs}/engine.err`,
      // Deno would ask its makers for a newer version now and then; nothing leaves this machine.
      DENO_NO_UPDATE_CHECK: "1",
    },
    cwd: "/",
    stdin: "null",
    stdout: "null",
    stderr: "null",
    detached: true,
  }).spawn();
  child.unref();
  return await child.status;
}
