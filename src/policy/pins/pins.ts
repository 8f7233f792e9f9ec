import { AgentCardsError, createBreather, createTurns, type JsonObject, messageOf } from "../../model/mod.ts";
import { log } from "../../telemetry/mod.ts";
import type { Audit } from "../audit/audit.ts";
import type { Names } from "../lint/names.ts";
import { canonicalHash, type Identity, type PinKind } from "./definition.ts";
import { type Pin, type PinnedServer, readPins, writePins } from "./file.ts";
import { type PinnedLists, type PinPreset, type RawLists, splitItemKey } from "./lists.ts";
import { type Settled, settleLists } from "./settle.ts";

/** A configured server in the folder it runs in. */
export interface PinTarget {
  readonly name: string;
  readonly folder?: string | undefined;
}

/** One look at the lists of a server. */
export interface Look {
  readonly identity: Identity;
  readonly lists: RawLists;
  readonly preset: PinPreset;
  /** The names of other servers and of their tools, for the lint. */
  readonly others: () => Names;
}

/** An entry that agents do not get, with the reason. */
export interface WithheldEntry {
  readonly kind: PinKind;
  readonly name: string;
  readonly why: string;
}

/** What a person has to judge about one entry of a server. */
export interface ReviewItem {
  readonly kind: PinKind;
  readonly name: string;
  /** `changed`: withheld; `passed`: the pinned text is shown; `new`: in use; `new_withheld`. */
  readonly state: "changed" | "passed" | "new" | "new_withheld";
  readonly why: string | null;
  readonly since: number;
  readonly before: JsonObject | null;
  /** Null where the definition is too large to be kept. */
  readonly after: JsonObject | null;
}

/** What a person has to judge about a server; `hash` binds the word to exactly this. */
export interface ServerReview {
  readonly server: string;
  readonly folder: string | null;
  readonly hash: string;
  readonly identityChangedAt: number | null;
  readonly items: readonly ReviewItem[];
}

/** The accepted definitions of all servers. */
export interface Pins {
  /** Judges the lists of a server and gives them as agents may see them. */
  look(target: PinTarget, look: Look): Promise<PinnedLists>;
  /** The reason why an entry is withheld, from memory: of a server that was looked at or whose pins were loaded. */
  withheld(target: PinTarget, kind: PinKind, name: string): string | undefined;
  /** Everything that is withheld of a server. */
  withheldOf(target: PinTarget): readonly WithheldEntry[];
  /** The tools of a server that came after it was pinned and were not reviewed. */
  newOf(target: PinTarget): readonly string[];
  /** Waits until the file was read. */
  ready(): Promise<void>;
  review(server?: string): Promise<ServerReview[]>;
  /** Accepts what a review showed. */
  accept(review: Pick<ServerReview, "server" | "folder" | "hash">): Promise<number>;
  /** The problem of the file, if it and its copy could not be read. */
  problem(): string | undefined;
  settled(): Promise<void>;
}

export interface PinOptions {
  readonly path: string;
  readonly audit: Pick<Audit, "append">;
  readonly now?: () => number;
  /** Hears of an entry that was withheld; for a notification. */
  readonly onQuarantine?: (server: string, entries: readonly WithheldEntry[]) => void;
}

/** The key of a server's pins. */
const targetKey = ({ name, folder }: PinTarget) => JSON.stringify([name, folder ?? null]);

/** The pins of a home. The file is read with the first use. */
export function openPins({ path, audit, now = Date.now, onQuarantine }: PinOptions): Pins {
  const servers = new Map<string, PinnedServer>();
  const inTurn = createTurns();
  let loading: Promise<void> | undefined;
  let problem: string | undefined;
  let writing: Promise<void> | undefined;
  let isDirty = false;

  const ready = () =>
    loading ??= (async () => {
      const { servers: read, isLost } = await readPins(path);
      for (const one of read) servers.set(targetKey({ name: one.server, folder: one.folder }), one);
      if (!isLost) return;
      problem = "pins.json and its last good copy cannot be read: every server is pinned anew at its next look";
      log("error", "pins_lost", { path });
      audit.append({ kind: "pin", what: "lost", by: "engine" });
    })();

  async function write(): Promise<void> {
    while (isDirty) {
      isDirty = false;
      await writePins(path, servers.values());
    }
  }

  /** Writes soon; several changes at once become one file. */
  function save(): void {
    isDirty = true;
    writing ??= write().catch((error) => log("error", "pins_not_written", { reason: messageOf(error) }))
      .finally(() => writing = undefined);
  }

  async function look(target: PinTarget, { identity, ...given }: Look): Promise<PinnedLists> {
    await ready();
    const key = targetKey(target);
    const at = now();
    const existing = servers.get(key);
    const identityHash = canonicalHash(identity);
    const pinned: PinnedServer = existing ??
      {
        server: target.name,
        ...target.folder !== undefined && { folder: target.folder },
        identity: identityHash,
        items: new Map(),
      };
    const settled = await settleLists(pinned.items, {
      ...given,
      isFirst: existing === undefined,
      at,
      breathe: createBreather(),
    });
    servers.set(key, pinned);
    note(pinned, settled, existing === undefined);
    if (pinned.identity !== identityHash) {
      audit.append({
        kind: "pin",
        what: "identity",
        server: target.name,
        folder: target.folder,
        before: pinned.identity,
        hash: identityHash,
        version: identity.version,
      });
      pinned.identity = identityHash;
      pinned.identityChangedAt = at;
      save();
    }
    return settled.lists;
  }

  /** Writes down what a look found. */
  function note({ server, folder, items }: PinnedServer, { events, isChanged }: Settled, isFirst: boolean): void {
    if (isFirst) {
      const hash = canonicalHash([...items].map(([item, pin]) => [item, pin.hash]).sort());
      audit.append({ kind: "pin", what: "pinned", server, folder, entries: items.size, hash });
    }
    for (const { item, what, before, hash, why } of events) {
      audit.append({ kind: "pin", what, server, folder, entry: item, before, hash, why });
      log(what === "quarantined" ? "warning" : "info", `definition_${what}`, {
        server,
        entry: item,
        ...why && { why },
      });
    }
    if (isChanged || isFirst) save();
    const held = events.filter(({ what }) => what === "quarantined")
      .map(({ item, why = "" }) => ({ ...splitItemKey(item), why }));
    if (held.length > 0) onQuarantine?.(server, held);
  }

  const pinOf = (target: PinTarget, item: string) => servers.get(targetKey(target))?.items.get(item);

  return {
    ready,
    look: (target, given) => inTurn(targetKey(target), () => look(target, given)),
    withheld: (target, kind, name) => pinOf(target, `${kind}:${name}`)?.pending?.why,
    withheldOf: (target) =>
      [...servers.get(targetKey(target))?.items ?? []].flatMap(([item, { pending }]) =>
        pending?.why === undefined ? [] : [{ ...splitItemKey(item), why: pending.why }]
      ),
    newOf: (target) =>
      [...servers.get(targetKey(target))?.items ?? []].flatMap(([item, { isNew }]) =>
        isNew && item.startsWith("tool:") ? [splitItemKey(item).name] : []
      ),
    problem: () => problem,
    async review(only) {
      await ready();
      return [...servers.values()].filter(({ server }) => only === undefined || server === only)
        .map(reviewOf).filter(({ items }) => items.length > 0);
    },
    accept: ({ server, folder, hash }) =>
      inTurn(targetKey({ name: server, folder: folder ?? undefined }), async () => {
        await ready();
        const pinned = servers.get(targetKey({ name: server, folder: folder ?? undefined }));
        if (!pinned || reviewOf(pinned).hash !== hash) {
          throw new AgentCardsError("INPUT_INVALID", `The definitions of "${server}" changed since they were shown`, {
            hint: `Look at them again: agentcards review ${server}`,
          });
        }
        const count = acceptAll(pinned, { at: now(), audit });
        save();
        return count;
      }),
    async settled() {
      await writing;
    },
  };
}

function reviewOf({ server, folder, items, identityChangedAt }: PinnedServer): ServerReview {
  const shown = [...items].flatMap(([item, pin]) => itemOf(item, pin) ?? []);
  const hash = canonicalHash(
    [...items].map(([item, { hash, isNew, pending }]) => [item, hash ?? null, isNew ?? false, pending?.hash ?? null])
      .sort(),
  );
  return { server, folder: folder ?? null, hash, identityChangedAt: identityChangedAt ?? null, items: shown };
}

function itemOf(item: string, { hash, definition, since, isNew, pending }: Pin): ReviewItem | undefined {
  const named = splitItemKey(item);
  if (pending) {
    const state = hash === undefined ? "new_withheld" : pending.why === undefined ? "passed" : "changed";
    return {
      ...named,
      state,
      why: pending.why ?? null,
      since: pending.since,
      before: definition ?? null,
      after: pending.definition ?? null,
    };
  }
  return isNew ? { ...named, state: "new", why: null, since, before: null, after: definition ?? null } : undefined;
}

function acceptAll(
  { server, folder, items }: PinnedServer,
  { at, audit }: { at: number; audit: Pick<Audit, "append"> },
): number {
  let count = 0;
  for (const [item, { hash, definition, since, isNew, pending }] of items) {
    if (!pending && !isNew) continue;
    count++;
    items.set(
      item,
      pending ? { hash: pending.hash, definition: pending.definition, since: at } : { hash, definition, since },
    );
    audit.append({
      kind: "pin",
      what: "accepted",
      server,
      folder,
      entry: item,
      before: pending && hash,
      hash: pending?.hash ?? hash,
      by: "human",
    });
  }
  return count;
}
