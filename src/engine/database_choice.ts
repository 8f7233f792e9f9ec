import { databaseAddress, type Home, readConfigFile } from "../config/mod.ts";
import type { RunEngine } from "../dag/mod.ts";
import type { Database, DatabaseState, HomeDatabase } from "../db/mod.ts";
import { lazyDatabase } from "../db/start.ts";
import { AgentCardsError } from "../model/mod.ts";
import { VERSION } from "../platform/mod.ts";
import { fs } from "../platform/start.ts";
import type { Redactor } from "../telemetry/mod.ts";
import { userInfo } from "node:os";
import { engineIdentity } from "./identity.ts";

export interface DatabaseChoice {
  /** The engine among those that share the database; absent where the database is the home's own. */
  readonly engine?: RunEngine;
  /** Its statements open the database. */
  readonly db: Database;
  database(): Promise<HomeDatabase>;
  /** Its present state, without waiting. */
  state(): DatabaseState;
  close(): Promise<void>;
}

export interface DatabaseMeans {
  readonly settings: {
    readonly durability: "power" | "process";
    /** The person whose engine it is; the user of the system unless told. */
    readonly owner?: string | undefined;
    /** `team`: other people's engines see the runs that begin here. */
    readonly share?: "private" | "team" | undefined;
    /** The address of a server, as the configuration has it. */
    readonly database?: string | undefined;
    /** The reason why the configuration cannot be read. */
    readonly problem?: string;
  };
  readonly redactor: Redactor;
  readonly isStillOurs?: (() => boolean) | undefined;
}

/** The rest of the engine, as its database speaks to it. */
export interface DatabaseListener {
  /** True while work is under way that must not wait. */
  isBusy(): boolean;
  /** Told of each message that an engine sends to all. */
  onMessage(message: string): void;
  onReopened(): void;
}

type DatabaseNeeds = DatabaseMeans & DatabaseListener;

/** The database that the configuration names: a PostgreSQL server, or the one in the home. Only its driver is loaded. */
export async function chooseDatabase(
  home: Home,
  means: DatabaseMeans,
  listener: DatabaseListener,
): Promise<DatabaseChoice> {
  const { settings } = means;
  const needs = { ...means, ...listener };
  // A home that shared a database does not fall back to another one because its configuration cannot be read.
  const isShared = settings.database !== undefined ||
    settings.problem !== undefined && await fs.stat(home.identity).then(() => true, () => false);
  let opening: Promise<HomeDatabase> | undefined;
  let opened: HomeDatabase | undefined;
  const load = isShared ? loadShared : loadOwn;
  const database = () => opening ??= load(home, needs).then((loaded) => opened = loaded);
  return {
    ...isShared && {
      engine: {
        ...await engineIdentity(home),
        owner: settings.owner ?? userInfo().username,
        isShared: settings.share === "team",
      },
    },
    database,
    db: lazyDatabase(async () => (await database()).database),
    state: () => opened?.state() ?? { kind: "closed" },
    async close() {
      const loaded = await opening;
      if (needs.isStillOurs?.() === false) loaded?.abandon();
      else await loaded?.close();
    },
  };
}

async function loadOwn(home: Home, needs: DatabaseNeeds): Promise<HomeDatabase> {
  const { createHomeDatabase } =
    await (import("../db/home_database.ts" as string) as Promise<typeof import("../db/home_database.ts")>);
  return createHomeDatabase({
    dataDir: home.data,
    marker: home.marker,
    backups: home.backups,
    results: home.results,
    durability: needs.settings.durability,
    version: VERSION,
    isStillOurs: needs.isStillOurs,
    isBusy: needs.isBusy,
    onReopened: needs.onReopened,
  });
}

async function loadShared(home: Home, { redactor, onMessage, onReopened }: DatabaseNeeds): Promise<HomeDatabase> {
  const { createSharedDatabase } =
    await (import("../db/shared_database.ts" as string) as Promise<typeof import("../db/shared_database.ts")>);
  return createSharedDatabase({ address: () => addressOf(home, redactor), onMessage, onReopened });
}

/** The address as the configuration has it now: what was missing at the start may be there by the next try. */
async function addressOf(home: Home, redactor: Redactor): Promise<string> {
  const { database } = await readConfigFile(home.config);
  if (database === undefined) {
    throw new AgentCardsError("CONFIG_INVALID", "The configuration names no `database` any more", {
      hint: "`agentcards engine restart` goes on with the database in the home.",
    });
  }
  const { url, secrets } = await databaseAddress(home, database);
  redactor.add(secrets);
  return url;
}
