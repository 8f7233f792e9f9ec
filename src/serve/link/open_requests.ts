/** A request of the client that has no answer yet. */
export interface OpenRequest {
  readonly id: string | number;
  readonly method: string;
  /** The tool that it calls. */
  readonly tool?: string;
  /** The resource that it begins or ends to watch. */
  readonly uri?: string;
  readonly isStateless: boolean;
  readonly line: Uint8Array;
  /** The number of engines that were sent it. */
  readonly sent: number;
}

interface Kept extends Omit<OpenRequest, "line"> {
  /** The frame as it came; none where there were too many bytes to keep. */
  line: Uint8Array | undefined;
  sent: number;
  isCancelled: boolean;
}

/** The bytes of frames that are kept to be sent again. */
const MOST_BYTES = 32 * 1024 * 1024;
/** From this size on a frame is large: those go first when there is no room. */
const LARGE = 64 * 1024;
/** A request that so many engines did not survive may be the reason. */
const MOST_ENGINES = 5;

/** Requests without an answer, by the JSON text of their id, in the order in which they came. */
export function createOpenRequests({ mostBytes = MOST_BYTES } = {}) {
  const open = new Map<string, Kept>();
  let bytes = 0;

  function drop(request: Kept): void {
    bytes -= request.line?.length ?? 0;
    request.line = undefined;
  }

  /** Gives up the frames of the oldest large requests, then those of the oldest. */
  function makeRoom(): void {
    for (const least of [LARGE, 0]) {
      for (const request of open.values()) {
        if (bytes <= mostBytes) return;
        if (request.method !== "subscriptions/listen" && (request.line?.length ?? 0) > least) drop(request);
      }
    }
  }

  function remove(key: string): Kept | undefined {
    const request = open.get(key);
    if (request) bytes -= request.line?.length ?? 0;
    open.delete(key);
    return request;
  }

  /** Takes out the requests that `isGone` holds for. A cancelled one has no answer to wait for. */
  function take(isGone: (request: Kept) => boolean): OpenRequest[] {
    const gone = [...open].filter(([, request]) => request.method !== "subscriptions/listen" && isGone(request));
    for (const [key] of gone) remove(key);
    return gone.flatMap(([, { line = NOTHING, isCancelled, ...request }]) => isCancelled ? [] : { ...request, line });
  }

  return {
    has: (key: string) => open.has(key),
    add(key: string, request: OpenRequest): void {
      remove(key);
      open.set(key, { ...request, isCancelled: false });
      bytes += request.line.length;
      if (bytes > mostBytes) makeRoom();
    },
    /**
     * Forgets a request that the client gave up. One that an engine was sent before it went stays until the next engine
     * hears both: a workflow that it began must not go on.
     */
    cancel(key: string, isHeard: boolean): void {
      const request = open.get(key);
      if (!request || isHeard || request.sent === 0) remove(key);
      else request.isCancelled = true;
    },
    remove,
    takeAll: () => take(() => true),
    takeLost: (all: boolean) =>
      take(({ sent, line }) => sent > 0 && (all || line === undefined || sent >= MOST_ENGINES)),
    /** The frames for a new engine; those that none was sent yet come by themselves. */
    sendAll(): OpenRequest[] {
      const frames = [...open.values()].flatMap(({ line, isCancelled: _, ...request }) =>
        line && request.sent > 0 ? { ...request, line } : []
      );
      for (const [key, request] of [...open]) {
        request.sent++;
        if (request.isCancelled) remove(key);
      }
      return frames;
    },
  };
}

const NOTHING = new Uint8Array();
