import type { Home } from "../config/mod.ts";
import { identityOf } from "../db/mod.ts";
import { isObject } from "../model/mod.ts";
import { readChecked, writeChecked } from "../platform/mod.ts";
import { hostname } from "node:os";

/** The name of this home's engine among those that share a database: the same after a restart. */
export interface EngineIdentity {
  readonly id: string;
  readonly host: string;
}

/**
 * Reads the identity of a home, or makes one. It holds for this folder of this machine only: a copy of the home is
 * another engine, which must not take the runs of the first one for its own.
 */
export async function engineIdentity(home: Home): Promise<EngineIdentity> {
  const host = hostname();
  const place = `${host} ${home.dir} ${identityOf(home.dir)}`;
  const known = await readChecked(home.identity);
  if (isObject(known) && known.place === place && typeof known.id === "string") return { id: known.id, host };
  const id = `en_${crypto.getRandomValues(new Uint8Array(8)).toHex()}`;
  await writeChecked(home.identity, JSON.stringify({ id, place }));
  return { id, host };
}
