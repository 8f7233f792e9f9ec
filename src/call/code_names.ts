import { cut, identifier } from "../model/mod.ts";
import type { Session } from "./session.ts";

/** Variables that code has anyway. */
const GIVEN: ReadonlySet<string> = new Set([
  "context",
  "deps",
  "tools",
  "results",
  "ToolError",
  "console",
  "Deno",
  "undefined",
]);

/** Globals that do nothing in a cage, so that a server may have their name. */
const USELESS: ReadonlySet<string> = new Set(["fetch", "alert", "prompt", "confirm", "caches", "location", "name"]);

/** The variables of servers in code. */
export interface ServerVariables {
  /** The servers that have one, by variable. */
  readonly servers: ReadonlyMap<string, string>;
  /** Servers that have none: two would have the same one, or it would hide something that code has. */
  readonly without: readonly string[];
}

/** A server without a variable is reached as `tools["server:tool"]`, as any other. */
export function serverVariables(session: Session): ServerVariables {
  const names = session.status().filter(({ config }) => !config.disabled).map(({ config }) => config.name);
  const byVariable = Map.groupBy(names, identifier);
  const isFree = (variable: string) => !GIVEN.has(variable) && (USELESS.has(variable) || !(variable in globalThis));
  const servers = [...byVariable].flatMap(([variable, [name, ...others]]) =>
    others.length === 0 && isFree(variable) ? [[variable, name!] as const] : []
  );
  const named = new Set(servers.map(([, name]) => name));
  return { servers: new Map(servers), without: names.filter((name) => !named.has(name)) };
}

/** A sentence about servers without a variable, where there are any. */
export function withoutVariableNote(session: Session): string[] {
  const { without } = serverVariables(session);
  if (without.length === 0) return [];
  const [first] = without;
  return [
    `(in code these servers are no variables, since their names are taken: ${cut(without.join(", "), 200)}; ` +
    `call tools["${first}:TOOL"](args))`,
  ];
}
