import { isObject } from "../../model/mod.ts";
import type { ClientId } from "./client.ts";

type Entry = Record<string, unknown>;

/** A client's entry with every client's peculiar keys brought down to the same few. Values are not yet translated. */
export function flatten(entry: Entry, client: ClientId): Entry {
  const flat: Entry = {
    ...entry,
    url: entry.url ?? entry.serverUrl ?? entry.httpUrl,
    oauth: entry.oauth ?? (isObject(entry.auth) ? entry.auth : undefined),
    deny: entry.disabledTools ?? entry.excludeTools,
    approve: undefined,
    only: entry.includeTools ?? entry.enabledTools,
  };
  if (client === "gemini") return flattenGemini(entry, flat);
  if (client === "codex") return flattenCodex(entry, flat);
  if (client === "zed") return flattenZed(entry, flat);
  return flat;
}

/** Gemini's `url` alone means SSE; `httpUrl` is Streamable HTTP and wins over it. */
function flattenGemini(entry: Entry, flat: Entry): Entry {
  return {
    ...flat,
    url: entry.httpUrl ?? entry.url,
    type: entry.type ?? (entry.url && !entry.httpUrl ? "sse" : undefined),
    oauth: flat.oauth ?? (entry.authProviderType || undefined),
  };
}

function flattenCodex(entry: Entry, flat: Entry): Entry {
  const reference = (name: unknown) => `\${${name}}`;
  const headers: Entry = { ...(isObject(entry.http_headers) ? entry.http_headers : {}) };
  for (const [key, name] of Object.entries(isObject(entry.env_http_headers) ? entry.env_http_headers : {})) {
    headers[key] = reference(name);
  }
  if (entry.bearer_token_env_var) headers.Authorization = `Bearer ${reference(entry.bearer_token_env_var)}`;
  else if (entry.bearer_token) headers.Authorization = `Bearer ${entry.bearer_token}`;
  const env: Entry = { ...(isObject(entry.env) ? entry.env : {}) };
  for (const item of Array.isArray(entry.env_vars) ? entry.env_vars : []) {
    const name = isObject(item) ? item.name : item;
    if (typeof name === "string") env[name] ??= reference(name);
  }
  const tools = Object.entries(isObject(entry.tools) ? entry.tools : {});
  const asked = tools.filter(([, tool]) => isObject(tool) && tool.approval_mode === "prompt").map(([name]) => name);
  const seconds = (value: unknown) => typeof value === "number" ? value * 1000 : undefined;
  return {
    ...flat,
    headers,
    env,
    oauth: entry.oauth ?? entry.oauth_resource ?? entry.scopes,
    timeout: seconds(entry.tool_timeout_sec),
    start_timeout: entry.startup_timeout_ms ?? seconds(entry.startup_timeout_sec),
    deny: entry.disabled_tools,
    only: entry.enabled_tools,
    approve: entry.default_tools_approval_mode === "prompt" ? ["*"] : asked,
  };
}

/** Zed's oldest form nests the program under `command`; an extension's server has settings and no command at all. */
function flattenZed(entry: Entry, flat: Entry): Entry {
  const nested = isObject(entry.command) ? entry.command : undefined;
  const extension = !entry.command && !entry.url;
  if (!nested) return { ...flat, extension };
  return { ...flat, extension, command: nested.path, args: nested.args, env: nested.env };
}
