import {
  AgentCardsError,
  type Ask,
  type Call,
  type Caller,
  type Capabilities,
  type Human,
  type ServerRequest,
  takes,
} from "../../model/mod.ts";
import type { ClientSide } from "../session.ts";
import { askClient, askOf, declared, offered, questionText } from "./asking.ts";

/** The caller of one call of a run, ready to take its server's questions. */
export interface RunCaller extends Caller {
  readonly id: string;
  /** The question that made the call be given up, if one did. */
  unanswered(): string | undefined;
}

export interface QuestionOptions {
  /** The calls that wait for a server. */
  calls(server: string): ReadonlySet<Call>;
  /** The client of the session that carries the run: it counts where nobody watches the run. */
  client(): Pick<ClientSide, "capabilities">;
  /** Takes personal data out of a text for the agent. */
  clean(text: string, server: string): string;
}

interface Open {
  readonly text: string;
  refuse(): void;
}

/** The interval at which a question without a person to answer it checks if its call is the only one left. */
const LOOK_EVERY_MS = 50;

/**
 * Carries the questions of servers to those who watch a run. One that nobody can answer gives its call up, but an older
 * server does not say which call it asks for. So the question stays open until only one call is under way on its server:
 * a call that asks cannot end, and the others will. If the only one is not a call of this run, or if a call was given up
 * meanwhile, which may have been the one that asked, the question is refused and no call is touched.
 */
export function createQuestions(
  watchers: ReadonlySet<Caller>,
  { calls: callsOn, client, clean }: QuestionOptions,
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
      const under = [...callsOn(server)];
      if (under.length > 1) continue;
      const only = under[0] && calls.get(under[0].id);
      const [first] = questions;
      refuse(server);
      only?.(first!.text);
    }
  }

  /** The calls of the run by their ids, each with the function that gives it up. */
  const calls = new Map<string, (question: string) => void>();

  function ask(server: string, request: ServerRequest, until: AbortSignal): Promise<never> {
    const text = `it asks: ${clean(questionText(request), server)}`;
    const refused = Promise.withResolvers<never>();
    const here = open.getOrInsertComputed(server, () => new Set());
    const question: Open = {
      text,
      refuse: () => refused.reject(new AgentCardsError("NO_HUMAN", "Nobody is connected who could answer")),
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

  const canAsk = () => [...watchers].some((watcher) => askOf(watcher) && !watcher.signal.aborted);

  /** Puts a question to the watchers who can ask their human, the last first; throws when there is none left. */
  async function put<T>(
    question: (ask: Ask) => Promise<T>,
    signal: AbortSignal,
    fits: (human: Human) => boolean = () => true,
  ): Promise<T> {
    for (;;) {
      const watcher = [...watchers].findLast((one) => askOf(one) && !one.signal.aborted && fits(one.human));
      const ask = watcher && askOf(watcher);
      if (!ask) throw new AgentCardsError("NO_HUMAN", "Nobody is connected who could ask a human");
      const answer = await unlessGone(question(ask), [signal, watcher.signal]);
      if (answer) return answer.value;
      signal.throwIfAborted();
    }
  }

  const lastLogger = () => [...watchers].findLast((watcher) => watcher.client.log)?.client;

  return {
    putApproval: <T>(question: (ask: Ask) => Promise<T>, signal: AbortSignal) =>
      put(question, signal, (human) => human.kind !== "here" || human.approvals !== "elsewhere"),
    begin(server: string, { signal, progress, owner, allow }: Begun): RunCaller {
      const own = new AbortController();
      const id = crypto.randomUUID();
      const both = AbortSignal.any([signal, own.signal]);
      let unanswered: string | undefined;
      calls.set(id, (question) => {
        unanswered = question;
        own.abort();
      });
      return {
        id,
        signal: both,
        unanswered: () => unanswered,
        client: {
          owner,
          progress,
          asked: {},
          get turn() {
            return [...watchers].findLast(askOf)?.client.turn;
          },
          get capabilities() {
            return watchers.size > 0 ? together(watchers) : offered(client().capabilities);
          },
          request: (request, until) =>
            askClient(
              request,
              [...watchers].findLast((one) => one.client.request && takes(request, one.client.capabilities)),
              until,
            ),
          get logLevel() {
            return lastLogger()?.logLevel;
          },
          log: (said) => lastLogger()?.log?.(said),
        },
        human: {
          kind: "later",
          canAsk,
          allow,
          ask: async (request, until) => {
            try {
              return await put((putTo) => putTo(request, AbortSignal.any([until, both])), both);
            } catch {
              return await ask(server, request, until);
            }
          },
        },
      };
    },
    /** `wasGivenUp`: the call got no answer of its server. */
    end(server: string, { id, unanswered }: RunCaller, wasGivenUp: boolean): void {
      calls.delete(id);
      if (wasGivenUp && unanswered() === undefined) refuse(server);
      else if (open.has(server)) look();
    },
  };
}

type Begun = Pick<Caller, "signal"> & {
  readonly progress: NonNullable<Caller["client"]["progress"]>;
  readonly owner: unknown;
  readonly allow: (Human & { kind: "later" })["allow"];
};

/** The capabilities of all who watch a run together. */
function together(watchers: ReadonlySet<Caller>): Capabilities {
  return Object.assign({}, ...[...watchers].map(declared));
}

/** The value of a promise; undefined when one of the signals aborts first. */
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
