import type { Buffer } from "node:buffer";
import { createHash, randomBytes, randomInt, timingSafeEqual } from "node:crypto";

/** Decides which pages may ask: each gets a token for a code that is good once. */
export interface Admission {
  /** A code that a page of this home brings; good once, for a minute. */
  newCode(): string;
  /** A token for a code; undefined where the code is unknown, used or old. */
  exchange(code: string): string | undefined;
  /** A page that has no code shows six digits; undefined where too many wait already. */
  pair(): { readonly id: string; readonly digits: string } | undefined;
  /** The token of a page whose digits were typed at the terminal; `gone` where it waits no longer. */
  paired(id: string, withinMs: number): Promise<{ readonly token: string } | "waiting" | "gone">;
  /** Lets the page in that shows these digits; false where none does. */
  confirm(digits: string): boolean;
  isAdmitted(token: string): boolean;
}

const CODE_MS = 60_000;
const PAIR_MS = 5 * 60_000;
const MOST_WAITING = 5;
const MOST_TOKENS = 100;

interface Pairing {
  readonly digits: string;
  readonly until: number;
  readonly confirmed: PromiseWithResolvers<string>;
  token?: string;
}

export function createAdmission(now: () => number = () => performance.now()): Admission {
  const codes = new Map<string, number>();
  const pairings = new Map<string, Pairing>();
  /** Digests of tokens: a dump of this process's memory has no use for them. */
  const tokens: Buffer[] = [];

  const newToken = () => {
    const token = randomBytes(32).toString("hex");
    tokens.push(digest(token));
    if (tokens.length > MOST_TOKENS) tokens.shift();
    return token;
  };
  const forgetOld = () => {
    for (const [code, until] of codes) if (until < now()) codes.delete(code);
    for (const [id, { until }] of pairings) if (until < now()) pairings.delete(id);
  };

  return {
    newCode() {
      forgetOld();
      const code = randomBytes(32).toString("hex");
      codes.set(digest(code).toString("hex"), now() + CODE_MS);
      return code;
    },
    exchange(code) {
      forgetOld();
      return codes.delete(digest(code).toString("hex")) ? newToken() : undefined;
    },
    pair() {
      forgetOld();
      if (pairings.size >= MOST_WAITING) return undefined;
      const used = new Set([...pairings.values()].map(({ digits }) => digits));
      let digits: string;
      do digits = String(randomInt(1_000_000)).padStart(6, "0"); while (used.has(digits));
      const id = randomBytes(16).toString("hex");
      pairings.set(id, { digits, until: now() + PAIR_MS, confirmed: Promise.withResolvers() });
      return { id, digits };
    },
    async paired(id, withinMs) {
      forgetOld();
      const pairing = pairings.get(id);
      if (!pairing) return "gone";
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<undefined>((resolve) => timer = setTimeout(() => resolve(undefined), withinMs));
      const token = await Promise.race([pairing.confirmed.promise, late]).finally(() => clearTimeout(timer));
      if (token === undefined) return "waiting";
      pairings.delete(id);
      return { token };
    },
    confirm(given) {
      forgetOld();
      const pairing = [...pairings.values()].find(({ digits, token }) => digits === given && token === undefined);
      if (!pairing) return false;
      pairing.confirmed.resolve(pairing.token = newToken());
      return true;
    },
    isAdmitted(token) {
      const given = digest(token);
      // Every one is compared: the time tells nothing.
      return tokens.filter((known) => timingSafeEqual(known, given)).length > 0;
    },
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
