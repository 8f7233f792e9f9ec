/** A two-queue LRU cache: entries that were used once never evict entries that were used repeatedly. */
export interface Places<T> {
  get(name: string): T | undefined;
  /** The value of a key, made if it is new. The key counts as the one that was used last. */
  visit(name: string): T;
  /** The same for a place that was known before. */
  restore(name: string): T;
}

export interface PlacesOptions<T> {
  readonly make: () => T;
  /** The most keys that were used more than once. */
  readonly mostKnown: number;
  /** The most keys that were used once: most of them are never used again. */
  readonly mostNew: number;
}

/** Remembers the places that were visited last; new ones push out new ones only, however many there are. */
export function createPlaces<T>({ make, mostKnown, mostNew }: PlacesOptions<T>): Places<T> {
  // In both, what was not visited for longest stands first.
  const [known, fresh] = [new Map<string, T>(), new Map<string, T>()];

  function put(places: Map<string, T>, most: number, name: string, value: T): T {
    places.set(name, value);
    if (places.size > most) places.delete(places.keys().next().value!);
    return value;
  }

  function take(name: string): T | undefined {
    const value = known.get(name) ?? fresh.get(name);
    if (!known.delete(name)) fresh.delete(name);
    return value;
  }

  const restore = (name: string) => put(known, mostKnown, name, take(name) ?? make());

  return {
    get: (name) => known.get(name) ?? fresh.get(name),
    visit: (name) => known.has(name) || fresh.has(name) ? restore(name) : put(fresh, mostNew, name, make()),
    restore,
  };
}
