import type { Session } from "../call/mod.ts";
import { type Address, AgentCardsError, nobody } from "../model/mod.ts";
import { resourceAddress } from "./exposure.ts";

/** The resources that one client watches, by the client's names, each for as long as one of its requests wants it. */
export interface Watching {
  /** Watches more, for the request of that name; what cannot be watched is said, and keeps nothing else from it. */
  add(holder: unknown, uris: readonly string[]): Promise<readonly unknown[]>;
  /** No longer watches what only that request wanted; of one resource, or of all. */
  drop(holder: unknown, uri?: string): Promise<void>;
  /** The client's names of a resource that has changed, where it watches the resource. */
  namesOf(server: string, uri: string): readonly string[];
  close(): void;
}

/** The number of resources that one client may watch. */
const MAX_WATCHED = 1_000;

export function createWatching(session: Session): Watching {
  /** By request: what the client calls it, and where it is. */
  const held = new Map<unknown, Map<string, Address>>();
  const watchedOn = new Set<string>();

  async function tellServers(): Promise<void> {
    const wanted = new Map<string, Set<string>>([...watchedOn].map((server) => [server, new Set()]));
    for (const places of held.values()) {
      for (const { server, name } of places.values()) {
        wanted.getOrInsertComputed(server, () => new Set<string>()).add(name);
        watchedOn.add(server);
      }
    }
    await Promise.all([...wanted].map(([server, uris]) => session.server(server).watch(session, [...uris])));
  }

  /** The place of a resource, if it may be read without asking anybody. */
  async function watchable(uri: string): Promise<Address> {
    const count = held.values().reduce((sum, places) => sum + places.size, 0);
    if (count >= MAX_WATCHED) {
      throw new AgentCardsError("INPUT_INVALID", `At most ${MAX_WATCHED} resources are watched`);
    }
    const { server, name } = await resourceAddress(session, uri);
    const place = Promise.withResolvers<Address>();
    await session.call({
      ...nobody(new AbortController().signal),
      id: crypto.randomUUID(),
      address: { server, name },
      method: "resources/subscribe",
      params: { uri: name },
      origin: { by: "agent" },
      effect: "read",
      // All subscriptions of a client are one set at the server.
      deliver({ address }) {
        place.resolve(address);
        return Promise.resolve({ kind: "result", result: {} });
      },
    });
    return await place.promise;
  }

  return {
    async add(holder, uris) {
      const problems: unknown[] = [];
      for (const uri of uris) {
        try {
          const place = await watchable(uri);
          held.getOrInsertComputed(holder, () => new Map()).set(uri, place);
        } catch (error) {
          problems.push(error);
        }
      }
      await tellServers();
      return problems;
    },
    async drop(holder, uri) {
      if (!held.has(holder)) return;
      if (uri === undefined) held.delete(holder);
      else held.get(holder)!.delete(uri);
      await tellServers();
    },
    namesOf(server, uri) {
      const found = [...held.values()].flatMap((places) => [...places]);
      const names = found.filter(([, place]) => place.server === server && place.name === uri).map(([name]) => name);
      return [...new Set(names)];
    },
    close() {
      held.clear();
      tellServers().catch(() => {});
    },
  };
}
