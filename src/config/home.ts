import { AgentCardsError, messageOf, sha256 } from "../model/start.ts";
import { type FileInfo, fs, system } from "../platform/start.ts";

/** Where everything of one user lives. */
export interface Home {
  readonly dir: string;
  readonly config: string;
  readonly secrets: string;
  /** The names of the values in the system's keyring. */
  readonly keyring: string;
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
  /** The tokens of remote servers that the user has signed in to. */
  readonly tokens: string;
  /** What can be made anew at any time. */
  readonly cache: string;
  readonly backups: string;
  /** Tells on an opening whether the database is the one of before. */
  readonly marker: string;
  /** How strong the sandbox was, and which weaker level the user accepted. */
  readonly sandbox: string;
  /** The record of every call, in files that are chained and signed. */
  readonly audit: string;
  /** The accepted definitions of every server. */
  readonly pins: string;
  /** The tools that a person allowed for good. */
  readonly grants: string;
  /** The arguments of calls, a file for each day. */
  readonly history: string;
  /** Saved workflows, a file each. */
  readonly workflows: string;
  /** The user's own prompts, a file each. */
  readonly prompts: string;
  /** The tools of each server, for as long as the database cannot be read. */
  readonly catalogue: string;
  /** Events of clients that no engine has taken yet, a file each. */
  readonly hooks: string;
  /** The key that hooks of clients show, and the files that they were written into. */
  readonly hookKeys: string;
  /** The variables of the runtime's exporter of telemetry. */
  readonly exporter: string;
  /** The copy of figures to another database: its cursor, and rows that wait. */
  readonly analytics: string;
  /** The files of repositories before and after what changed them. */
  readonly snapshots: string;
  /** The reports of supervisors. */
  readonly reports: string;
  /** The ends of agent tasks so far, by kind of task. */
  readonly agents: string;
  /** The name of its engine among those that share a database. */
  readonly identity: string;
}

/** The home of this environment: `$AGENTCARDS_HOME`, else `~/.agentcards`. */
export function locateHome(env: Readonly<Record<string, string | undefined>> = system.env()): Home {
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
    keyring: `${dir}/keyring.names`,
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
    tokens: `${dir}/tokens.json`,
    cache: `${dir}/cache`,
    backups: `${dir}/backups`,
    marker: `${dir}/database.marker`,
    sandbox: `${dir}/sandbox.json`,
    audit: `${dir}/audit`,
    pins: `${dir}/pins.json`,
    grants: `${dir}/grants.json`,
    history: `${dir}/history`,
    workflows: `${dir}/workflows`,
    prompts: `${dir}/prompts`,
    catalogue: `${dir}/catalogue.json`,
    hooks: `${dir}/hooks`,
    hookKeys: `${dir}/hooks.json`,
    exporter: `${dir}/exporter.json`,
    analytics: `${dir}/analytics`,
    snapshots: `${dir}/snapshots`,
    reports: `${dir}/reports.jsonl`,
    agents: `${dir}/agents.json`,
    identity: `${dir}/engine.json`,
  });
}

/** Makes the home and its folders, mode 0700 whatever the umask, and makes sure they can be written. */
export async function ensureHome(home: Home): Promise<void> {
  try {
    for (const dir of [home.dir, home.logs, home.results, home.backups]) {
      await fs.mkdir(dir, { recursive: true, mode: 0o700 });
    }
    if (system.os !== "windows") await fs.chmod(home.dir, 0o700);
    const probe = await fs.makeTempFile({ dir: home.dir, prefix: ".write-" });
    await fs.remove(probe);
  } catch (cause) {
    throw new AgentCardsError("HOME_UNUSABLE", `Cannot use ${home.dir}: ${messageOf(cause)}`, {
      cause,
      hint: "Make the folder writable for you, free some space, or set AGENTCARDS_HOME to another folder.",
    });
  }
}

/** Unix socket paths are limited to 108 bytes on Linux and 104 on macOS. */
const MAX_SOCKET_PATH = 100;

/**
 * The engine's socket: in the home, or under a hash of it where that path is too long: in the runtime directory, else in a
 * folder of the user's own. Never where others can write: somebody else could be there first.
 */
export async function socketPath(
  home: Home,
  env: Readonly<Record<string, string | undefined>> = system.env(),
): Promise<string> {
  const fits = (path: string) => new TextEncoder().encode(path).length <= MAX_SOCKET_PATH;
  const direct = `${home.dir}/engine.sock`;
  if (fits(direct)) return direct;
  const name = `agentcards-${(await sha256(home.dir)).slice(0, 16)}.sock`;
  const folders = [env.XDG_RUNTIME_DIR, env.HOME && `${env.HOME}/.agentcards-sockets`];
  const path = folders.filter(Boolean).map((folder) => `${folder}/${name}`).find(fits);
  if (path !== undefined) return path;
  throw new AgentCardsError("HOME_UNUSABLE", `The path ${direct} is too long for a socket`, {
    hint: "Set AGENTCARDS_HOME to a shorter path, or XDG_RUNTIME_DIR to a folder of your own.",
  });
}

/** Makes the socket's folder private when it lies outside the home, and refuses one that belongs to somebody else. */
export async function ensureSocketFolder(path: string, home: Home): Promise<void> {
  const dir = folderOf(path);
  if (dir === home.dir) return;
  await fs.mkdir(dir, { recursive: true, mode: 0o700 }).catch(() => {});
  const info = look(dir);
  if (!info || !isOwnFolder(info, OTHERS)) throw notPrivate("put the engine's socket into", dir);
}

/** Bits of a mode: anything for others, and writing for others. */
const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;

/** Refuses a home that belongs to another user, who would be told everything. */
export function requireOwnHome(home: Home): void {
  const info = look(home.dir);
  if (info && system.os !== "windows" && info.uid !== system.uid()) {
    throw new AgentCardsError("HOME_UNUSABLE", `Cannot use ${home.dir}: it belongs to another user`, {
      hint: "Set AGENTCARDS_HOME to a folder of your own.",
    });
  }
}

/**
 * Refuses a socket that another user can have made: a client tells its engine variables. A path without a socket passes,
 * there is nobody to speak to.
 */
export function requireOwnSocket(path: string, home: Home): void {
  if (system.os === "windows") return;
  const socket = look(path);
  if (!socket) return;
  if (!socket.isSocket || socket.uid !== system.uid() || (socket.mode! & OTHERS) !== 0) {
    throw notPrivate("use the engine's socket", path);
  }
  const dir = folderOf(path);
  const info = look(dir);
  // Others may read the home until the engine has closed it to them, which is no harm to the socket.
  if (!info || !isOwnFolder(info, dir === home.dir ? OTHERS_WRITE : OTHERS)) {
    throw notPrivate("use the engine's socket in", dir);
  }
}

const folderOf = (path: string) => path.slice(0, path.lastIndexOf("/"));

function look(path: string): FileInfo | undefined {
  try {
    return fs.lstatSync(path);
  } catch {
    return undefined;
  }
}

/** Whether this is a folder of this user, no link, without these rights for others. */
function isOwnFolder({ isDirectory, uid, mode }: FileInfo, forbidden: number): boolean {
  return isDirectory && uid === system.uid() && (mode! & forbidden) === 0;
}

function notPrivate(action: string, path: string): AgentCardsError {
  return new AgentCardsError("HOME_UNUSABLE", `Cannot ${action} ${path}: it is not private to you`, {
    hint: `Look whose it is (ls -ld '${path}'); if it is yours, run: chmod go-rwx '${path}'. If not, set ` +
      "AGENTCARDS_HOME to a short path of your own.",
  });
}

/**
 * The one path of a folder, whichever way it was spelled, so that all who mean it find one engine: absolute, since the
 * engine runs in another folder, and without links. What does not exist yet is kept as it is written.
 */
function resolved(path: string): string {
  if (system.os === "windows") return absolute(path);
  const whole = path.startsWith("/") ? path : `${system.cwd()}/${path}`;
  return realPath(whole) ?? whole.split("/").reduce((dir, part) => {
    if (part === "" || part === ".") return dir;
    if (part === "..") return folderOf(dir);
    return realPath(`${dir}/${part}`) ?? `${dir}/${part}`;
  }, "");
}

function realPath(path: string): string | undefined {
  try {
    return fs.realPathSync(path);
  } catch {
    return undefined;
  }
}

/** `resolve` of `node:path`, which takes longer to load than all the rest of `serve`. */
function absolute(path: string): string {
  const whole = /^([A-Za-z]:)?[\\/]/.test(path) ? path : `${system.cwd()}/${path}`;
  const kept: string[] = [];
  for (const part of whole.split("/")) {
    if (part === "..") kept.pop();
    else if (part !== "." && part !== "") kept.push(part);
  }
  return (whole.startsWith("/") ? "/" : "") + kept.join("/");
}
