import type { Capabilities, ServerRequest } from "../mcp/upstream.ts";
import { AgentCardsError } from "../model/errors.ts";
import { type Ask, type Caller, type ClientSide, declared, offered, takes, wordsOf } from "./caller.ts";

/** One call of a run, ready to take its server's questions. */
export interface AskingCall extends Caller {
  /** The question that made the call be given up, if one did. */
  unanswered(): string | undefined;
}

export interface QuestionOptions {
  /** The callers that wait for a server. */
  callers(server: string): ReadonlySet<Caller>;
  /** The client of the session that carries the run: it counts where nobody watches the run. */
  client(): Pick<ClientSide, "capabilities">;
  /** Takes personal data out of a text for the agent. */
  clean(text: string, server: string): string;
}

interface Open {
  readonly text: string;
  refuse(): void;
}

/** How often a question that nobody can answer looks whether its call is the only one left. */
const LOOK_EVERY_MS = 50;

/**
 * Carries the questions of servers to those who watch a run. One that nobody can answer gives its call up, but an older
 * server does not say which call it asks for. So the question stays open until only one call is under way on its server:
 * a call that asks cannot end, and the others will. If the only one is not a call of this run, or if a call was given up
 * meanwhile, which may have been the one that asked, the question is refused and no call is touched.
 */
export function createQuestions(
  watchers: ReadonlySet<Caller>,
  { callers: callersOf, client, clean }: QuestionOptions,
) {
  const open = new Map<string, Set<Open>>();
  let timer: ReturnType<typeof setInterval> | undefined;

  function refuse(server: string): void {
    for (const question of open.get(server) ?? []) question.refuse();
    open.delete(server);
    if (open.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  function look(): void {
    for (const [server, questions] of [...open]) {
      const under = [...callersOf(server)];
      if (under.length > 1) continue;
      const only = calls.get(under[0]!);
      const [first] = questions;
      refuse(server);
      only?.(first!.text);
    }
  }

  /** Our calls, each with what gives it up. */
  const calls = new Map<Caller, (question: string) => void>();

  function ask(server: string, request: ServerRequest, until: AbortSignal): Promise<never> {
    const text = `it asks: ${clean(wordsOf(request), server)}`;
    const refused = Promise.withResolvers<never>();
    const here = open.getOrInsertComputed(server, () => new Set());
    const question: Open = {
      text,
      refuse: () => refused.reject(new AgentCardsError("INPUT_INVALID", "Nobody is there who could answer")),
    };
    here.add(question);
    until.addEventListener("abort", () => {
      here.delete(question);
      question.refuse();
      if (here.size === 0) refuse(server);
    });
    timer ??= setInterval(look, LOOK_EVERY_MS);
    look();
    return refused.promise;
  }

  const canAsk = () => [...watchers].some((watcher) => watcher.ask && !watcher.signal.aborted);

  /** Puts a question to the watchers who can ask their human, the last first; throws when there is none left. */
  async function put<T>(
    question: (ask: Ask) => Promise<T>,
    signal: AbortSignal,
    fits: (watcher: Caller) => boolean = () => true,
  ): Promise<T> {
    for (;;) {
      const watcher = [...watchers].findLast((one) => one.ask && !one.signal.aborted && fits(one));
      if (!watcher?.ask) throw new AgentCardsError("INPUT_INVALID", "Nobody is there who could ask a human");
      const answer = await unlessGone(question(watcher.ask), [signal, watcher.signal]);
      if (answer) return answer.value;
      signal.throwIfAborted();
    }
  }

  return {
    putApproval: <T>(question: (ask: Ask) => Promise<T>, signal: AbortSignal) =>
      put(question, signal, ({ asksForServersOnly }) => asksForServersOnly !== true),
    begin(server: string, given: Pick<Caller, "signal" | "progress" | "owner">): AskingCall {
      const own = new AbortController();
      let unanswered: string | undefined;
      const call: AskingCall = {
        ...given,
        signal: AbortSignal.any([given.signal, own.signal]),
        canAsk,
        get turn() {
          return [...watchers].findLast((watcher) => watcher.ask)?.turn;
        },
        unanswered: () => unanswered,
        get capabilities() {
          return watchers.size > 0 ? together(watchers) : offered(client().capabilities);
        },
        request: async (request, until) => {
          const client = [...watchers].findLast((one) => one.request && takes(request, one.capabilities));
          if (client?.request) return await client.request(request, until);
          throw new AgentCardsError("INPUT_INVALID", `No client is there that takes ${request.method}`);
        },
        get logLevel() {
          return [...watchers].findLast((watcher) => watcher.log)?.logLevel;
        },
        log: (said) => [...watchers].findLast((watcher) => watcher.log)?.log?.(said),
        ask: async (request, until) => {
          try {
            return await put((putTo) => putTo(request, AbortSignal.any([until, call.signal])), call.signal);
          } catch {
            return await ask(server, request, until);
          }
        },
      };
      calls.set(call, (question) => {
        unanswered = question;
        own.abort();
      });
      return call;
    },
    /** `wasGivenUp`: it got no answer of its server. */
    end(server: string, call: AskingCall, wasGivenUp: boolean): void {
      calls.delete(call);
      if (wasGivenUp && call.unanswered() === undefined) refuse(server);
      else if (open.has(server)) look();
    },
  };
}

/** The capabilities of all who watch a run together. */
function together(watchers: ReadonlySet<Caller>): Capabilities {
  return Object.assign({}, ...[...watchers].map(declared));
}

/** What a promise gives; undefined when somebody without whom it cannot come about is gone first. */
async function unlessGone<T>(promise: Promise<T>, signals: readonly AbortSignal[]): Promise<{ value: T } | undefined> {
  const gone = Promise.withResolvers<undefined>();
  const leave = () => gone.resolve(undefined);
  for (const signal of signals) {
    signal.addEventListener("abort", leave);
    if (signal.aborted) leave();
  }
  try {
    return await Promise.race([promise.then((value) => ({ value })), gone.promise]);
  } finally {
    for (const signal of signals) signal.removeEventListener("abort", leave);
  }
}
