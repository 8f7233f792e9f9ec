import { AgentCardsError } from "../model/mod.ts";
import { rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { moveDatabase, type MovedTable } from "./move.ts";
import { openDatabase } from "./pglite/open.ts";
import { openPostgres, type ServerDatabase } from "./postgres/open.ts";

export interface MovingHome {
  readonly data: string;
  readonly marker: string;
  readonly backups: string;
  readonly identity: string;
}

export interface Move {
  readonly url: string;
  /** True: from the server into the home. */
  readonly isBack: boolean;
  /** The engine whose runs they are from now on. */
  readonly engine: { readonly id: string; readonly host: string; readonly owner: string };
}

export interface Moved {
  readonly moved: readonly MovedTable[];
  /** The folder of what lay in the home before. */
  readonly kept?: string;
}

/** Moves the database of a home to a server or back. Whoever calls holds the home's lock. */
export async function moveHome(home: MovingHome, move: Move): Promise<Moved> {
  const server = await openPostgres(move.url);
  try {
    return move.isBack ? await moveBack(home, server, move) : { moved: await moveOut(home, server, move) };
  } finally {
    await server.close();
  }
}

async function moveOut(home: MovingHome, server: ServerDatabase, { engine }: Move): Promise<readonly MovedTable[]> {
  const own = await openDatabase(home.data);
  try {
    const moved = await moveDatabase(own, server);
    // The folders of these runs are folders of this machine.
    await server.query(
      "update workflow_run set engine = $1, host = $2, owner = $3, share = 'private' where engine is null",
      [engine.id, engine.host, engine.owner],
    );
    return moved;
  } finally {
    await own.close();
  }
}

async function moveBack(home: MovingHome, server: ServerDatabase, { engine }: Move): Promise<Moved> {
  await requireAlone(server, engine.id);
  const draft = `${home.data}.moving`;
  await rm(draft, { recursive: true, force: true });
  const own = await openDatabase(draft);
  const moved = await moveDatabase(server, own).finally(own.close);
  const hadData = await stat(home.data).then(() => true, () => false);
  const kept = join(home.backups, `data-before-${new Date().toISOString().replaceAll(":", "-")}`);
  if (hadData) await rename(home.data, kept);
  await rename(draft, home.data);
  // They tell of the database that lay there before, and of a shared one.
  for (const file of [home.marker, `${home.marker}.last`, home.identity, `${home.identity}.last`]) {
    await rm(file, { force: true });
  }
  return { moved, ...hadData && { kept } };
}

const ALIVE_S = 60;

/** The runs of other engines would be in two places. */
async function requireAlone(server: ServerDatabase, id: string): Promise<void> {
  const others = await server.query<{ host: string; home: string }>(
    `select host, home from engine where id <> $1 and state <> 'ended' and seen_at > now() - $2 * interval '1 s'`,
    [id, ALIVE_S],
  );
  if (others.length === 0) return;
  throw new AgentCardsError(
    "ENGINE_BUSY",
    `Other engines use the database: ${others.map(({ host, home }) => `${host} ${home}`).join(", ")}`,
    { hint: "Stop them with `agentcards engine stop`, or leave the database where it is." },
  );
}
