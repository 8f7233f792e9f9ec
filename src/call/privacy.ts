import type { Config } from "../config/schema.ts";
import { AgentCardsError, toAgentCardsError } from "../model/errors.ts";
import { matchesPattern } from "../model/pattern.ts";
import { type Hidden, hidePii, readPatterns, restorePii } from "../policy/pii.ts";
import type { PiiVault } from "./pii_vault.ts";
import type { Privacy } from "./session.ts";

/** Keeps personal data from the agent: tokens instead of values on the way in, values for tokens on the way out. */
export function createPrivacy(policy: Config["policy"], vault: () => PiiVault): Privacy | undefined {
  if (policy.pii !== "tokenize") return undefined;
  const patterns = readPatterns(policy.pii_patterns);
  const mayHave = (server: string, servers: ReadonlySet<string>) =>
    servers.has(server) || policy.pii_allow.some((pattern) => matchesPattern(pattern, server));

  function hide<T>(value: T, server: string, known?: ReadonlyMap<string, string>): T {
    const hidden: Hidden[] = [];
    const options = { key: vault().key, patterns, ...known && { known } };
    const clean = hidePii(value, { ...options, onHidden: (one) => hidden.push(one) });
    vault().keep(server, hidden);
    return clean;
  }

  return {
    hide,
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
    get elsewhere() {
      return { key: vault().key, patterns: policy.pii_patterns };
    },
    keep: (server, hidden) => vault().keep(server, hidden),
  };
}
