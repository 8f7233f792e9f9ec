import {
  AgentCardsError,
  type Call,
  type CallResult,
  isObject,
  oneLine,
  type ServerRequest,
  takes,
  toolId,
} from "../../model/mod.ts";
import { log } from "../../telemetry/mod.ts";
import { unrefTimer } from "../../platform/start.ts";
import { askClient, askOf, declared, humanNeeded, questionText } from "./asking.ts";
import { countQuestion, inTurn } from "./asking_turns.ts";
import { namedMessage, presentable } from "./question_form.ts";
import type { Session } from "../session.ts";

/** A server that keeps asking is cut off after this many rounds. */
const MAX_ROUNDS = 5;
/** The largest state of a server that goes through the client and back. */
const MAX_STATE = 64 * 1024;

/** The time that a call waits, after a human has gone to a page, for its server to say that all is done there. */
const AT_A_PAGE_MS = 120_000;
const URL_ELICITATION_REQUIRED = -32042;

/** The session of a call, and the function that repeats the call with answers. */
export interface Repeat {
  readonly session: Pick<Session, "hear" | "calls">;
  again(more: Record<string, unknown>): Promise<CallResult>;
}

/**
 * A stateless server asks by answering `input_required`. A client of the same protocol gets that as it is and calls
 * again; for any other the questions are put one by one, and the call is repeated with the answers. A server may ask only
 * what was declared to it.
 */
export async function settleQuestions(first: CallResult, call: Call, repeat: Repeat): Promise<CallResult> {
  if (first.kind === "error") return await settlePages(first, call, repeat);
  const { server, name } = call.address;
  let reply: CallResult = first;
  for (let round = 0; reply.kind === "result" && isQuestion(reply); round++) {
    const { inputRequests, requestState } = reply.result;
    const questions = Object.entries(isObject(inputRequests) ? inputRequests : {})
      .map(([key, request]): [string, ServerRequest] => [key, presentable(questionOf(request), server)]);
    if (typeof requestState === "string" ? requestState.length > MAX_STATE : requestState !== undefined) {
      throw new AgentCardsError(
        "INPUT_INVALID",
        `The server's requestState is not a text of at most ${MAX_STATE} bytes`,
      );
    }
    const known = declared(call);
    const undeclared = questions.find(([, question]) => !takes(question, known));
    if (undeclared) {
      log("warning", "server_request_not_offered", {
        server,
        method: oneLine(undeclared[1].method, 60),
      });
      const why = `asks for ${oneLine(undeclared[1].method, 60)}, which this client did not offer`;
      if (call.method === "tools/call" && undeclared[1].method === "elicitation/create") {
        throw humanNeeded(toolId(server, name), why, questionText(undeclared[1]));
      }
      throw new AgentCardsError("CLIENT_UNABLE", `The server ${why}`, { hint: "Use a client that supports it." });
    }
    const calls = repeat.session.calls(server);
    for (const [, { method }] of questions) countQuestion(call, method, calls);
    const { takesQuestions, capabilities } = call.client;
    if (takesQuestions && questions.every(([, question]) => takes(question, capabilities))) {
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
          ? askOf(call)!(question, call.signal)
          : askClient(question, call, call.signal);
      inputResponses[key] = await inTurn(question.method, { call, calls, signal: call.signal, work });
    }
    reply = await repeat.again({ inputResponses, ...requestState !== undefined && { requestState } });
  }
  return reply;
}

function questionOf(request: unknown): ServerRequest {
  const { method, params } = isObject(request) ? request : {};
  return {
    method: typeof method === "string" ? method : "(unknown method)",
    params: isObject(params) ? params : {},
  };
}

/**
 * An older server may refuse a call until the human has been to some page. The human is sent there; the call is repeated
 * when the server says that it is done, or after a while.
 */
async function settlePages(given: CallResult, call: Call, { session, again }: Repeat): Promise<CallResult> {
  const { server } = call.address;
  const { refusal, pages } = presentablePages(given, server);
  const ask = askOf(call);
  const { capabilities } = call.client;
  if (!ask || pages.some((page) => capabilities && !takes(page, capabilities))) return refusal;
  const done = Promise.all(pages.map(({ params }) => finished(session, server, params.elicitationId)));
  const calls = session.calls(server);
  for (const page of pages) {
    countQuestion(call, page.method, calls);
    const work = () => ask(page, call.signal);
    const { action } = await inTurn(page.method, { call, calls, signal: call.signal, work });
    if (action !== "accept") return refusal;
  }
  await done;
  return await again({});
}

/** A refusal whose pages can be put to a human, and these. One page that cannot be put makes it an error without pages. */
function presentablePages(
  refusal: CallResult,
  server: string,
): { refusal: CallResult; pages: readonly ServerRequest[] } {
  const pages = pagesIn(refusal).map((page) =>
    presentable({ method: "elicitation/create", params: { ...page, mode: "url" } }, server)
  );
  if (refusal.kind !== "error") return { refusal, pages };
  const data = { ...refusal.data as object, elicitations: pages.map(({ params }) => params) };
  return { refusal: { ...refusal, message: namedMessage(refusal.message, server), data }, pages };
}

/** The text of what a human has to do at a page before a refused call can be made. */
export function pageAsked(reply: CallResult): string | undefined {
  const [page] = pagesIn(reply);
  return page && questionText({ method: "elicitation/create", params: page });
}

function pagesIn(reply: CallResult): Record<string, unknown>[] {
  const data = reply.kind === "error" && reply.code === URL_ELICITATION_REQUIRED ? reply.data : undefined;
  const pages = isObject(data) && Array.isArray(data.elicitations) ? data.elicitations : [];
  return pages.filter(isObject).filter(({ url }) => typeof url === "string").slice(0, MAX_ROUNDS);
}

/** Resolves when a server says that a page has served its purpose, or when it has been waited for long enough. */
function finished(session: Repeat["session"], server: string, id: unknown): Promise<void> {
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
    unrefTimer(timer as unknown as number);
  });
}

/** True if a server asks something before it goes on. */
export function isQuestion(reply: CallResult): boolean {
  return reply.kind === "result" ? reply.result.resultType === "input_required" : pagesIn(reply).length > 0;
}
