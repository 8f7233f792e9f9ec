import {
  calledId,
  type CallResult,
  canonicalJson,
  isFailure,
  isObject,
  matchesPattern,
  type ToolResult,
} from "../../model/mod.ts";
import type { Session } from "../session.ts";
import type { Stage } from "./stage.ts";

/** The key under which an answer from the cache says how old it is, in milliseconds. */
export const CACHED = "agentcards/cached_ms";
const MOST_ENTRIES = 500;
const MOST_CHARACTERS = 8_000_000;
const LONGEST_KEY = 20_000;

interface Entry {
  readonly server: string;
  readonly result: ToolResult;
  readonly at: number;
  readonly size: number;
}

/**
 * Answers reads of the tools that `cache` names from their last result, for as long as it says, with the age. A call that
 * acts on a server ends what is kept of that server.
 */
export function cache({ config, inMemory }: Pick<Session, "config" | "inMemory">): Stage {
  const entries = new Map<string, Entry>();
  let held = 0;

  function remove(key: string): void {
    held -= entries.get(key)?.size ?? 0;
    entries.delete(key);
  }

  function forget(server: string): void {
    for (const [key, entry] of entries) if (entry.server === server) remove(key);
  }

  function keep(key: string, entry: Entry): void {
    remove(key);
    entries.set(key, entry);
    held += entry.size;
    while (entries.size > MOST_ENTRIES || held > MOST_CHARACTERS) remove(entries.keys().next().value!);
  }

  return async (call, next) => {
    const { method, effect, params, address: { server, name } } = call;
    if (method !== "tools/call") return await next(call);
    if (effect !== "read") {
      try {
        return await next(call);
      } finally {
        forget(server);
      }
    }
    const age = ageOf(config.cache, calledId(call));
    const key = age === undefined || params.requestState !== undefined ? undefined : canonicalJson([
      calledId(call),
      inMemory(server, name)?.hash ?? "",
      isObject(params.arguments) ? params.arguments : {},
    ]);
    if (key === undefined || key.length > LONGEST_KEY) return await next(call);
    const known = entries.get(key);
    const now = performance.now();
    if (known && now - known.at <= age!) {
      await call.beforeSend?.(call.approval);
      return { kind: "result", result: aged(known.result, now - known.at) };
    }
    const result = await next(call);
    if (isWhole(result)) {
      const size = JSON.stringify(result.result).length;
      if (size <= MOST_CHARACTERS / 8) keep(key, { server, result: result.result, at: performance.now(), size });
    }
    return result;
  };
}

/** The time for which the results of a tool are kept; of several patterns that fit, the longest counts. */
function ageOf(cache: Readonly<Record<string, number>>, id: string): number | undefined {
  const fitting = Object.entries(cache).filter(([pattern]) => matchesPattern(pattern, id));
  return fitting.sort(([a], [b]) => b.length - a.length)[0]?.[1];
}

/** True for an answer; a server's question is none, and a failure may be over. */
function isWhole(result: CallResult): result is Extract<CallResult, { kind: "result" }> {
  return result.kind === "result" && !isFailure(result) && Array.isArray(result.result.content) &&
    result.result.requestState === undefined;
}

function aged(result: ToolResult, ms: number): ToolResult {
  return { ...result, _meta: { ...isObject(result._meta) ? result._meta : {}, [CACHED]: Math.round(ms) } };
}
