import { AgentCardsError, messageOf } from "../model/errors.ts";
import { sha256 } from "../model/json.ts";

/** Where everything of one user lives. */
export interface Home {
  readonly dir: string;
  readonly config: string;
  readonly secrets: string;
  readonly trust: string;
  /** The texts that were trusted last: what they tighten outlives the files. */
  readonly trusted: string;
  /** The folders of servers that run in no project. */
  readonly run: string;
  readonly data: string;
  readonly lock: string;
  readonly logs: string;
  readonly results: string;
  readonly models: string;
  /** Makes the tokens that stand for personal data. */
  readonly piiKey: string;
  /** What clients that come over HTTP must know. */
  readonly httpToken: string;
  /** What can be made anew at any time. */
  readonly cache: string;
  readonly backups: string;
  /** Tells on an opening whether the database is the one of before. */
  readonly marker: string;
  /** How strong the sandbox was, and which weaker level the user accepted. */
  readonly sandbox: string;
  /** The tools of each server, for as long as the database cannot be read. */
  readonly catalogue: string;
}

/** The home of this environment: `$AGENTCARDS_HOME`, else `~/.agentcards`. */
export function locateHome(env: Readonly<Record<string, string | undefined>> = Deno.env.toObject()): Home {
  const base = env.HOME || env.USERPROFILE;
  const given = env.AGENTCARDS_HOME || (base ? `${base}/.agentcards` : "");
  if (!given) {
    throw new AgentCardsError("HOME_UNUSABLE", "Cannot tell where your home directory is: HOME is not set", {
      hint: "Set HOME, or AGENTCARDS_HOME to a folder of your own.",
    });
  }
  const dir = resolved(given);
  return Object.freeze({
    dir,
    config: `${dir}/config.yaml`,
    secrets: `${dir}/secrets.env`,
    trust: `${dir}/trust.json`,
    trusted: `${dir}/trusted`,
    run: `${dir}/run`,
    data: `${dir}/data`,
    lock: `${dir}/engine.lock`,
    logs: `${dir}/logs`,
    results: `${dir}/results`,
    models: `${dir}/models`,
    piiKey: `${dir}/pii.key`,
    httpToken: `${dir}/http.token`,
    cache: `${dir}/cache`,
    backups: `${dir}/backups`,
    marker: `${dir}/database.marker`,
    sandbox: `${dir}/sandbox.json`,
    catalogue: `${dir}/catalogue.json`,
  });
}

/** Makes the home and its folders, mode 0700 whatever the umask, and makes sure they can be written. */
export async function ensureHome(home: Home): Promise<void> {
  try {
    for (const dir of [home.dir, home.logs, home.results, home.backups]) {
      await Deno.mkdir(dir, { recursive: true, mode: 0o700 });
    }
    if (Deno.build.os !== "windows") await Deno.chmod(home.dir, 0o700);
    const probe = await Deno.makeTempFile({ dir: home.dir, prefix: ".write-" });
    await Deno.remove(probe);
  } catch (cause) {
    throw new AgentCardsError("HOME_UNUSABLE", `Cannot use ${home.dir}: ${messageOf(cause)}`, {
      cause,
      hint: "Make the folder writable for you, free some space, or set AGENTCARDS_HOME to another folder.",
    });
  }
}

/** Unix socket paths are limited to 108 bytes on Linux and 104 on macOS. */
const MAX_SOCKET_PATH = 100;

/** The engine's socket: in the home, or under a hash of it in the runtime directory when that path is too long. */
export async function socketPath(
  home: Home,
  env: Readonly<Record<string, string | undefined>> = Deno.env.toObject(),
): Promise<string> {
  const fits = (path: string) => new TextEncoder().encode(path).length <= MAX_SOCKET_PATH;
  const direct = `${home.dir}/engine.sock`;
  if (fits(direct)) return direct;
  const name = `agentcards-${(await sha256(home.dir)).slice(0, 16)}.sock`;
  const runtime = env.XDG_RUNTIME_DIR && `${env.XDG_RUNTIME_DIR}/${name}`;
  return runtime && fits(runtime) ? runtime : `/tmp/agentcards-${Deno.uid() ?? "user"}/${name}`;
}

/** Makes the socket's folder private when it lies outside the home, and refuses one that belongs to somebody else. */
export async function ensureSocketFolder(path: string, home: Home): Promise<void> {
  const dir = folderOf(path);
  if (dir === home.dir) return;
  await Deno.mkdir(dir, { recursive: true, mode: 0o700 }).catch(() => {});
  if (isPrivate(dir) !== true) throw notPrivate("put the engine's socket into", dir);
}

/** Refuses a socket outside the home in a folder that others can write to: what answers there may be anybody. */
export function requirePrivateSocket(path: string, home: Home): void {
  const dir = folderOf(path);
  if (dir !== home.dir && isPrivate(dir) === false) throw notPrivate("use the engine's socket in", dir);
}

const folderOf = (path: string) => path.slice(0, path.lastIndexOf("/"));

/** Whether a folder is its owner's alone and the owner is this user; undefined where there is nothing. */
function isPrivate(dir: string): boolean | undefined {
  try {
    const info = Deno.lstatSync(dir);
    return info.isDirectory && info.uid === Deno.uid() && (info.mode! & 0o077) === 0;
  } catch {
    return undefined;
  }
}

function notPrivate(action: string, dir: string): AgentCardsError {
  return new AgentCardsError("HOME_UNUSABLE", `Cannot ${action} ${dir}: it is not private to you`, {
    hint: "Set AGENTCARDS_HOME to a shorter path.",
  });
}

/**
 * The one path of a folder, whichever way it was spelled, so that all who mean it find one engine: absolute, since the
 * engine runs in another folder, and without links. What does not exist yet is kept as it is written.
 */
function resolved(path: string): string {
  if (Deno.build.os === "windows") return absolute(path);
  const whole = path.startsWith("/") ? path : `${Deno.cwd()}/${path}`;
  return realPath(whole) ?? whole.split("/").reduce((dir, part) => {
    if (part === "" || part === ".") return dir;
    if (part === "..") return folderOf(dir);
    return realPath(`${dir}/${part}`) ?? `${dir}/${part}`;
  }, "");
}

function realPath(path: string): string | undefined {
  try {
    return Deno.realPathSync(path);
  } catch {
    return undefined;
  }
}

/** `resolve` of `node:path`, which takes longer to load than all the rest of `serve`. */
function absolute(path: string): string {
  const whole = /^([A-Za-z]:)?[\\/]/.test(path) ? path : `${Deno.cwd()}/${path}`;
  const kept: string[] = [];
  for (const part of whole.split("/")) {
    if (part === "..") kept.pop();
    else if (part !== "." && part !== "") kept.push(part);
  }
  return (whole.startsWith("/") ? "/" : "") + kept.join("/");
}
