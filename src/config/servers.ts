import { AgentCardsError } from "../model/errors.ts";
import { nearest } from "../model/text.ts";
import type { Config, ServerConfig } from "./schema.ts";

/** The definition of a configured server, or an error with the nearest names. */
export function requireServer(config: Config, name: string): ServerConfig {
  const entry = Object.hasOwn(config.servers, name) ? config.servers[name] : undefined;
  if (entry && !entry.disabled) return entry;
  const names = Object.values(config.servers).filter((server) => !server.disabled).map((server) => server.name);
  const near = nearest(name, names);
  throw new AgentCardsError(
    "SERVER_UNKNOWN",
    entry ? `Server "${name}" is disabled` : `There is no server "${name}"`,
    { hint: near.length ? `Nearest: ${near.join(", ")}.` : `Configured: ${names.join(", ") || "none"}.` },
  );
}
