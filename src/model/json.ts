import { cut } from "./text.ts";

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

/** True if a value is a plain object: not null, not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * How deep a JSON text nests, or `limit + 1` as soon as it is deeper. Works on bytes, before parsing, so that no
 * recursive walk (validator, redactor, JSON.stringify) ever meets a value that would overflow the stack.
 */
export function jsonDepth(bytes: Uint8Array, limit: number): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    if (inString) {
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > deepest) deepest = depth;
      if (depth > limit) return limit + 1;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
  }
  return deepest;
}

/** True if a JSON text nests deeper, or has more values, than allowed: a parser takes time for each. */
export function isExcessive(bytes: Uint8Array, most: { depth: number; parts: number }): "depth" | "parts" | undefined {
  let depth = 0;
  let parts = 1;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    if (inString) {
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === COMMA) {
      if (++parts > most.parts) return "parts";
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > most.depth) return "depth";
      if (++parts > most.parts) return "parts";
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
  }
}

const COMMA = 0x2c;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** JSON with sorted keys and no white space: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  if (isSorted(value)) return JSON.stringify(value);
  return JSON.stringify(value, (_key, item) => {
    if (!isObject(item)) return item;
    return Object.fromEntries(
      Object.entries(item).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)),
    );
  });
}

/** True if the keys of a value are in their order already, as those of most arguments are. */
function isSorted(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every(isSorted);
  if ("toJSON" in value) return false;
  let before = "";
  for (const [key, item] of Object.entries(value)) {
    if (key < before || !isSorted(item)) return false;
    before = key;
  }
  return true;
}

/** SHA-256 of a text, in hex. */
export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(digest).toHex();
}

/** The same value, frozen through and through. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const item of Object.values(value)) deepFreeze(item);
  }
  return value;
}

export type Step = string | number;

/**
 * Follows steps into a value through what each level has of its own. Where there is no way on, tells after how many
 * steps, and what there is instead.
 */
export function follow(
  value: unknown,
  steps: readonly Step[],
): { readonly value: unknown } | { readonly missing: number; readonly there: string } {
  let here = value;
  for (const [i, step] of steps.entries()) {
    const isThere = Array.isArray(here)
      ? /^\d+$/.test(String(step)) && Number(step) < here.length
      : isObject(here) && typeof step === "string" && Object.hasOwn(here, step);
    if (!isThere) return { missing: i, there: outline(here) };
    here = (here as Record<Step, unknown>)[step];
  }
  return { value: here };
}

const SHOWN_KEYS = 20;
const SHOWN_OF_A_KEY = 60;

function outline(value: unknown): string {
  if (Array.isArray(value)) return `is a list of ${value.length}`;
  if (!isObject(value)) return `is ${value === null ? "null" : `a ${typeof value}`}`;
  const keys = Object.keys(value);
  const shown = keys.slice(0, SHOWN_KEYS).map((key) => cut(key, SHOWN_OF_A_KEY)).join(", ");
  return keys.length ? `has ${shown}${keys.length > SHOWN_KEYS ? ", …" : ""}` : "is empty";
}
