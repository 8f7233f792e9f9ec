import { isObject, matchesPattern, messageOf } from "../../model/mod.ts";
import { fs } from "../../platform/start.ts";
import { parseFile } from "./parse.ts";

/** A rule of Claude Code that names a tool of a moved server, and what it becomes. */
export interface CarriedRule {
  readonly path: string;
  readonly list: "allow" | "deny" | "ask";
  readonly rule: string;
  readonly server: string;
  /** Our pattern; what cannot be expressed has none. */
  readonly pattern?: string | undefined;
}

/** A hook that will not see the tools of a moved server any more. */
export interface LostHook {
  readonly path: string;
  readonly event: string;
  readonly matcher: string;
}

/** Everything in Claude's settings that names moved servers. */
export interface Permissions {
  readonly rules: readonly CarriedRule[];
  readonly hooks: readonly LostHook[];
  readonly problems: readonly { path: string; reason: string }[];
}

/** Claude's names of servers, each with one of ours; Claude may have one name for several. */
export type ServerNames = readonly (readonly [theirs: string, ours: string])[];

const MAX_BYTES = 1024 * 1024;

/** Rules and hooks in Claude's settings that lose their meaning when these servers move. */
export async function readPermissions(paths: readonly string[], names: ServerNames): Promise<Permissions> {
  const rules: CarriedRule[] = [];
  const hooks: LostHook[] = [];
  const problems: { path: string; reason: string }[] = [];
  for (const path of paths) {
    try {
      if ((await fs.stat(path)).size > MAX_BYTES) throw new Error("it is larger than 1 MB");
      const settings = parseFile(await fs.readTextFile(path), "json");
      rules.push(...rulesIn(settings, names).map((rule) => ({ path, ...rule })));
      hooks.push(...hooksIn(settings, names).map((hook) => ({ path, ...hook })));
    } catch (error) {
      if (!(fs.isNotFound(error))) problems.push({ path, reason: messageOf(error) });
    }
  }
  return { rules, hooks, problems };
}

/** How Claude Code spells a server's name inside a tool's. */
export function claudeName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_");
}

function rulesIn(settings: unknown, names: ServerNames): Omit<CarriedRule, "path">[] {
  const permissions = isObject(settings) && isObject(settings.permissions) ? settings.permissions : {};
  return (["allow", "deny", "ask"] as const).flatMap((list) => {
    const written = permissions[list];
    return (Array.isArray(written) ? written : []).filter((rule) => typeof rule === "string")
      .flatMap((rule: string) => carry(rule, list, names));
  });
}

function carry(rule: string, list: CarriedRule["list"], names: ServerNames): Omit<CarriedRule, "path">[] {
  const match = /^mcp__([^(]*)(\(.*\))?$/s.exec(rule);
  if (!match) return [];
  const [, rest, condition] = match;
  return targets(rest!, names).map(({ server, tool }) => {
    // A rule for some arguments only has no counterpart: denied as a whole it would take too much, so it is shown.
    const pattern = condition ? undefined : `${server}:${tool}`;
    return { list, rule, server, pattern };
  });
}

/** The servers and tools a rule means. Both names may hold `__`, so that the longest server name wins. */
function targets(rest: string, names: ServerNames): { server: string; tool: string }[] {
  const known = names.map(([name, server]) => ({ key: claudeName(name), server }));
  const named = known.filter(({ key }) => rest === key || rest.startsWith(`${key}__`));
  const longest = Math.max(...named.map(({ key }) => key.length));
  const exact = named.filter(({ key }) => key.length === longest);
  if (exact.length > 0) return exact.map(({ server }) => ({ server, tool: rest.slice(longest + 2) || "*" }));
  const at = rest.indexOf("__");
  const [name, tool] = at < 0 ? [rest, "*"] : [rest.slice(0, at), rest.slice(at + 2)];
  // `mcp__*` means our own tools just as well and keeps its meaning.
  if (!name.includes("*") || at < 0) return [];
  return known.filter(({ key }) => matchesPattern(name, key)).map(({ server }) => ({ server, tool }));
}

function hooksIn(settings: unknown, names: ServerNames): Omit<LostHook, "path">[] {
  const hooks = isObject(settings) && isObject(settings.hooks) ? settings.hooks : {};
  const keys = names.map(([name]) => `mcp__${claudeName(name)}`);
  return Object.entries(hooks).flatMap(([event, list]) =>
    (Array.isArray(list) ? list : []).map((hook) => isObject(hook) ? hook.matcher : undefined)
      .filter((matcher) => typeof matcher === "string")
      .filter((matcher) =>
        keys.some((key) => matcher.includes(key)) || keys.length > 0 && /mcp__(?![\w-]|$)/.test(matcher)
      )
      .map((matcher) => ({ event, matcher }))
  );
}
