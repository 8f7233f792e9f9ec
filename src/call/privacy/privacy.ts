import type { Config } from "../../config/mod.ts";
import { AgentCardsError, isObject, matchesPattern, toAgentCardsError } from "../../model/mod.ts";
import { type Hidden, hidePii, readPatterns, restorePii } from "../../policy/mod.ts";
import type { LargeFrames } from "../large/port.ts";
import type { PiiVault } from "./vault.ts";
import type { Privacy } from "../session.ts";

/** Longer values are searched in a Worker. */
const LONG = 64 * 1024;

export interface PrivacyOptions {
  vault(): PiiVault;
  readonly large: Pick<LargeFrames, "hide">;
}

/** Keeps personal data from the agent: tokens instead of values on the way in, values for tokens on the way out. */
export function createPrivacy(policy: Config["policy"], { vault, large }: PrivacyOptions): Privacy | undefined {
  if (policy.pii !== "tokenize") return undefined;
  const patterns = readPatterns(policy.pii_patterns);
  const mayHave = (server: string, servers: ReadonlySet<string>) =>
    servers.has(server) || policy.pii_allow.some((pattern) => matchesPattern(pattern, server));
  // A server that lists all values there are would else learn which one another server's token stands for.
  const elsewhere = (server: string) => ({ key: vault().keyOf(server), patterns: policy.pii_patterns });

  function hide<T>(value: T, server: string, known?: ReadonlyMap<string, string>): T {
    const hidden: Hidden[] = [];
    const options = { key: vault().keyOf(server), patterns, ...known && { known } };
    const clean = hidePii(value, { ...options, onHidden: (one) => hidden.push(one) });
    vault().keep(server, hidden);
    return clean;
  }

  return {
    hide,
    async hideLong(value, server, known) {
      if (!isLong(value)) return hide(value, server, known);
      const { value: clean, hidden } = await large.hide(value, elsewhere(server), known);
      vault().keepTexts(server, hidden);
      return clean as typeof value;
    },
    error(error, server) {
      const { code, message, hint, data } = toAgentCardsError(error);
      const details = {
        cause: error,
        ...hint !== undefined && { hint: hide(hint, server) },
        ...data && { data: hide(data, server) },
      };
      return new AgentCardsError(code, hide(message, server), details);
    },
    async restore(args, server, onRestored) {
      const tokens = new Set<string>();
      restorePii(args, (token) => {
        tokens.add(token);
        return undefined;
      });
      if (tokens.size === 0) return args;
      const found = await vault().find(tokens);
      // One that nobody knows stays: anybody can write something that looks like it.
      return restorePii(args, (token) => {
        const secret = found.get(token);
        if (!secret || !mayHave(server, secret.servers)) return undefined;
        onRestored?.(secret.value, token);
        return secret.value;
      });
    },
    elsewhere,
    keep: (server, hidden) => vault().keepTexts(server, hidden),
  };
}

/** True if a value has too many parts, or too much text, to be searched on the main thread. */
function isLong(value: unknown): boolean {
  let room = LONG;
  const open: unknown[] = [value];
  for (let next = open.pop(); next !== undefined && room > 0; next = open.pop()) {
    room -= typeof next === "string" ? next.length : 8;
    if (Array.isArray(next)) {
      room -= next.length;
      if (room > 0) open.push(...next);
    } else if (isObject(next)) {
      for (const key in next) {
        room -= key.length;
        open.push(next[key] ?? null);
        if (room <= 0) break;
      }
    }
  }
  return room <= 0;
}
