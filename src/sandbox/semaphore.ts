/** Lets so many in at once; the others wait in line. What it gives lets the next one in; nothing when given up before. */
export function createDoor(most: number): (signal: AbortSignal) => Promise<(() => void) | undefined> {
  const line: (() => void)[] = [];
  let inside = 0;

  const leave = () => {
    const next = line.shift();
    if (next) next();
    else inside--;
  };

  return async (signal) => {
    if (signal.aborted) return undefined;
    if (inside < most) {
      inside++;
      return once(leave);
    }
    const { promise, resolve } = Promise.withResolvers<(() => void) | undefined>();
    const enter = () => {
      signal.removeEventListener("abort", giveUp);
      resolve(once(leave));
    };
    const giveUp = () => {
      line.splice(line.indexOf(enter), 1);
      resolve(undefined);
    };
    line.push(enter);
    signal.addEventListener("abort", giveUp, { once: true });
    return await promise;
  };
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}
