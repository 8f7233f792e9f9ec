import { takeLock } from "../../db/start.ts";
import { AgentCardsError, createTurns, isObject, messageOf, sha256 } from "../../model/mod.ts";
import { replaceFile } from "../../platform/mod.ts";
import { fs } from "../../platform/start.ts";
import type { AuthorizationServerMetadata, OAuthClientInformationMixed } from "@modelcontextprotocol/client";

/** A configured server, as far as its sign-in is concerned. */
export interface SignInKey {
  readonly name: string;
  /** A definition with another address is another server: it gets no token of this one. */
  readonly url: string;
}

/** The tokens that an authorization server has given, and all that renewing them takes. */
export interface Grant {
  readonly access: string;
  readonly refresh?: string;
  readonly scope?: string;
  /** In milliseconds since 1970; the end only where the server named one. */
  readonly since: number;
  readonly until?: number;
  readonly issuer: string;
  readonly metadata?: AuthorizationServerMetadata;
  readonly client: OAuthClientInformationMixed;
  /** The resource that the tokens are for, as it was named when they were asked for. */
  readonly resource?: string;
}

/** The challenge of a server that refused a request. */
export interface Challenge {
  readonly scope?: string;
  /** The address of its metadata. */
  readonly metadata?: string;
}

/** All that is kept about the sign-in to one server. */
export interface SignInRecord {
  readonly grant?: Grant;
  /** Present while the server waits for a sign-in. */
  readonly challenge?: Challenge;
}

/** The file with the tokens of all servers: one for all processes of a home. */
export interface TokenFile {
  /** The record of a server, from memory unless the file has changed. */
  find(key: SignInKey): SignInRecord | undefined;
  /** Replaces a record; without a new one, or with an empty one, it is removed. */
  change(
    key: SignInKey,
    next: (before: SignInRecord | undefined) => SignInRecord | undefined,
  ): Promise<SignInRecord | undefined>;
  /** Does work that no other process and nobody in this one does for the same server meanwhile. */
  alone<T>(key: SignInKey, work: () => Promise<T>): Promise<T>;
}

export interface TokenFileOptions {
  readonly path: string;
  /** The folder of the locks. */
  readonly locks: string;
  /** Told of every secret that the file holds, before anybody gets it. */
  onSecrets(values: readonly string[]): void;
}

type Records = ReadonlyMap<string, SignInRecord & SignInKey>;

/** A renewal waits for its server twice at most, and so do those who wait for a renewal. */
const LOCK_PATIENCE_MS = 30_000;
const LOCK_LOOK_MS = 25;

export function openTokenFile({ path, locks, onSecrets }: TokenFileOptions): TokenFile {
  const inTurn = createTurns();
  let seen = "";
  let records: Records = new Map();

  /** Reads the file if it is another one than before. */
  function read(): Records {
    const stamp = stampOf(path);
    if (stamp === seen) return records;
    const found = stamp === NO_FILE ? new Map() : parse(path);
    onSecrets([...found.values()].flatMap(secretsOf));
    seen = stamp;
    return records = found;
  }

  async function locked<T>(name: string, work: () => Promise<T>): Promise<T> {
    await fs.mkdir(locks, { recursive: true, mode: 0o700 });
    const deadline = performance.now() + LOCK_PATIENCE_MS;
    for (;;) {
      await using lock = await takeLock(`${locks}/${name}.lock`);
      if (lock) return await work();
      if (performance.now() > deadline) {
        throw new AgentCardsError("HOME_UNUSABLE", "Another process is renewing a sign-in and does not come to an end");
      }
      await new Promise((resolve) => setTimeout(resolve, LOCK_LOOK_MS));
    }
  }

  return {
    find: (key) => read().get(idOf(key)),
    async change(key, next) {
      return await inTurn("file", () =>
        locked("tokens", async () => {
          const now = new Map(read());
          const before = now.get(idOf(key));
          const after = next(before);
          if (after === before) return before;
          if (after?.grant || after?.challenge) now.set(idOf(key), { ...after, ...key });
          else now.delete(idOf(key));
          if (after) onSecrets(secretsOf(after));
          const body = { version: VERSION, servers: [...now.values()] };
          await replaceFile(path, JSON.stringify(body, null, 2) + "\n", { mode: 0o600 });
          return after;
        }));
    },
    async alone(key, work) {
      const id = await sha256(idOf(key));
      return await inTurn(id, () => locked(`server-${id.slice(0, 16)}`, work));
    },
  };
}

const VERSION = 1;
const NO_FILE = "none";

const idOf = ({ name, url }: SignInKey) => `${name} ${url}`;

function stampOf(path: string): string {
  try {
    const { ino, size, mtime } = fs.statSync(path);
    return `${ino} ${size} ${mtime?.getTime()}`;
  } catch (error) {
    if (fs.isNotFound(error)) return NO_FILE;
    throw unreadable(path, error);
  }
}

function parse(path: string): Records {
  try {
    const file: unknown = JSON.parse(fs.readTextFileSync(path));
    if (!isObject(file) || file.version !== VERSION || !Array.isArray(file.servers)) {
      throw new Error("its form is unknown");
    }
    return new Map(file.servers.filter(isRecord).map((record) => [idOf(record), record]));
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** The parser's own words would quote the file. */
function unreadable(path: string, cause: unknown): AgentCardsError {
  const why = cause instanceof SyntaxError ? "it is not JSON" : messageOf(cause);
  return new AgentCardsError("HOME_UNUSABLE", `Cannot read ${path}: ${why}`, {
    hint: "Remove the file and sign in again (agentcards login SERVER).",
  });
}

function isRecord(value: unknown): value is SignInRecord & SignInKey {
  if (!isObject(value) || typeof value.name !== "string" || typeof value.url !== "string") return false;
  const { grant } = value;
  if (grant === undefined) return true;
  return isObject(grant) && typeof grant.access === "string" && typeof grant.issuer === "string" &&
    typeof grant.since === "number" && isObject(grant.client);
}

function secretsOf({ grant }: SignInRecord): string[] {
  if (!grant) return [];
  const { access, refresh, client: { client_secret } } = grant;
  return [access, refresh, client_secret].filter((value) => typeof value === "string");
}
