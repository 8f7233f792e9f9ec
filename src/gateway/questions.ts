import type { Reply, ServerRequest } from "../mcp/upstream.ts";
import { AgentCardsError } from "../model/errors.ts";
import { isObject } from "../model/json.ts";
import { oneLine } from "../model/text.ts";
import { log } from "../telemetry/log.ts";
import { answerAsClient, type Caller, declared, humanNeeded, takes, wordsOf } from "./caller.ts";
import { countQuestion, inTurn } from "./asking_turns.ts";
import { namedMessage, presentable } from "./question_form.ts";
import type { Session } from "./session.ts";

/** A server that keeps asking is cut off after this many rounds. */
const MAX_ROUNDS = 5;
/** What a server wants to be reminded of goes through the client and back. */
const MAX_STATE = 64 * 1024;

/** How long a call waits after a human has gone to a page, for its server to say that all is done there. */
const AT_A_PAGE_MS = 120_000;
const URL_ELICITATION_REQUIRED = -32042;

/** How a call is repeated with answers, and where. */
export interface Repeat {
  readonly session: Session;
  readonly server: string;
  /** The tool that is called, where it is one. */
  readonly tool: string | undefined;
  again(more: Record<string, unknown>): Promise<Reply>;
}

/**
 * A stateless server asks by answering `input_required`. A client of the same protocol gets that as it is and calls
 * again; for any other the questions are put one by one, and the call is repeated with the answers. A server may ask only
 * what was declared to it.
 */
export async function settleQuestions(first: Reply, caller: Caller, repeat: Repeat): Promise<Reply> {
  if (first.kind === "error") return await settlePages(first, caller, repeat);
  let reply: Reply = first;
  for (let round = 0; reply.kind === "result" && isQuestion(reply); round++) {
    const { inputRequests, requestState } = reply.result;
    const questions = Object.entries(isObject(inputRequests) ? inputRequests : {})
      .map(([key, request]): [string, ServerRequest] => [key, presentable(questionOf(request), repeat.server)]);
    if (typeof requestState === "string" ? requestState.length > MAX_STATE : requestState !== undefined) {
      throw new AgentCardsError(
        "INPUT_INVALID",
        `The server's requestState is not a text of at most ${MAX_STATE} bytes`,
      );
    }
    const known = declared(caller);
    const undeclared = questions.find(([, question]) => !takes(question, known));
    if (undeclared) {
      log("warning", "server asked for what it was not offered", {
        server: repeat.server,
        method: oneLine(undeclared[1].method, 60),
      });
      const why = `asks for ${oneLine(undeclared[1].method, 60)}, which this client did not offer`;
      if (repeat.tool !== undefined && undeclared[1].method === "elicitation/create") {
        throw humanNeeded(repeat.tool, why, wordsOf(undeclared[1]));
      }
      throw new AgentCardsError("INPUT_INVALID", `The server ${why}`, { hint: "Use a client that supports it." });
    }
    const callers = repeat.session.callers(repeat.server);
    for (const [, { method }] of questions) countQuestion(caller, method, callers);
    if (caller.takesQuestions && questions.every(([, question]) => takes(question, caller.capabilities))) {
      const asked = questions.map(([key, { method, params }]) => [key, { method, params }]);
      return { kind: "result", result: { ...reply.result, inputRequests: Object.fromEntries(asked) } };
    }
    if (round === MAX_ROUNDS) {
      throw new AgentCardsError(
        "INPUT_INVALID",
        `The server asked for input ${MAX_ROUNDS} times and still has questions`,
      );
    }
    const inputResponses: Record<string, unknown> = {};
    for (const [key, question] of questions) {
      const work = () =>
        question.method === "elicitation/create"
          ? caller.ask!(question, caller.signal)
          : answerAsClient(question, caller, caller.signal);
      inputResponses[key] = await inTurn(question.method, { caller, callers, signal: caller.signal, work });
    }
    reply = await repeat.again({ inputResponses, ...requestState !== undefined && { requestState } });
  }
  return reply;
}

function questionOf(request: unknown): ServerRequest {
  const { method, params } = isObject(request) ? request : {};
  return {
    method: typeof method === "string" ? method : "something nameless",
    params: isObject(params) ? params : {},
  };
}

/**
 * An older server may refuse a call until the human has been to some page. The human is sent there; the call is repeated
 * when the server says that it is done, or after a while.
 */
async function settlePages(given: Reply, caller: Caller, { session, server, again }: Repeat): Promise<Reply> {
  const { refusal, pages } = presentablePages(given, server);
  if (!caller.ask || pages.some((page) => caller.capabilities && !takes(page, caller.capabilities))) return refusal;
  const done = Promise.all(pages.map(({ params }) => finished(session, server, params.elicitationId)));
  const callers = session.callers(server);
  for (const page of pages) {
    countQuestion(caller, page.method, callers);
    const work = () => caller.ask!(page, caller.signal);
    const { action } = await inTurn(page.method, { caller, callers, signal: caller.signal, work });
    if (action !== "accept") return refusal;
  }
  await done;
  return await again({});
}

/** A refusal whose pages can be put to a human, and these. One page that cannot be put makes it an error without pages. */
function presentablePages(refusal: Reply, server: string): { refusal: Reply; pages: readonly ServerRequest[] } {
  const pages = pagesIn(refusal).map((page) =>
    presentable({ method: "elicitation/create", params: { ...page, mode: "url" } }, server)
  );
  if (refusal.kind !== "error") return { refusal, pages };
  const data = { ...refusal.data as object, elicitations: pages.map(({ params }) => params) };
  return { refusal: { ...refusal, message: namedMessage(refusal.message, server), data }, pages };
}

/** What the human is to do at a page before a refused call can be made. */
export function pageAsked(reply: Reply): string | undefined {
  const [page] = pagesIn(reply);
  return page && wordsOf({ method: "elicitation/create", params: page });
}

function pagesIn(reply: Reply): Record<string, unknown>[] {
  const data = reply.kind === "error" && reply.code === URL_ELICITATION_REQUIRED ? reply.data : undefined;
  const pages = isObject(data) && Array.isArray(data.elicitations) ? data.elicitations : [];
  return pages.filter(isObject).filter(({ url }) => typeof url === "string").slice(0, MAX_ROUNDS);
}

/** Resolves when a server says that a page has served its purpose, or when it has been waited for long enough. */
function finished(session: Session, server: string, id: unknown): Promise<void> {
  return new Promise((resolve) => {
    const stop = session.hear(server, (event) => {
      if (event.kind === "elicitation_complete" && event.params.elicitationId === id) end();
    });
    const timer = setTimeout(() => end(), AT_A_PAGE_MS);
    const end = () => {
      clearTimeout(timer);
      stop();
      resolve();
    };
    Deno.unrefTimer(timer as unknown as number);
  });
}

/** Whether a server wants to know something before it goes on. */
export function isQuestion(reply: Reply): boolean {
  return reply.kind === "result" ? reply.result.resultType === "input_required" : pagesIn(reply).length > 0;
}
