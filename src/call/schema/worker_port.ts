import type { JsonObject } from "../../model/mod.ts";
import { log } from "../../telemetry/mod.ts";
import { unrefTimer } from "../../platform/start.ts";
import type { CheckedTool } from "./check.ts";
import type { SchemaReply, SchemaRequest } from "./worker.ts";

/** A check that takes longer is given up, and its schema is not tried again. */
const CHECK_MS = 1_500;
/** Loading the validator is no part of a check. */
const START_MS = 10_000;
const IDLE_MS = 10_000;
const MOST_WAITING = 100;
const MOST_SCHEMAS = 500;

interface Waiter {
  readonly hash: string;
  readonly timer: ReturnType<typeof setTimeout>;
  resolve(problems: string[]): void;
}

interface Running {
  readonly worker: Worker;
  readonly ready: Promise<void>;
  readonly waiting: Map<number, Waiter>;
  /** Schemas that it has. */
  readonly sent: Set<string>;
  idle?: ReturnType<typeof setTimeout>;
}

/** Checks arguments in a Worker. No answer in time is no problem found: then the server has the last word. */
export function createSchemaWorker() {
  const refused = new Set<string>();
  let running: Running | undefined;
  let last = 0;

  function start(): Running {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "schemas" });
    const ready = Promise.withResolvers<void>();
    const started: Running = { worker, ready: ready.promise, waiting: new Map(), sent: new Set() };
    worker.onmessage = ({ data }: MessageEvent<SchemaReply>) => {
      if (data === "ready") return ready.resolve();
      const waiter = started.waiting.get(data.id);
      if (!waiter) return;
      started.waiting.delete(data.id);
      clearTimeout(waiter.timer);
      waiter.resolve(data.problems);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      ready.resolve();
      end(started);
    };
    return started;
  }

  function end(ended: Running): void {
    if (running === ended) running = undefined;
    clearTimeout(ended.idle);
    ended.worker.terminate();
    for (const { timer, resolve } of ended.waiting.values()) {
      clearTimeout(timer);
      resolve([]);
    }
    ended.waiting.clear();
  }

  /** Requests are answered in order, so the oldest one is what keeps the Worker. */
  function expire(late: Running, ms: number): void {
    const [oldest] = late.waiting.values();
    if (oldest) {
      if (refused.size >= MOST_SCHEMAS) refused.delete(refused.values().next().value!);
      refused.add(oldest.hash);
      log("warning", "schema_not_checked", { hash: oldest.hash, ms });
    }
    end(late);
  }

  return {
    async check({ hash, inputSchema }: CheckedTool, args: JsonObject): Promise<string[]> {
      if (refused.has(hash)) return [];
      const used = running ??= start();
      clearTimeout(used.idle);
      const startTimer = setTimeout(() => expire(used, START_MS), START_MS);
      await used.ready;
      clearTimeout(startTimer);
      if (running !== used || used.waiting.size >= MOST_WAITING) return [];
      const answer = Promise.withResolvers<string[]>();
      const id = ++last;
      const timer = setTimeout(() => expire(used, CHECK_MS), CHECK_MS);
      used.waiting.set(id, { hash, timer, resolve: answer.resolve });
      const request: SchemaRequest = { id, hash, args, ...!used.sent.has(hash) && { inputSchema } };
      if (used.sent.size >= MOST_SCHEMAS) used.sent.clear();
      used.sent.add(hash);
      used.worker.postMessage(request);
      const problems = await answer.promise;
      if (running === used && used.waiting.size === 0) {
        clearTimeout(used.idle);
        used.idle = setTimeout(() => end(used), IDLE_MS);
        unrefTimer(used.idle as unknown as number);
      }
      return problems;
    },
  };
}
