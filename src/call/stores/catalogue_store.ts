import type { Database } from "../../db/mod.ts";
import type { Catalogue, Offers, Tool, ToolNote } from "../../model/mod.ts";

/** A server's lists as their tables have them. */
export interface CatalogueRow {
  readonly era: unknown;
  readonly era_age_ms: number | null;
  readonly instructions: string | null;
  readonly dropped: ToolNote[];
  readonly repaired: ToolNote[];
  readonly start_ms: number | null;
  readonly offers: Offers | null;
  readonly tools: readonly { readonly name: string; readonly hash: string; readonly definition: string }[];
}

export interface FailureRow {
  readonly reason: string;
  readonly at: number;
}

export interface PutCatalogue {
  readonly catalogue: Catalogue;
  readonly era: unknown;
  readonly startMs: number;
}

/** The tables of what servers offer, by the fingerprint of a server's definition. */
export function createCatalogueTables(db: Database) {
  return {
    async find(fingerprint: string): Promise<CatalogueRow | undefined> {
      const [row] = await db.query<Omit<CatalogueRow, "tools">>(
        `select era, extract(epoch from now() - era_at) * 1000 as era_age_ms, instructions, dropped, repaired, start_ms,
           offers
         from server_catalogue where fingerprint = $1`,
        [fingerprint],
      );
      if (!row) return undefined;
      const tools = await db.query<CatalogueRow["tools"][number]>(
        "select name, hash, definition from tool_schema where fingerprint = $1 order by position",
        [fingerprint],
      );
      return { ...row, tools };
    },
    /** Replaces all that is there of a server; with that, it has started well. */
    async put(fingerprint: string, server: string, { catalogue, era, startMs }: PutCatalogue): Promise<void> {
      const { tools, dropped, repaired, instructions = null, offers = null } = catalogue;
      const rows = tools.map(({ name, hash, id: _id, server: _server, ...definition }, position) => ({
        name,
        hash,
        position,
        definition: JSON.stringify(definition),
      }));
      await db.transaction(async (tx) => {
        await tx.query("delete from server_catalogue where fingerprint = $1", [fingerprint]);
        await tx.query("delete from server_failure where fingerprint = $1", [fingerprint]);
        await tx.query(
          `insert into server_catalogue
             (fingerprint, server, era, era_at, instructions, dropped, repaired, start_ms, offers)
           values ($1, $2, $3, now(), $4, $5, $6, $7, $8)`,
          [fingerprint, server, era, instructions, [...dropped], [...repaired], Math.round(startMs), offers],
        );
        await tx.query(
          `insert into tool_schema (fingerprint, name, position, hash, definition)
           select $1, name, position, hash, definition
           from jsonb_to_recordset($2::jsonb) as t(name text, position integer, hash text, definition text)`,
          [fingerprint, rows],
        );
      }, { isLazy: true });
    },
    async putFailure(fingerprint: string, reason: string): Promise<void> {
      await db.query(
        `insert into server_failure (fingerprint, reason) values ($1, $2)
         on conflict (fingerprint) do update set reason = $2, at = now()`,
        [fingerprint, reason],
        { isLazy: true },
      );
    },
    async removeFailure(fingerprint: string): Promise<void> {
      await db.query("delete from server_failure where fingerprint = $1", [fingerprint]);
    },
    async failure(fingerprint: string): Promise<FailureRow | undefined> {
      const [row] = await db.query<FailureRow>(
        "select reason, extract(epoch from at)::float8 * 1000 as at from server_failure where fingerprint = $1",
        [fingerprint],
      );
      return row;
    },
    /** The definitions of all tools of all servers, without what is not in them. */
    async definitions(): Promise<(Pick<Tool, "server" | "name" | "annotations">)[]> {
      const rows = await db.query<{ server: string; name: string; definition: string }>(
        "select server, name, definition from tool_schema join server_catalogue using (fingerprint)",
      );
      return rows.map(({ server, name, definition }) => ({ ...JSON.parse(definition), server, name }));
    },
  };
}
