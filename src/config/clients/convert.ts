import { isObject, oneLine } from "../../model/mod.ts";
import { fileSchema } from "../schema.ts";
import type { FoundServer, ServerEntry } from "./client.ts";
import { flatten } from "./flatten.ts";
import { type Dialect, translate } from "./variables.ts";

type Converted = Omit<FoundServer, "name" | "entry">;

/** A client's entry as one of ours, or the reason why it has to stay where it is. */
export function convert(entry: unknown, dialect: Dialect): Converted {
  if (!isObject(entry)) return unusable("its definition is not an object");
  const flat = flatten(entry, dialect.client);
  const tools = { deny: names(flat.deny), approve: names(flat.approve) };
  const stays = (skipped: string): Converted => ({ skipped, notes: [], ...tools });
  const reason = whyNot(flat);
  if (reason) return stays(reason);

  const unresolved = new Set<string>();
  const server = toServer(flat, (text) => translate(text, dialect, unresolved));
  if (unresolved.size > 0) {
    const names = [...unresolved].map((name) => oneLine(name, 60)).join(", ");
    return stays(`it uses ${names}, which only the client itself can fill in`);
  }
  const parsed = fileSchema.safeParse({ servers: { x: server } });
  if (!parsed.success) return stays(`its definition is not usable: ${parsed.error.issues[0]!.message}`);
  if (server.url && !/^(https?:\/\/|\$\{)/i.test(server.url)) return stays("its URL is not http or https");
  return { server, notes: notes(flat), ...tools };
}

/** An entry of a file in our own format. */
export function takeOver(entry: unknown): Converted {
  const parsed = fileSchema.safeParse({ servers: { x: entry } });
  if (!parsed.success) return unusable(`its definition is not usable: ${parsed.error.issues[0]!.message}`);
  return { server: parsed.data.servers!.x, notes: [], deny: [], approve: [] };
}

function unusable(skipped: string): Converted {
  return { skipped, notes: [], deny: [], approve: [] };
}

function whyNot(flat: Record<string, unknown>): string | undefined {
  if (signInOf(flat.oauth) === undefined) return "it signs in with OAuth in a way that only the client knows";
  if (flat.headersHelper) return "its headers come from a helper program of the client";
  if (flat.envFile) return "it reads its variables from an envFile";
  if (flat.type === "ws" || flat.type === "websocket") return "it speaks WebSocket, which is not supported";
  if (typeof flat.type === "string" && !TRANSPORTS.has(flat.type.toLowerCase())) {
    return `its type "${oneLine(flat.type, 40)}" is not supported`;
  }
  if (flat.extension) return "it comes with an extension of the client";
  if (!flat.command && !flat.url) return "it has neither a command nor a URL";
  if (typeof (flat.command || flat.url) !== "string") return "its command or URL is not a text";
}

const TRANSPORTS = new Set(["stdio", "http", "sse", "streamable-http", "streamablehttp", "streamable_http"]);

function toServer(flat: Record<string, unknown>, fill: (text: string) => string): ServerEntry {
  const list = (value: unknown) =>
    Array.isArray(value) && value.length > 0 ? value.map((item) => fill(text(item))) : undefined;
  const record = (value: unknown) => {
    const entries = isObject(value) ? Object.entries(value).filter(([, item]) => item !== null) : [];
    return entries.length > 0 ? Object.fromEntries(entries.map(([key, item]) => [key, fill(text(item))])) : undefined;
  };
  const single = (value: unknown) => value === undefined || value === null ? undefined : fill(text(value));
  const whole = (value: unknown) => typeof value === "number" && value > 0 ? Math.round(value) : undefined;
  const disabled = flat.disabled === true || flat.enabled === false || undefined;
  const common = { disabled, timeout: whole(flat.timeout), start_timeout: whole(flat.start_timeout) };
  const server = flat.command
    ? { command: single(flat.command), args: list(flat.args), env: record(flat.env), cwd: single(flat.cwd), ...common }
    : {
      url: single(flat.url),
      transport: flat.type === "sse" ? "sse" as const : undefined,
      headers: record(flat.headers),
      oauth: record(signInOf(flat.oauth)),
      ...common,
    };
  return Object.fromEntries(Object.entries(server).filter(([, value]) => value !== undefined)) as ServerEntry;
}

/**
 * What a client knows of the sign-in to a server, in our words; undefined where that is more than we could do. The
 * address of a client that was registered by hand is the one that Claude Code uses.
 */
function signInOf(oauth: unknown): Record<string, string> | undefined {
  if (oauth === undefined || oauth === null || oauth === false || oauth === true) return {};
  const inOne = (value: unknown) => Array.isArray(value) ? names(value).join(" ") : value;
  if (Array.isArray(oauth)) return { scope: names(oauth).join(" ") };
  if (!isObject(oauth)) return undefined;
  if (oauth.enabled === false) return {};
  const { clientId, client_id, CLIENT_ID, scope, scopes, callbackPort, enabled: _, ...unknown } = oauth;
  if (Object.values(unknown).some((value) => value !== undefined)) return undefined;
  const found = {
    client_id: clientId ?? client_id ?? CLIENT_ID,
    scope: inOne(scopes ?? scope),
    redirect_uri: callbackPort === undefined ? undefined : `http://localhost:${callbackPort}/callback`,
  };
  const entries = Object.entries(found).filter(([, value]) => value !== undefined && value !== "");
  const texts = entries.filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return texts.length === entries.length ? Object.fromEntries(texts) : undefined;
}

/** A value inside a list or a map that is no text: an object there is refused by the schema as the JSON it is. */
function text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}

function names(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string" && item !== "") : [];
}

function notes(flat: Record<string, unknown>): string[] {
  const only = names(flat.only);
  if (only.length === 0) return [];
  return [`the client offered only ${oneLine(only.join(", "), 200)}; AgentCards offers every tool it does not deny`];
}
