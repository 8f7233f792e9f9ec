import { resourceAddress } from "./exposure.ts";
import type { Session } from "./session.ts";

/** What one client watches: resources by what it calls them, each for as long as some request of it wants it. */
export interface Watching {
  /** Watches more, for the request of that name; one that nobody has is refused. */
  add(holder: unknown, uris: readonly string[]): Promise<void>;
  /** No longer watches what only that request wanted; of one resource, or of all. */
  drop(holder: unknown, uri?: string): Promise<void>;
  /** How the client calls a resource that a server says has changed, if it watches it. */
  namesOf(server: string, uri: string): readonly string[];
  close(): void;
}

/** How many resources one client may watch. */
const MAX_WATCHED = 1_000;

export function createWatching(session: Session): Watching {
  /** By request: what the client calls it, and where it is. */
  const held = new Map<unknown, Map<string, { server: string; name: string }>>();
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

  return {
    async add(holder, uris) {
      const places = held.getOrInsertComputed(holder, () => new Map());
      for (const uri of uris.slice(0, MAX_WATCHED)) places.set(uri, await resourceAddress(session, uri));
      await tellServers();
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
