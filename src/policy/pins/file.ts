import { existsSync } from "node:fs";
import { z } from "../../../deps.ts";
import type { JsonObject } from "../../model/mod.ts";
import { readChecked, writeChecked } from "../../platform/mod.ts";

/** A definition that a server lists now and that nobody accepted. */
export interface PendingPin {
  readonly hash: string;
  /** Absent where the definition is too large to be kept. */
  readonly definition?: JsonObject | undefined;
  readonly since: number;
  /** The reason of the quarantine; absent for a change that passed: the pinned text goes on to be shown. */
  readonly why?: string | undefined;
}

/** One pinned definition. */
export interface Pin {
  /** The hash of the accepted definition; absent where none was accepted yet. */
  readonly hash?: string | undefined;
  readonly definition?: JsonObject | undefined;
  readonly since: number;
  /** True for a tool that a pinned server added and nobody looked at. */
  readonly isNew?: boolean | undefined;
  readonly pending?: PendingPin | undefined;
}

/** The pins of one server in one place. */
export interface PinnedServer {
  readonly server: string;
  readonly folder?: string | undefined;
  identity: string;
  identityChangedAt?: number | undefined;
  readonly items: Map<string, Pin>;
}

const TEXT = z.string().max(4_000);
const DEFINITION = z.record(z.string(), z.unknown()).optional() as unknown as z.ZodType<JsonObject | undefined>;
const PENDING = z.object({
  hash: TEXT,
  definition: DEFINITION,
  since: z.number(),
  why: TEXT.optional(),
});
const PIN = z.object({
  hash: TEXT.optional(),
  definition: DEFINITION,
  since: z.number(),
  isNew: z.boolean().optional(),
  pending: PENDING.optional(),
});
const FILE = z.array(z.object({
  server: TEXT,
  folder: TEXT.optional(),
  identity: TEXT,
  identityChangedAt: z.number().optional(),
  items: z.array(z.tuple([TEXT, PIN])),
}));

/** The pins of a file: `isLost` if neither the file nor its last good copy can be read. */
export async function readPins(path: string): Promise<{ servers: PinnedServer[]; isLost: boolean }> {
  const value = await readChecked(path);
  const { data } = FILE.safeParse(value);
  if (data) return { servers: data.map((one) => ({ ...one, items: new Map(one.items) })), isLost: false };
  return { servers: [], isLost: existsSync(path) || existsSync(`${path}.last`) };
}

export async function writePins(path: string, servers: Iterable<PinnedServer>): Promise<void> {
  await writeChecked(path, JSON.stringify([...servers].map((one) => ({ ...one, items: [...one.items] }))));
}
