import { AgentCardsError } from "../model/errors.ts";
import { deepFreeze } from "../model/json.ts";
import type { ServerConfig } from "./schema.ts";

export type Variables = Readonly<Record<string, string | undefined>>;

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** The names of the variables a text refers to, those with a default left out. */
export function variablesIn(text: string): string[] {
  return [...text.matchAll(REFERENCE)].filter((match) => match[2] === undefined).map((match) => match[1]!);
}

/** The names of the variables that starting a server takes. */
export function variablesOf({ command, args, env, cwd, url, headers }: ServerConfig): string[] {
  const texts = [command, cwd, url, ...args ?? [], ...Object.values(env ?? {}), ...Object.values(headers ?? {})];
  return [...new Set(texts.flatMap((text) => text === undefined ? [] : variablesIn(text)))];
}

/** A server's definition with every `${VAR}` filled in. */
export interface ResolvedServer extends ServerConfig {
  /** The values that look like credentials by their names: what must never be shown. */
  readonly secrets: readonly string[];
  /** True where the session's variables say which folder its `cwd` is. */
  readonly hasVariableCwd?: boolean;
}

/** Fills in `${VAR}` and `${VAR:-default}`; variables without value and default are an error that names them all. */
export function resolveServer(server: ServerConfig, variables: Variables): ResolvedServer {
  const missing = new Set<string>();
  const secrets = new Set<string>();
  const fill = (text: string): string =>
    text.replace(REFERENCE, (_all, name: string, fallback?: string) => {
      const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
      if (value !== undefined && value !== "") {
        if (SECRET_NAME.test(name)) secrets.add(value);
        return value;
      }
      if (fallback === undefined) missing.add(name);
      else if (fallback && SECRET_NAME.test(name)) secrets.add(fallback);
      return fallback ?? "";
    });
  const fillAll = (record: Readonly<Record<string, string>> | undefined) =>
    record && Object.fromEntries(Object.entries(record).map(([key, value]) => [key, fill(value)]));

  const resolved = {
    ...server,
    command: server.command && fill(server.command),
    args: server.args?.map(fill),
    env: fillAll(server.env),
    cwd: server.cwd && fill(server.cwd),
    url: server.url && fill(server.url),
    headers: fillAll(server.headers),
  };
  for (const [key, value] of [...Object.entries(resolved.env ?? {}), ...Object.entries(resolved.headers ?? {})]) {
    if (value && SECRET_NAME.test(key)) secrets.add(value);
  }
  if (missing.size > 0) {
    const names = [...missing];
    throw new AgentCardsError("CONFIG_INVALID", `Cannot start server "${server.name}": ${names.join(", ")} not set`, {
      hint: server.origin === "global"
        ? `Set it in your environment, or add ${names.map((name) => `${name}=…`).join(" and ")} to secrets.env.`
        : "Set it in your environment; a project's servers do not see secrets.env.",
      data: { missing: names },
    });
  }
  return deepFreeze({
    ...resolved,
    secrets: [...secrets],
    ...server.cwd?.includes("${") && { hasVariableCwd: true },
  });
}

/** Names whose values are taken for credentials even when they are written out literally. */
export const SECRET_NAME =
  /token|secret|password|passwd|api[-_]?key|apikey|auth|credential|private[-_]?key|cookie|dsn/i;
