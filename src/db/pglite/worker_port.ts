import { AgentCardsError } from "../../model/mod.ts";
import type { Reply, Request, Told } from "./worker.ts";

type Sendable = Request extends infer R ? R extends Request ? Omit<R, "id"> : never : never;

/** The main thread's side of the database's Worker. */
export interface WorkerPort {
  /** An answer that does not come within `deadlineMs` means that the Worker hangs: it is ended. */
  send(request: Sendable, deadlineMs: number): Promise<unknown>;
  terminate(): void;
}

interface Waiter extends PromiseWithResolvers<unknown> {
  readonly timer: ReturnType<typeof setTimeout>;
}

/** Starts a Worker; `onDeath` hears of an end that nobody asked for. */
export function startWorker(onDeath: (reason: Error) => void): WorkerPort {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "pglite" });
  const waiting = new Map<number, Waiter>();
  let last = 0;
  let dead: Error | undefined;

  function end(reason: Error): void {
    if (dead) return;
    dead = reason;
    worker.terminate();
    for (const { reject, timer } of waiting.values()) {
      clearTimeout(timer);
      reject(reason);
    }
    waiting.clear();
  }
  function die(message: string): void {
    if (dead) return;
    const reason = new AgentCardsError("DB_UNUSABLE", message, {
      hint: "It is opened anew by itself; `agentcards status` says whether it is back.",
    });
    end(reason);
    onDeath(reason);
  }

  worker.onmessage = ({ data: { id, value, error, isFatal } }: MessageEvent<Reply>) => {
    const waiter = waiting.get(id);
    waiting.delete(id);
    clearTimeout(waiter?.timer);
    if (error === undefined) waiter?.resolve(value);
    else waiter?.reject(errorOf(error));
    if (isFatal) die(`The database broke down: ${error?.message}`);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    die(`The database broke down: ${event.message}`);
  };
  return {
    send(request, deadlineMs) {
      if (dead) return Promise.reject(dead);
      const id = ++last;
      // Throws on what cannot be sent, and then nobody waits.
      worker.postMessage({ id, ...request });
      const timer = setTimeout(() => die(`The database did not answer within ${deadlineMs / 1000} s`), deadlineMs);
      const waiter = { ...Promise.withResolvers<unknown>(), timer };
      waiting.set(id, waiter);
      return waiter.promise;
    },
    terminate: () => end(new AgentCardsError("DB_UNUSABLE", "The database is closed")),
  };
}

function errorOf({ message, sqlState, ours }: Told): Error {
  if (ours) return new AgentCardsError(ours.code, message, ours);
  return Object.assign(new Error(message), sqlState !== undefined && { sqlState });
}
