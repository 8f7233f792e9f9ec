import { setImmediate } from "node:timers";

/** Lets work on the same thing take turns; work on different things does not wait. */
export function createTurns() {
  const last = new Map<string, Promise<unknown>>();
  return <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const turn = (last.get(key) ?? Promise.resolve()).then(work, work);
    const settled = turn.catch(() => {}).then(() => {
      if (last.get(key) === settled) last.delete(key);
    });
    last.set(key, settled);
    return turn;
  };
}

/** The time that work may keep the event loop before others are served. */
const SLICE_MS = 4;

/** For long loops: each call gives the turn to others if the loop has kept it for too long. */
export function createBreather(sliceMs = SLICE_MS): () => Promise<void> | undefined {
  let began = performance.now();
  return () => {
    if (performance.now() - began < sliceMs) return undefined;
    return nextTurn().then(() => {
      began = performance.now();
    });
  };
}

/** Resolves after everything else that waits for its turn has had it. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
