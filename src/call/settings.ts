import {
  type Config,
  type Home,
  loadConfig,
  type LoadedConfig,
  programsOf,
  type ServerConfig,
  storedSecrets,
  variablesNamedIn,
} from "../config/mod.ts";
import { canonicalJson, deepFreeze } from "../model/mod.ts";
import { type CompiledRules, compileRules } from "../policy/mod.ts";
import type { SessionContext } from "./session.ts";

/** The settings of a session out of files and its client's environment. */
export interface Settings {
  readonly loaded: LoadedConfig;
  readonly stored: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  /** The rules of its policy, with their conditions read. */
  readonly rules: CompiledRules;
}

/** Makes the function that reads the settings of a session; its client is asked for each variable once. */
export function settingsReader(home: Home, context: SessionContext): () => Promise<Settings> {
  const asked = new Set<string>();
  let env = context.env;
  return async () => {
    const loaded = await loadConfig(home, context.cwd, context);
    const stored = await storedSecrets(home, context.env);
    const names = variablesOfAll(loaded.config, stored).filter((name) => !asked.has(name));
    if (names.length > 0 && context.variables) {
      env = { ...env, ...await context.variables(names) };
      for (const name of names) asked.add(name);
    }
    return { loaded, stored, env, rules: await compileRules(loaded.config.policy) };
  };
}

/** The names of the variables that the definitions of servers and agents mention and the engine does not have. */
function variablesOfAll(config: Config, stored: Readonly<Record<string, string>>): string[] {
  const names = programsOf(config).flatMap((entry) =>
    // A project's servers do not see secrets.env.
    variablesNamedIn(entry).filter((name) => entry.origin === "project" || !Object.hasOwn(stored, name))
  );
  return [...new Set(names)];
}

/**
 * Settings that follow others in one session. Definitions that are the same stay the same objects, by which catalogues
 * are found. A client was told at its handshake how tools are exposed, so that stays.
 */
export function following(before: Settings | undefined, now: Settings, expose: Config["expose"]): Settings {
  const old = before?.loaded.config.servers ?? {};
  const kept = (entry: ServerConfig) => {
    const other = Object.hasOwn(old, entry.name) ? old[entry.name]! : entry;
    return canonicalJson(other) === canonicalJson(entry) ? other : entry;
  };
  const { config } = now.loaded;
  const servers = Object.fromEntries(Object.values(config.servers).map((entry) => [entry.name, kept(entry)]));
  return { ...now, loaded: deepFreeze({ ...now.loaded, config: { ...config, servers, expose } }) };
}

/** The names under which one of two maps has another value than the other. */
export function differing(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  return [...new Set([...before.keys(), ...now.keys()])].filter((name) => before.get(name) !== now.get(name));
}
