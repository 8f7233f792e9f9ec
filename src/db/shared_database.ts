import { AgentCardsError } from "../model/mod.ts";
import { installation } from "../platform/start.ts";
import { type HomeDatabase, PROBE, sizeOf } from "./kept_database.ts";
import { openPostgres, placeOf } from "./postgres/open.ts";
import { superviseDatabase } from "./supervisor.ts";

export interface SharedDatabaseOptions {
  /** The address of the server, with its password: asked for anew with each opening. */
  address(): Promise<string>;
  /** Told of each message that an engine sends to all. */
  onMessage(message: string): void;
  /** Told after the server was away and is back. */
  onReopened(): void;
  /** The waits before the server is tried again. */
  readonly retryAfterMs?: readonly number[];
}

/** The channel on which engines tell each other what is new. */
const CHANNEL = "agentcards";
/** A server that restarts is back within seconds; a try costs next to nothing. */
const RETRY_AFTER_MS = [100, 250, 500, 1_000, 2_000, 5_000, 10_000];

/** The database on a PostgreSQL server as an engine uses it. The server keeps it: its backups are the server's own. */
export function createSharedDatabase(options: SharedDatabaseOptions): HomeDatabase {
  const { address, onMessage, onReopened, retryAfterMs = RETRY_AFTER_MS } = options;
  let place = "that the configuration names";

  const supervised = superviseDatabase({
    async open(onDeath) {
      // The migrations of another version must not run under this one.
      await installation.unchanged();
      const url = await address();
      place = placeOf(url);
      // What is lost during the opening is the opening's own error.
      let isUsed = false;
      const db = await openPostgres(url, {
        onLost(reason) {
          if (!isUsed) return;
          isUsed = false;
          onDeath(reason);
          // The statements under way may still be answered.
          void db.close();
        },
      });
      await db.listen(CHANNEL, onMessage);
      isUsed = true;
      return db;
    },
    onReopened,
    retryAfterMs,
  });

  return {
    database: supervised.database,
    ready: supervised.ready,
    state: supervised.state,
    close: supervised.close,
    abandon: supervised.abandon,
    accept: supervised.retry,
    giveUp: supervised.giveUp,
    probe: () => supervised.database.exec(PROBE),
    bytes: () => sizeOf(supervised.database),
    backup: () =>
      Promise.reject(
        new AgentCardsError("USAGE", `The database is on the server ${place}, not in this home`, {
          hint: "Back it up there, with pg_dump for example.",
        }),
      ),
  };
}
