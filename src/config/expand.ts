import { AgentCardsError, deepFreeze } from "../model/mod.ts";
import { system } from "../platform/start.ts";
import type { Home } from "./home.ts";
import { storedSecrets } from "./keyring.ts";
import type { ServerConfig } from "./schema.ts";
import { namedArguments, type NamedValue, NO_SECRET_RULES, type Secret, secretsIn } from "./secret_values.ts";

export type Variables = Readonly<Record<string, string | undefined>>;

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** The names of the variables a text refers to, those with a default left out. */
export function variablesIn(text: string): string[] {
  return [...text.matchAll(REFERENCE)].filter((match) => match[2] === undefined).map((match) => match[1]!);
}

/** The names of the variables that starting a server takes. */
export function variablesOf(server: ServerConfig): string[] {
  return [...new Set(textsOf(server).flatMap(variablesIn))];
}

/** The names of all variables that a server's definition mentions, those with a default included. */
export function variablesNamedIn(server: ServerConfig): string[] {
  return [...new Set(textsOf(server).flatMap((text) => [...text.matchAll(REFERENCE)].map((match) => match[1]!)))];
}

function textsOf({ command, args, env, cwd, url, headers, oauth }: ServerConfig): string[] {
  const records = [env, headers, oauth].flatMap((record) => Object.values(record ?? {}));
  const texts = [command, cwd, url, ...args ?? [], ...records];
  return texts.filter((text) => text !== undefined);
}

/** Fills in `${VAR}` and `${VAR:-default}` of a text; `missing` names the variables without value and default. */
export function fillVariables(text: string, variables: Variables): { filled: string; missing: string[] } {
  const missing = new Set<string>();
  const filled = text.replace(REFERENCE, (_all, name: string, fallback?: string) => {
    const value = (Object.hasOwn(variables, name) ? variables[name] : undefined) || fallback;
    if (value === undefined) missing.add(name);
    return value ?? "";
  });
  return { filled, missing: [...missing] };
}

/** A server's definition with every `${VAR}` filled in. */
export interface ResolvedServer extends ServerConfig {
  /** The credentials in its definition, which are never shown. */
  readonly secrets: readonly Secret[];
  /** True where the session's variables say which folder its `cwd` is. */
  readonly hasVariableCwd?: boolean;
}

/** Fills in `${VAR}` and `${VAR:-default}`; variables without value and default are an error that names them all. */
export function resolveServer(server: ServerConfig, variables: Variables, rules = NO_SECRET_RULES): ResolvedServer {
  const missing = new Set<string>();
  const secrets: Secret[] = [];
  const note = (part: string, values: readonly NamedValue[]) =>
    secrets.push(...values.flatMap((value) => secretsIn(value, `servers.${server.name}.${part}`, rules)));
  const filler = (part: string) => (text: string): string =>
    text.replace(REFERENCE, (_all, name: string, fallback?: string) => {
      const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
      const filled = value !== undefined && value !== "" ? value : fallback;
      if (filled === undefined) missing.add(name);
      else note(part, [{ name, value: filled }]);
      return filled ?? "";
    });
  const fillAll = (record: Readonly<Record<string, string>> | undefined, fill: (text: string) => string) =>
    record && Object.fromEntries(Object.entries(record).map(([key, value]) => [key, fill(value)]));

  const resolved = {
    ...server,
    command: server.command && filler("command")(server.command),
    args: server.args?.map(filler("args")),
    env: fillAll(server.env, filler("env")),
    cwd: server.cwd && filler("cwd")(server.cwd),
    url: server.url && filler("url")(server.url),
    headers: fillAll(server.headers, filler("headers")),
    oauth: fillAll(server.oauth, filler("oauth")),
  };
  const named = (record: Readonly<Record<string, string>> | undefined) =>
    Object.entries(record ?? {}).map(([name, value]) => ({ name, value }));
  note("env", named(resolved.env));
  note("headers", named(resolved.headers));
  const secret = resolved.oauth?.client_secret;
  if (secret !== undefined) note("oauth", [{ name: "client_secret", value: secret }]);
  note("args", namedArguments(resolved.args ?? []));
  if (resolved.url !== undefined) note("url", [{ name: "url", value: resolved.url }]);
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
    secrets,
    ...server.cwd?.includes("${") && { hasVariableCwd: true },
  });
}

/** The address of a PostgreSQL server, and the parts of it that are never shown. */
export interface DatabaseAddress {
  readonly url: string;
  readonly secrets: readonly string[];
}

const SECRET_PARAMETERS = ["password", "sslpassword", "sslkey"];

/** Fills in the address that `database` names, from `secrets.env`, the keyring and the environment of this process. */
export async function databaseAddress(home: Home, text: string): Promise<DatabaseAddress> {
  const { filled: url, missing } = fillVariables(text, { ...system.env(), ...await storedSecrets(home) });
  if (missing.length > 0) {
    throw noAddress(
      `${missing.join(", ")} not set`,
      `Set it with \`agentcards secrets set ${missing[0]}\`, then \`agentcards engine restart\`.`,
    );
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^postgres(?:ql)?:$/.test(parsed.protocol)) {
    throw noAddress(
      "it is no address like postgres://USER@HOST/NAME",
      "Special characters in a password are written as %XX.",
    );
  }
  const hidden = [parsed.password, ...SECRET_PARAMETERS.map((name) => parsed.searchParams.get(name) ?? "")];
  const secrets = hidden.flatMap((value) => [value, unescaped(value)]).filter((value) => value !== "");
  return Object.freeze({ url, secrets: [...new Set(secrets)] });
}

/** True if an address has its password in it, instead of the name of a variable. */
export function hasPlainPassword(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const values = url ? [url.password, ...SECRET_PARAMETERS.map((name) => url.searchParams.get(name) ?? "")] : [];
  return values.some((value) => unescaped(value).replace(REFERENCE, "") !== "");
}

function unescaped(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

function noAddress(why: string, hint: string): AgentCardsError {
  return new AgentCardsError("CONFIG_INVALID", `Cannot use \`database\` of the configuration: ${why}`, { hint });
}
