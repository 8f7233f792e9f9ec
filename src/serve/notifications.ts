import type { ServerEvent } from "../mcp/mod.ts";
import { describe, isObject, oneLine, withoutInvisible } from "../model/mod.ts";
import { log } from "../telemetry/mod.ts";
import type { WorkSession } from "../workflow/mod.ts";
import type { createCalls } from "./requests.ts";
import { answerList } from "./lists.ts";
import { isLogLevel } from "./log_level.ts";
import { createWatching, type Watching } from "./subscriptions.ts";
import { META } from "./wire/era.ts";

type Message = Record<string, unknown>;

export interface ClientSideOptions {
  readonly session: Promise<WorkSession>;
  readonly calls: ReturnType<typeof createCalls>;
  send(message: Message): void;
  /** Tells the client what it has asked to hear of. */
  notify(method: string, params?: Message): void;
  /** True if the client shook hands in the older way, and so hears everything without asking. */
  hasHandshake(): boolean;
  readonly isCrowd: boolean;
}

/** Serves one client beside its calls: lists, changes, log messages of all servers. */
export function createClientSide({ session, calls, send, notify, hasHandshake, isCrowd }: ClientSideOptions) {
  let capabilities: Message | undefined;
  let name: string | undefined;
  let logLevel: string | undefined;
  let watching: Watching | undefined;
  let opened: WorkSession | undefined;
  const ready = session.then((open) => {
    watching = createWatching(open);
    opened = open;
    introduce();
    return { session: open, watching };
  });
  ready.catch(() => {});

  /** Tells the session who its client is, anew whenever the client has said more. */
  function introduce(): void {
    const open = opened;
    if (!open) return;
    const tell = (server: string, event: ServerEvent) => hear(open, server, event);
    open.client = { isMultiplexed: isCrowd, name, capabilities, logLevel, tell };
  }

  function hear(open: WorkSession, server: string, event: ServerEvent): void {
    if (event.kind === "list_changed") {
      const { tools, resources } = open.config.expose;
      const isShown = event.list === "tools" ? tools === "direct" : resources;
      if (isShown) notify(`notifications/${event.list}/list_changed`);
      return;
    }
    const said = withoutInvisible(event.params);
    const params = open.privacy?.hide(said, server) ?? said;
    if (event.kind === "elicitation_complete") {
      if (hasHandshake()) send({ method: "notifications/elicitation/complete", params });
    } else if (event.kind === "log") logged(open, server, params);
    else {
      for (const uri of watching?.namesOf(server, String(event.params.uri)) ?? []) {
        notify("notifications/resources/updated", { ...params, uri });
      }
    }
  }

  /** A server does not say which call it logs for: it is told with the last one that waits for it. */
  function logged(open: WorkSession, server: string, params: Message): void {
    const logger = open.config.expose.prefix === "none"
      ? params.logger
      : typeof params.logger === "string"
      ? `${server}/${params.logger}`
      : server;
    const message = { ...params, ...logger !== undefined && { logger } };
    const waiting = [...open.calls(server)].map(({ client }) => client);
    const client = waiting.findLast((one) => one.log);
    // Of many clients or sessions nobody hears what may be about another one's call.
    if (isCrowd && waiting.length > 1 || waiting.some(({ owner }) => owner !== open)) return;
    if (client) client.log!(message);
    else if (hasHandshake() && calls.isLogged(params.level)) send({ method: "notifications/message", params: message });
  }

  /** Whatever concerns all servers is passed on to those that are running. */
  async function toServers(method: string, params?: Message): Promise<void> {
    const { session: open } = await ready;
    for (const { server } of open.status()) {
      if (server?.status().state !== "running") continue;
      if (params) server.request(method, params, { timeoutMs: 10_000 }).catch(() => {});
      else server.notify(method);
    }
  }

  const quietly = (work: Promise<unknown>, what: string) =>
    void work.catch((error) => log("debug", what, { reason: describe(error) }));

  async function watch(watched: Watching, id: unknown, uris: readonly string[]): Promise<void> {
    for (const problem of await watched.add(id, uris)) {
      log("debug", "resource_watch_failed", { reason: describe(problem) });
    }
  }

  return {
    /** Notes what a message of the client means for what goes on beside calls. */
    see({ id, method, params: given }: Message): void {
      const params = isObject(given) ? given : {};
      const meta = isObject(params._meta) ? params._meta : {};
      const said = method === "initialize" ? params.capabilities : meta[`${META}clientCapabilities`];
      if (isObject(said) && !isCrowd) capabilities = said;
      const info = method === "initialize" ? params.clientInfo : meta[`${META}clientInfo`];
      if (isObject(info) && typeof info.name === "string" && !isCrowd) name = oneLine(info.name, 100);
      if (said !== undefined || info !== undefined) introduce();
      if (method === "subscriptions/listen" && isObject(params.notifications)) {
        const uris = params.notifications.resourceSubscriptions;
        const wanted = Array.isArray(uris) ? uris.filter((uri) => typeof uri === "string") : [];
        if (wanted.length > 0) quietly(ready.then((open) => watch(open.watching, id, wanted)), "resources not watched");
      } else if (method === "notifications/cancelled") {
        quietly(ready.then((open) => open.watching.drop(params.requestId)), "resources still watched");
      } else if (method === "logging/setLevel" && isLogLevel(params.level)) {
        logLevel = params.level;
        calls.setLogLevel(params.level);
        introduce();
        quietly(toServers(method, { level: params.level }), "log level not set");
      } else if (method === "notifications/roots/list_changed") quietly(toServers(method), "roots not told");
    },
    async answer(method: string, params: Message): Promise<Message | undefined> {
      return await answerList(method, params, await ready);
    },
    close(): void {
      watching?.close();
    },
  };
}
