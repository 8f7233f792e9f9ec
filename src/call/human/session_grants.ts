import type { Grants } from "../../policy/mod.ts";
import type { SessionGrants } from "../session.ts";

/** Keeps the answers of a session's person, beside those that hold for good. */
export function createSessionGrants(always: Grants, client: () => string | undefined): SessionGrants {
  const given = new Set<string>();
  const keyOf = (tool: string, definition: string, run = "") => JSON.stringify([tool, definition, run]);
  return {
    has: (tool, definition, run) =>
      // A tool whose definition is not known is not the one that was allowed.
      definition !== undefined &&
      (given.has(keyOf(tool, definition)) || run !== undefined && given.has(keyOf(tool, definition, run)) ||
        always.has(tool, definition)),
    allow: (tool, definition, run) => void given.add(keyOf(tool, definition, run)),
    allowAlways: (tool, definition) => always.add(tool, definition, client()),
  };
}
