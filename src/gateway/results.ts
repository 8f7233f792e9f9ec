import type { Limits } from "../config/schema.ts";
import type { Database } from "../db/database.ts";
import { AgentCardsError } from "../model/errors.ts";
import { follow } from "../model/json.ts";
import { cut } from "../model/text.ts";

/** Large answers, each in a file of its own, for a while and within a quota. */
export interface ResultStore {
  readonly directory: string;
  write(stored: { handle: string; tool: string; json: string }): Promise<void>;
  /** Registers a file that was written into the directory under its handle. */
  register(stored: { handle: string; tool: string; bytes: number }): void;
  /** The stored value, or what `load` makes of its file. */
  read(handle: string, load?: (path: string) => Promise<unknown>): Promise<unknown>;
}

const HANDLE = /^r_[0-9a-f]{16}$/;

export function newHandle(): string {
  return `r_${crypto.getRandomValues(new Uint8Array(8)).toHex()}`;
}

export interface ResultStoreOptions {
  readonly directory: string;
  readonly database: Promise<Database | undefined>;
  readonly limits: Pick<Limits, "results_bytes" | "results_age">;
}

export function createResultStore({ directory, database, limits }: ResultStoreOptions): ResultStore {
  /** Drops what is too old and, oldest first, what is over the quota. */
  async function sweep(db: Database): Promise<void> {
    const gone = await db.query<{ handle: string }>(
      `delete from result_handle where handle in (
         select handle from (
           select handle, expires_at, sum(bytes) over (order by created_at desc, handle) as total from result_handle
         ) as held where total > $1 or expires_at < now()
       ) returning handle`,
      [limits.results_bytes],
    );
    for (const { handle } of gone) await Deno.remove(`${directory}/${handle}`).catch(() => {});
  }

  function register({ handle, tool, bytes }: { handle: string; tool: string; bytes: number }): void {
    database.then(async (db) => {
      if (!db) return;
      await db.query(
        "insert into result_handle (handle, tool, bytes, expires_at) values ($1, $2, $3, now() + $4 * interval '1 ms')",
        [handle, tool, bytes, limits.results_age],
      );
      await sweep(db);
    }).catch(() => {
      // The file is there; without its row it only lives until the folder is cleaned.
    });
  }

  return {
    directory,
    register,
    async write({ handle, tool, json }) {
      await Deno.writeTextFile(`${directory}/${handle}`, json, { mode: 0o600 });
      register({ handle, tool, bytes: json.length });
    },
    async read(handle, load = parseFile) {
      const gone = () =>
        new AgentCardsError("RESULT_GONE", `There is no stored result "${cut(handle, 40)}"`, {
          hint: "Stored results live for some days, the oldest go first when space is short. Call the tool again.",
        });
      if (!HANDLE.test(handle)) throw gone();
      try {
        return await load(`${directory}/${handle}`);
      } catch (error) {
        if (error instanceof Deno.errors.NotFound) throw gone();
        throw error;
      }
    },
  };
}

async function parseFile(path: string): Promise<unknown> {
  return JSON.parse(await Deno.readTextFile(path));
}

/** A part of a stored value: below `path`, from `offset`, at most `limit` characters or items. */
export function slice(value: unknown, options: { path?: string; offset?: number; limit?: number }): unknown {
  const found = at(value, options.path ?? "");
  const offset = options.offset ?? 0;
  if (typeof found === "string") return found.slice(offset, offset + (options.limit ?? 20_000));
  if (Array.isArray(found)) return found.slice(offset, offset + (options.limit ?? 100));
  return found;
}

/** Follows `items[0].name` and `["odd key"]`. */
function at(value: unknown, path: string): unknown {
  const steps = [...path.matchAll(/\.?([^.[\]]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/g)].map(
    ([, dotted, index, quoted]) => index !== undefined ? Number(index) : dotted ?? unescaped(quoted!),
  );
  const found = follow(value, steps);
  if ("value" in found) return found.value;
  const step = cut(String(steps[found.missing]), 60);
  throw new AgentCardsError("INPUT_INVALID", `path: there is no "${step}" here; what is here ${cut(found.there, 400)}`);
}

function unescaped(quoted: string): string {
  try {
    return JSON.parse(`"${quoted}"`);
  } catch {
    return quoted;
  }
}
