import { AgentCardsError, canonicalJson, isObject } from "../../model/mod.ts";
import { OWN_NAME } from "./client.ts";
import { addToList, removeFromList, removeProperty, setProperty } from "./json_text.ts";
import { parseFile, splitBom } from "./parse.ts";
import type { Item } from "./item.ts";
import { appendTables, removeTables } from "./toml_text.ts";

/** What happens to a client's file. */
export interface FileEdit {
  readonly format: "json" | "toml";
  readonly remove: readonly Item[];
  readonly add: readonly Item[];
  /** Rules to add to Claude Code's list of allowed tools, and rules to take out. */
  readonly allow?: readonly string[] | undefined;
  readonly disallow?: readonly string[] | undefined;
}

const ALLOWED = ["permissions", "allow"];

/** The text with entries taken out and put in; everything else stays as it was written. */
export function rewrite(text: string, edit: FileEdit): string {
  const after = edit.format === "toml" ? rewriteToml(text, edit) : rewriteJson(text, edit);
  // Editing text is checked by its meaning: odd spellings (a name given twice, a table in one line) are refused.
  if (meaning(after, edit.format) === canonicalJson(applyTo(parseFile(text, edit.format), edit))) return after;
  throw new AgentCardsError("CONFIG_INVALID", "Cannot edit the file: its servers are written in an unusual way", {
    hint: "The file is as it was. Move its servers by hand.",
  });
}

function meaning(text: string, format: FileEdit["format"]): string | undefined {
  try {
    return canonicalJson(parseFile(text, format));
  } catch {
    return undefined;
  }
}

function rewriteJson(text: string, { remove, add, allow = [], disallow = [] }: FileEdit): string {
  const { bom, body } = splitBom(text);
  let after = body.trim() === "" ? "{}" : body;
  for (const { keys, name } of remove) after = removeProperty(after, [...keys, name]);
  for (const { keys, name, entry } of add.toReversed()) after = setProperty(after, [...keys, name], entry);
  for (const rule of disallow) after = removeFromList(after, ALLOWED, rule);
  for (const rule of allow) after = addToList(after, ALLOWED, rule);
  return bom + after;
}

function rewriteToml(text: string, { remove, add }: FileEdit): string {
  const without = removeTables(text, [...remove, ...add].map(({ keys, name }) => [...keys, name]));
  return appendTables(without, add);
}

/** The same edit on data. */
function applyTo(data: unknown, { remove, add, allow = [], disallow = [] }: FileEdit): unknown {
  const copy: unknown = structuredClone(data ?? {});
  for (const { keys, name } of remove) {
    const map = keys.reduce<unknown>((at, key) => isObject(at) ? at[key] : undefined, copy);
    if (isObject(map)) delete map[name];
  }
  for (const { keys, name, entry } of add) {
    let at = copy as Record<string, unknown>;
    for (const key of keys) at = (isObject(at[key]) ? at[key] : at[key] = {}) as Record<string, unknown>;
    at[name] = entry;
  }
  if (allow.length + disallow.length > 0 && isObject(copy)) {
    const permissions = (copy.permissions ??= {}) as Record<string, unknown>;
    permissions.allow = [...allowedIn(copy).filter((rule) => !disallow.includes(rule as string)), ...allow];
  }
  return pruned(copy);
}

/** Of these rules those that no list of the settings speaks of yet. */
export function newlyAllowed(settings: unknown, rules: readonly string[]): string[] {
  const permissions = isObject(settings) && isObject(settings.permissions) ? settings.permissions : {};
  const known = ["allow", "deny", "ask"].flatMap((list) => permissions[list]);
  return rules.filter((rule) => !known.some((one) => typeof one === "string" && one.startsWith(rule)));
}

/** The list of allowed tools in Claude Code's settings. */
function allowedIn(settings: unknown): readonly unknown[] {
  const permissions = isObject(settings) && isObject(settings.permissions) ? settings.permissions : {};
  return Array.isArray(permissions.allow) ? permissions.allow : [];
}

/** Empty maps of servers do not count: a TOML file has no way to keep one without its tables. */
function pruned(data: unknown): unknown {
  if (isObject(data) && isObject(data.mcp_servers) && Object.keys(data.mcp_servers).length === 0) {
    delete data.mcp_servers;
  }
  return data;
}

/** What a file holds under a name, as data. */
export function entryAt(data: unknown, { keys, name }: Omit<Item, "entry">): unknown {
  return [...keys, name].reduce<unknown>(
    (at, key) => isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined,
    data,
  );
}

/** The edit that takes back another one, as far as the file's present text allows: nothing there now is overwritten. */
export function reverse(edit: FileEdit, now: unknown): FileEdit {
  return {
    format: edit.format,
    remove: edit.add.filter((item) => item.name === OWN_NAME && entryAt(now, item) !== undefined),
    add: edit.remove.filter((item) => entryAt(now, item) === undefined),
    disallow: edit.allow?.filter((rule) => allowedIn(now).includes(rule)),
  };
}
