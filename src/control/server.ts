import { AT_A_TERMINAL, parseInput } from "../call/mod.ts";
import {
  AgentCardsError,
  type Ask,
  describe,
  isObject,
  type Question,
  toAgentCardsError,
  TOO_LONG,
} from "../model/mod.ts";
import type { Activity, Channel } from "../serve/mod.ts";
import { type MethodName, PARAMS, type Params, type Result } from "./api.ts";
import type { ControlContext, Methods } from "./context.ts";
import { METHODS } from "./methods/all.ts";

/**
 * Serves the command line: one JSON object per line, `{id, method, params}` answered by `{id, result}` or `{id, error}`. One
 * that `asks` may meanwhile get `{id, question, request}`, which it answers by `{question, result}`; without a request, the
 * question was withdrawn. `{id, cancel: true}` gives a request up.
 */
export async function serveControl(
  wire: Channel,
  { activity, ...engine }: Pick<ControlContext, "gateway" | "session" | "stop"> & { readonly activity?: Activity },
): Promise<void> {
  const gone = new AbortController();
  const running = new Set<Promise<void>>();
  const questions = createQuestions();
  const open = new Map<unknown, AbortController>();
  try {
    await wire.read((line) => {
      if (line === TOO_LONG || line.length === 0) return;
      const request = parse(line);
      if (!isObject(request)) return wire.close();
      if (request.question !== undefined) return questions.answered(request);
      if (request.cancel === true) return open.get(request.id)?.abort({ cancelled: "the request was given up" });
      const own = new AbortController();
      open.set(request.id, own);
      const signal = AbortSignal.any([gone.signal, own.signal]);
      const work = answer(wire, request, { ...engine, signal, questions });
      // A page that watches must not keep an engine of another version in its place.
      const counted = request.method === "watch" ? undefined : activity;
      if (counted) counted.open++;
      running.add(work);
      work.finally(() => {
        running.delete(work);
        open.delete(request.id);
        if (!counted) return;
        counted.open--;
        counted.endedAt = performance.now();
      });
    });
  } finally {
    gone.abort({ cancelled: "the command was stopped" });
    await Promise.allSettled(running);
  }
}

function parse(line: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(line));
  } catch {
    return undefined;
  }
}

type Send = (message: Record<string, unknown>) => void;

/** Questions that went to the command line, until their answers come back. */
function createQuestions() {
  const open = new Map<number, PromiseWithResolvers<Record<string, unknown>>>();
  let last = 0;
  return {
    async put(send: Send, request: Question, signal: AbortSignal): Promise<Record<string, unknown>> {
      const number = ++last;
      const answer = Promise.withResolvers<Record<string, unknown>>();
      const giveUp = () => answer.reject(signal.reason);
      open.set(number, answer);
      signal.addEventListener("abort", giveUp, { once: true });
      try {
        signal.throwIfAborted();
        send({ question: number, request });
        return await answer.promise;
      } finally {
        // Still here: nobody has answered, and nobody needs to any more.
        if (open.delete(number)) send({ question: number });
        signal.removeEventListener("abort", giveUp);
      }
    },
    answered({ question, result }: Record<string, unknown>): void {
      const waiting = open.get(Number(question));
      open.delete(Number(question));
      if (isObject(result)) waiting?.resolve(result);
      else waiting?.reject(new AgentCardsError("HUMAN_NEEDED", "The human at the terminal gave no answer"));
    },
  };
}

async function offerTerminal(session: ControlContext["session"]): Promise<void> {
  const open = await session.catch(() => undefined);
  if (open) open.client = { ...open.client, capabilities: AT_A_TERMINAL };
}

async function answer(
  wire: Channel,
  { id, method, params, asks }: Record<string, unknown>,
  { questions, ...context }: Omit<ControlContext, "progress"> & { questions: ReturnType<typeof createQuestions> },
): Promise<void> {
  const send = (message: Record<string, unknown>) => wire.write(JSON.stringify({ id, ...message }));
  try {
    if (!isMethod(method)) throw new AgentCardsError("USAGE", `There is no control method "${method}"`);
    const ask: Ask = (request, signal) => questions.put(send, request, AbortSignal.any([signal, context.signal]));
    // Before any server is started for this command: it is told what the person at the terminal can answer.
    if (asks === true) await offerTerminal(context.session);
    const progress = (value: unknown) => send({ progress: value });
    const result = await perform(method, params, { ...context, ...asks === true && { ask }, progress });
    send({ result: result ?? null });
  } catch (error) {
    const { code, message, hint } = toAgentCardsError(error);
    const told = { code, message, ...hint && { hint }, text: describe(error) };
    send({ error: context.gateway.redactor.clean(told) });
  }
}

function isMethod(name: unknown): name is MethodName {
  return typeof name === "string" && Object.hasOwn(PARAMS, name);
}

/** Checks the parameters of a method and runs it. */
async function perform<M extends MethodName>(
  name: M,
  params: unknown,
  context: ControlContext,
): Promise<Result<M>> {
  const run = METHODS[name] as Methods[M];
  return await run(context, parseInput(PARAMS[name], params ?? {}) as Params<M>);
}
