import type { ServerConfig } from "../../config/mod.ts";
import type { Database } from "../../db/mod.ts";
import { isNoDatabase } from "../../db/start.ts";
import { type Era, isEra, type ListName } from "../../mcp/mod.ts";
import {
  canonicalJson,
  type Catalogue,
  createBreather,
  cut,
  messageOf,
  sha256,
  type Tool,
  toolId,
  within,
} from "../../model/mod.ts";
import { log } from "../../telemetry/mod.ts";
import { fs } from "../../platform/start.ts";
import { dirname } from "node:path";
import { createCatalogueTables } from "../stores/catalogue_store.ts";
import { type FiledCatalogue, openCatalogueFile } from "./file.ts";

/** The facts about a server that are known without starting it. */
export interface KnownServer {
  readonly catalogue: Catalogue;
  /** The protocol it speaks, while that is fresh enough to rely on. */
  readonly era?: Era;
  readonly startMs?: number;
  /** The time of its last list, in milliseconds since 1970. */
  readonly seenAt?: number;
}

/** A server that has just told what it offers. */
type StartedServer = Required<Omit<KnownServer, "seenAt">>;

/** A known server with its tools at hand. */
export interface Remembered extends KnownServer {
  readonly byName: ReadonlyMap<string, Tool>;
}

/** The last failure of a server, with its time in milliseconds since 1970. */
export interface Failure {
  readonly reason: string;
  readonly at: number;
}

/** The memory of what servers offer, kept in the database and in front of it. */
export interface CatalogueStore {
  /** The catalogue in memory; the hot path must not wait for a hash or the database. */
  peek(server: ServerConfig): Remembered | undefined;
  find(server: ServerConfig): Promise<KnownServer | undefined>;
  /** Remembers what a server offers; with that, it has started well. */
  save(server: ServerConfig, known: StartedServer): Promise<void>;
  /** Remembers what went wrong with a server. */
  noteFailure(server: ServerConfig, reason: string): Promise<void>;
  lastFailure(server: ServerConfig): Promise<Failure | undefined>;
  /** Forgets a failure whose cause the user may have mended. */
  forgetFailure(server: ServerConfig): Promise<void>;
  /** True if a server is known to offer more than tools; known without the database, which may still be opening. */
  offersMore(server: ServerConfig): Promise<boolean>;
  /** Waits until the copies in the file and, where it answers, in the database are up to date. */
  settled(): Promise<void>;
}

/** An upgraded server still answers the old handshake, so only time retires such a verdict. */
const ERA_KEPT_MS = 24 * 3_600_000;

/** A call waits so long for what only the database knows. */
const DATABASE_PATIENCE_MS = 3_000;

/** Lists are kept in characters of JSON: up to so many on disk, for each server, and in memory, for all together. */
const LARGEST_KEPT = 1_000_000;
const MOST_REMEMBERED = 64_000_000;

/** The size of a catalogue in characters of JSON. */
async function sizeOf({ tools, offers }: Catalogue): Promise<number> {
  const breathe = createBreather();
  let size = JSON.stringify(offers ?? {}).length;
  for (const tool of tools) {
    await breathe();
    size += JSON.stringify(tool).length;
  }
  return size;
}

/** The hash of a definition: of everything but the values of its variables, and of the folder it belongs to. */
export function fingerprint(server: ServerConfig): Promise<string> {
  const { name, command, args, cwd, folder, url, transport, env, headers } = server;
  return sha256(canonicalJson({
    name,
    command,
    args,
    cwd,
    // No list of a project's folder stands for another's, or for that of a program that runs in none.
    ...command !== undefined && { folder: folder ?? "neutral" },
    url,
    transport,
    env: Object.keys(env ?? {}).sort(),
    headers: Object.keys(headers ?? {}).sort(),
  }));
}

export interface CatalogueFiles {
  /** The file with a copy of all catalogues. */
  readonly copy: string;
  /** The file that says which servers offer more than tools. */
  readonly hints: string;
  /** Told when it says something else. */
  onHint(): Promise<void>;
}

/** A store over a database that may still be opening; without one it remembers for as long as the engine lives. */
export function createCatalogueStore(
  db: Database,
  { copy, hints, onHint }: CatalogueFiles,
): CatalogueStore {
  const tables = createCatalogueTables(db);
  const memory = new Map<string, Remembered>();
  const sizes = new Map<string, number>();
  const failures = new Map<string, Failure | undefined>();
  /** One list after another: an older one must not be written over a newer one. */
  let mirroring: Promise<void> = Promise.resolve();
  const file = openCatalogueFile(copy);
  let isFileEmpty: Promise<boolean> | undefined;
  const keys = new WeakMap<ServerConfig, string>();
  const offering = readHints(hints);

  /** `size`: told with each new list; of one that was kept it is small. */
  function remember(key: string, known: KnownServer, size = sizes.get(key) ?? 0): void {
    memory.delete(key);
    sizes.set(key, size);
    let together = sizes.values().reduce((sum, one) => sum + one, 0);
    for (const oldest of memory.keys()) {
      if (together <= MOST_REMEMBERED) break;
      together -= sizes.get(oldest) ?? 0;
      memory.delete(oldest);
      sizes.delete(oldest);
    }
    memory.set(key, { ...known, byName: new Map(known.catalogue.tools.map((tool) => [tool.name, tool])) });
    hint(key, known.catalogue.offers !== undefined).catch(() => {});
  }

  /** A client is told at once, before the database is open, whether there are resources: a file beside it says so. */
  async function hint(key: string, isOffering: boolean): Promise<void> {
    const known = await offering;
    if (known.has(key) === isOffering) return;
    if (isOffering) known.add(key);
    else known.delete(key);
    await fs.mkdir(dirname(hints), { recursive: true, mode: 0o700 });
    await fs.writeTextFile(hints, JSON.stringify([...known]), { mode: 0o600 });
    await onHint();
  }

  /** A database that fails costs what it knows, not the call that asks. */
  async function load(key: string, server: string): Promise<KnownServer | undefined> {
    const filed = await file.get(key);
    if (filed) return fromFile(filed, server);
    isFileEmpty ??= file.isEmpty();
    // A home of an older version, or one that came out of a backup.
    if (!await isFileEmpty) return undefined;
    const known = await within(loadFromDatabase(key, server), DATABASE_PATIENCE_MS, "it is not open yet").catch(
      (error) => {
        if (!isNoDatabase(error)) log("warning", "catalogue_not_read", { server, reason: messageOf(error) });
        return undefined;
      },
    );
    if (known) void file.put(key, { ...known, eraAt: Date.now() });
    return known;
  }

  async function loadFromDatabase(key: string, server: string): Promise<KnownServer | undefined> {
    const row = await tables.find(key);
    if (!row) return undefined;
    const freshEra = isEra(row.era) && Number(row.era_age_ms) < ERA_KEPT_MS;
    return Object.freeze({
      catalogue: Object.freeze({
        tools: Object.freeze(
          row.tools.map(({ name, hash, definition }) =>
            Object.freeze({ ...JSON.parse(definition), id: toolId(server, name), server, name, hash }) as Tool
          ),
        ),
        dropped: row.dropped,
        repaired: row.repaired,
        ...row.instructions !== null && { instructions: row.instructions },
        ...row.offers && { offers: row.offers },
      }),
      ...freshEra && { era: row.era as Era },
      ...row.start_ms !== null && { startMs: row.start_ms },
      ...row.era_age_ms !== null && { seenAt: Date.now() - Number(row.era_age_ms) },
    });
  }

  return {
    peek: (server) => memory.get(keys.get(server) ?? ""),
    async find(server) {
      const key = await fingerprint(server);
      keys.set(server, key);
      const remembered = memory.get(key);
      if (remembered) return remembered;
      const known = await load(key, server.name);
      if (known) remember(key, known);
      return known;
    },
    async save(server, known) {
      const key = await fingerprint(server);
      keys.set(server, key);
      const size = await sizeOf(known.catalogue);
      remember(key, { ...known, seenAt: Date.now() }, size);
      failures.set(key, undefined);
      if (size > LARGEST_KEPT) {
        log("warning", "catalogue_not_kept", { server: server.name, reason: `its lists have ${size} characters` });
        return void file.put(key, undefined);
      }
      // Nobody waits for the disk here.
      void file.put(key, { ...known, eraAt: Date.now() });
      mirroring = mirroring.then(() => tables.put(key, server.name, known)).catch((error) => {
        if (isNoDatabase(error)) return;
        log("warning", "catalogue_not_kept", { server: server.name, reason: messageOf(error) });
      });
    },
    async noteFailure(server, given) {
      const key = await fingerprint(server);
      const reason = cut(given, 2_000);
      failures.set(key, { reason, at: Date.now() });
      void tables.putFailure(key, reason).catch((error) =>
        log("debug", "failure_not_kept", { reason: messageOf(error) })
      );
    },
    async forgetFailure(server) {
      const key = await fingerprint(server);
      failures.set(key, undefined);
      void tables.removeFailure(key).catch((error) =>
        log("debug", "failure_not_forgotten", { reason: messageOf(error) })
      );
    },
    async settled() {
      await file.settled();
      await within(mirroring, DATABASE_PATIENCE_MS, "the database does not answer").catch(() => {});
    },
    offersMore: async (server) => (await offering).has(await fingerprint(server)),
    async lastFailure(server) {
      const key = await fingerprint(server);
      if (failures.has(key)) return failures.get(key);
      return await within(tables.failure(key), DATABASE_PATIENCE_MS, "the database does not answer")
        .catch(() => undefined);
    },
  };
}

/** A filed catalogue as it is used; an era that was seen too long ago is left out. */
function fromFile({ catalogue, era, eraAt = 0, startMs }: FiledCatalogue, server: string): KnownServer {
  const tools = catalogue.tools.map((tool) => Object.freeze({ ...tool, id: toolId(server, tool.name), server }));
  return Object.freeze({
    catalogue: Object.freeze({ ...catalogue, tools: Object.freeze(tools) }),
    ...era && Date.now() - eraAt < ERA_KEPT_MS && { era },
    ...startMs !== undefined && { startMs },
    ...eraAt > 0 && { seenAt: eraAt },
  });
}

/** Reads the hints; a missing or damaged file has none. */
async function readHints(path: string): Promise<Set<string>> {
  try {
    const keys: unknown = JSON.parse(await fs.readTextFile(path));
    return new Set(Array.isArray(keys) ? keys.filter((key) => typeof key === "string") : []);
  } catch {
    return new Set();
  }
}

/** The tools that are new, gone or defined otherwise. */
export function changedTools(before: Catalogue | undefined, now: Catalogue): string[] {
  if (!before) return [];
  const hashes = new Map(before.tools.map(({ name, hash }) => [name, hash]));
  const changed = now.tools.filter(({ name, hash }) => hashes.get(name) !== hash).map(({ name }) => name);
  const here = new Set(now.tools.map(({ name }) => name));
  return [...changed, ...[...hashes.keys()].filter((name) => !here.has(name))];
}

/** The lists that differ from before. */
export function changedLists(before: Catalogue | undefined, now: Catalogue): ListName[] {
  const listed = ({ tools = [], offers }: Partial<Catalogue> = {}): Record<ListName, unknown> => ({
    tools: tools.map(({ id, hash }) => [id, hash]),
    resources: [offers?.resources ?? [], offers?.templates ?? []],
    prompts: offers?.prompts ?? [],
  });
  const [then, these] = [listed(before), listed(now)];
  const names = Object.keys(these) as ListName[];
  return names.filter((name) => JSON.stringify(then[name]) !== JSON.stringify(these[name]));
}
