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
