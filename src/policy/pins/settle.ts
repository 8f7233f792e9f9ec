import { canonicalJson, type JsonObject } from "../../model/mod.ts";
import type { Names } from "../lint/names.ts";
import { canonicalHash, keyOf, type PinKind, pinnedPart } from "./definition.ts";
import type { Pin } from "./file.ts";
import { harmOf, suspicionOf } from "./judge.ts";
import {
  asDefinition,
  INSTRUCTIONS,
  itemKey,
  LISTS,
  type PinnedLists,
  type PinPreset,
  type RawLists,
} from "./lists.ts";

/** A change that a look found, for the audit. */
export interface PinEvent {
  readonly item: string;
  readonly what: "changed" | "quarantined" | "new" | "restored";
  readonly before?: string | undefined;
  readonly hash?: string | undefined;
  readonly why?: string | undefined;
}

/** The outcome of a look. */
export interface Settled {
  readonly lists: PinnedLists;
  readonly events: readonly PinEvent[];
  readonly isChanged: boolean;
}

interface Settling {
  readonly lists: RawLists;
  readonly preset: PinPreset;
  readonly others: () => Names;
  /** True if the server was never pinned: then everything is. */
  readonly isFirst: boolean;
  readonly at: number;
  readonly breathe: () => Promise<void> | undefined;
}

/** A larger definition is pinned by its hash alone: every change of it is for a person to judge. */
const LARGEST_KEPT = 65_536;
/** Pins of a server: above this, those of entries that it lists no more are forgotten, the oldest first. */
const MOST_PINS = 5_000;

/** Compares every entry of a server's lists with its pin. The pins are updated in place. */
export async function settleLists(items: Map<string, Pin>, settling: Settling): Promise<Settled> {
  const { lists, others, isFirst, at, preset, breathe } = settling;
  const events: PinEvent[] = [];
  const listed = new Set<string>();
  const hashes = new Map<string, string>();
  let isChanged = false;
  let names: Names | undefined;
  const own = new Set(lists.tools.flatMap((raw) => keyOf("tool", raw) ?? []));
  const around = () => ({ own, others: names ??= others() });

  function put(item: string, pin: Pin): void {
    items.set(item, pin);
    isChanged = true;
  }

  /** The definition that agents see of an entry; undefined for one that is withheld. */
  function settle(kind: PinKind, name: string, raw: JsonObject): JsonObject | undefined {
    const item = itemKey(kind, name);
    const definition = pinnedPart(kind, raw);
    const hash = canonicalHash(definition);
    const kept = isKept(definition) ? { definition } : {};
    const pin = items.get(item);
    listed.add(item);
    if (kind === "tool") hashes.set(name, pin?.hash ?? hash);
    if (pin?.hash === hash) {
      if (pin.pending) {
        put(item, { ...pin, pending: undefined });
        events.push({ item, what: "restored", hash });
      }
      return raw;
    }
    const why = isFirst ? undefined : pin?.hash === undefined ? reasonAgainstNew() : reasonAgainstChange(pin);
    if (pin?.hash === undefined && why === undefined) {
      put(item, { hash, ...kept, since: at, ...!isFirst && kind === "tool" && { isNew: true } });
      if (!isFirst) events.push({ item, what: "new", hash });
      return raw;
    }
    if (pin?.pending?.hash !== hash || pin.pending.why !== why) {
      const pending = { hash, ...kept, since: at, why };
      put(item, pin ? { ...pin, pending } : { since: at, pending });
      events.push({ item, what: why === undefined ? "changed" : "quarantined", before: pin?.hash, hash, why });
    }
    if (kind === "instructions") return pin?.definition;
    return why === undefined ? shownInstead(pin!.definition!, definition) : undefined;

    function reasonAgainstNew(): string | undefined {
      if (preset === "strict") return "it is new";
      const found = suspicionOf({ kind, name, definition }, around());
      return found && `it is new, and in its ${found}`;
    }

    function reasonAgainstChange({ definition: before }: Pin): string | undefined {
      if (preset === "strict") return "its definition changed";
      if (!before || !isKept(definition)) return "its definition changed and is too large to be compared";
      const why = harmOf({ kind, name, before, after: definition }, around());
      return why && `its definition changed: ${why}`;
    }
  }

  async function settleList(kind: keyof typeof LISTS): Promise<unknown[]> {
    const seen = new Map<string, boolean>();
    const accepted: unknown[] = [];
    for (const raw of lists[LISTS[kind]]) {
      await breathe();
      const key = keyOf(kind, raw);
      // An entry without a usable name is offered to nobody; it is told in the notes of the catalogue.
      if (key === undefined) accepted.push(raw);
      else if (!seen.has(key)) {
        const shown = settle(kind, key, raw as JsonObject);
        seen.set(key, shown !== undefined);
        if (shown) accepted.push(shown);
      } else if (seen.get(key)) accepted.push(raw);
    }
    return accepted;
  }

  const [tools, prompts, resources, templates] = [
    await settleList("tool"),
    await settleList("prompt"),
    await settleList("resource"),
    await settleList("template"),
  ];
  // A server without instructions is pinned as such: text that comes later is a change.
  const about = settle("instructions", "", asDefinition(lists.instructions ?? ""))?.description;
  for (const [item, pin] of items) {
    if (listed.has(item) || item === INSTRUCTIONS || !pin.pending) continue;
    if (pin.hash === undefined) items.delete(item);
    else items.set(item, { ...pin, pending: undefined });
    isChanged = true;
  }
  if (items.size > MOST_PINS) isChanged = forgetUnlisted(items, listed) || isChanged;
  const instructions = typeof about === "string" && about !== "" ? about : undefined;
  return { lists: { tools, prompts, resources, templates, instructions, hashes }, events, isChanged };
}

/** The pinned definition, without a schema of results that the server no longer keeps to: a client would refuse them. */
function shownInstead(pinned: JsonObject, listed: JsonObject): JsonObject {
  if (canonicalJson(pinned.outputSchema ?? null) === canonicalJson(listed.outputSchema ?? null)) return pinned;
  const { outputSchema: _left, ...rest } = pinned;
  return rest;
}

function isKept(definition: JsonObject): boolean {
  return JSON.stringify(definition).length <= LARGEST_KEPT;
}

function forgetUnlisted(items: Map<string, Pin>, listed: ReadonlySet<string>): boolean {
  const gone = [...items].filter(([item]) => !listed.has(item)).sort(([, a], [, b]) => a.since - b.since);
  for (const [item] of gone.slice(0, items.size - MOST_PINS)) items.delete(item);
  return gone.length > 0;
}
