import type { Home } from "../config/start.ts";
import { identityOf } from "../db/start.ts";
import { unrefTimer } from "../platform/start.ts";

/**
 * The files by which a process owns a home: its lock, its data folder, its socket. A lock protects the file it was taken
 * on, not the path: whoever removes or replaces one of them lets a second engine in.
 */
export interface Possession extends Disposable {
  /** True while all of them are still the ones that were taken. Takes some 10 µs; once false, it stays false. */
  isStillOurs(): boolean;
  /** Counts a path among them as it is now. */
  add(path: string): void;
  /** Counts a path no more: it is about to be removed by its owner. */
  drop(path: string): void;
}

const LOOK_EVERY_MS = 1_000;

/** Looks after a home whose lock this process holds; `onLost` is told once, with the path that is another's or gone. */
export function watchPossession(home: Home, onLost: (path: string) => void): Possession {
  const taken = new Map<string, string>();
  let isLost = false;

  function add(path: string): void {
    const identity = identityOf(path);
    if (identity !== undefined) taken.set(path, identity);
  }

  function isStillOurs(): boolean {
    if (isLost) return false;
    if (!taken.has(home.data)) addData();
    for (const [path, identity] of taken) {
      if (identityIfKnown(path, identity) === identity) continue;
      isLost = true;
      onLost(path);
      return false;
    }
    return true;
  }

  /** A new home has none until the first opening of the database has put it there, whole. */
  function addData(): void {
    if (identityIfKnown(`${home.data}/PG_VERSION`)) add(home.data);
  }

  add(home.lock);
  addData();
  const timer = setInterval(isStillOurs, LOOK_EVERY_MS);
  unrefTimer(timer);
  return {
    isStillOurs,
    add,
    drop: (path) => void taken.delete(path),
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** A path that cannot be looked at, because of its permissions or its disk, says nothing about who owns it. */
function identityIfKnown(path: string, otherwise?: string): string | undefined {
  try {
    return identityOf(path);
  } catch {
    return otherwise;
  }
}
