import type { Database } from "./database.ts";
import type { OpenOptions } from "./pglite/open.ts";
import type { PostgresOptions } from "./postgres/open.ts";

/** The place of a database, and the options of its driver. */
export type Place =
  | { readonly folder: string; readonly options?: OpenOptions }
  | { readonly url: string; readonly options?: PostgresOptions };

/** Opens a database by the driver of its place: PGlite in a folder, or a PostgreSQL server. Only that driver is loaded. */
export async function openDatabaseAt(place: Place): Promise<Database> {
  if ("url" in place) return await (await import("./postgres/open.ts")).openPostgres(place.url, place.options);
  return await (await import("./pglite/open.ts")).openDatabase(place.folder, place.options);
}
