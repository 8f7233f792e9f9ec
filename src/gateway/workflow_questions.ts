import type { ServerRequest } from "../mcp/upstream.ts";
import { AgentCardsError } from "../model/errors.ts";
import { oneLine } from "../model/text.ts";
import type { Caller } from "./caller.ts";

/** One call of a run, ready to take its server's questions. */
export interface AskingCall extends Caller {
  /** The question that made the call be given up, if one did. */
  unanswered(): string | undefined;
  end(): void;
}

interface Call {
  give(question: string): void;
}

interface Open {
  readonly text: string;
  refuse(): void;
}

/**
 * Carries the questions of servers to those who watch a run. One that nobody can answer gives its call up. But an older
 * server does not say which call it asks for: the question stays open until every call that is still under way on its
 * server has one, since a call that asks cannot end, and those that do not ask will.
 */
export function createQuestions(watchers: ReadonlySet<Caller>) {
  const servers = new Map<string, { calls: Set<Call>; open: Set<Open> }>();

  function settle({ calls, open }: { calls: Set<Call>; open: Set<Open> }): void {
    if (open.size === 0 || open.size < calls.size) return;
    const texts = [...open].map(({ text }) => text);
    for (const question of open) question.refuse();
    open.clear();
    for (const call of calls) call.give(texts.shift()!);
  }

  return {
    /** Puts a question to the last watcher who can ask its human; throws when there is none, or when they leave. */
    put: <T>(question: (ask: NonNullable<Caller["ask"]>) => Promise<T>, signal: AbortSignal): Promise<T> => {
      const ask = [...watchers].findLast((watcher) => watcher.ask && !watcher.signal.aborted)?.ask;
      if (!ask) throw new AgentCardsError("INPUT_INVALID", "Nobody is there who could ask a human");
      return whileWatched(question(ask), watchers, signal);
    },
    begin(server: string, given: AbortSignal): AskingCall {
      const here = servers.getOrInsertComputed(server, () => ({ calls: new Set(), open: new Set() }));
      const own = new AbortController();
      const signal = AbortSignal.any([given, own.signal]);
      let unanswered: string | undefined;
      const call: Call = {
        give(question) {
          unanswered = question;
          own.abort();
        },
      };
      here.calls.add(call);
      const ask = async (request: ServerRequest, until: AbortSignal) => {
        try {
          return await this.put((put) => put(request, until), signal);
        } catch {
          const { message } = request.params;
          const text = `it asks: ${oneLine(typeof message === "string" ? message : request.method, 1_000)}`;
          const refused = Promise.withResolvers<never>();
          here.open.add({
            text,
            refuse: () => refused.reject(new AgentCardsError("INPUT_INVALID", "Nobody is there who could answer")),
          });
          settle(here);
          return await refused.promise;
        }
      };
      return {
        signal,
        ask,
        unanswered: () => unanswered,
        end() {
          here.calls.delete(call);
          settle(here);
        },
      };
    },
  };
}

/** What a promise gives, unless everybody who could bring it about is gone. */
async function whileWatched<T>(promise: Promise<T>, watchers: ReadonlySet<Caller>, signal: AbortSignal): Promise<T> {
  const signals = [signal, ...[...watchers].map((watcher) => watcher.signal)];
  const gone = Promise.withResolvers<never>();
  const check = () => {
    if (signal.aborted || [...watchers].every((watcher) => watcher.signal.aborted)) {
      gone.reject(new AgentCardsError("CANCELLED", "Nobody waits for this any more"));
    }
  };
  for (const one of signals) one.addEventListener("abort", check);
  try {
    return await Promise.race([promise, gone.promise]);
  } finally {
    for (const one of signals) one.removeEventListener("abort", check);
  }
}
