import type { z } from "../../deps.ts";
import type { ErrorCode } from "../model/mod.ts";
import { AgentCardsError, isObject, TOO_LONG } from "../model/start.ts";
import type { ConnectOptions } from "../serve/mod.ts";
import { connectEngine } from "../serve/start.ts";
import type { MethodName, PARAMS, Progress, Result } from "./api.ts";

/** Takes a server's question, undefined for no answer; the signal says that nobody waits for one any more. */
export type TakeQuestion = (
  request: Record<string, unknown>,
  signal: AbortSignal,
) => Promise<Record<string, unknown> | undefined>;

/** One request to the engine. */
export interface ControlRequest<M extends MethodName> {
  readonly method: M;
  readonly params?: z.input<(typeof PARAMS)[M]>;
  readonly onProgress?: (value: Progress<M>) => void;
  /** Answers the questions of servers meanwhile; without it nobody is asked. */
  readonly onQuestion?: TakeQuestion | undefined;
}

/** Asks the engine and closes the connection again. */
export async function askEngine<M extends MethodName>(
  options: Omit<ConnectOptions, "kind">,
  request: ControlRequest<M>,
): Promise<Result<M>> {
  const { channel } = await connectEngine({ ...options, kind: "control" });
  const answer = Promise.withResolvers<Result<M>>();
  const decoder = new TextDecoder();
  const over = new AbortController();
  /** Questions that wait for the human here, each with what withdraws it. */
  const asked = new Map<unknown, AbortController>();
  const reading = channel.read((line) => {
    const message: unknown = line === TOO_LONG ? undefined : JSON.parse(decoder.decode(line));
    if (!isObject(message)) return;
    if (message.question !== undefined) void take(message.question, message.request);
    else if (isObject(message.progress)) request.onProgress?.(message.progress as Progress<M>);
    else if (isObject(message.error)) answer.reject(fromWire(message.error));
    else answer.resolve(message.result as Result<M>);
  });
  reading.then(() =>
    answer.reject(
      new AgentCardsError("ENGINE_UNREACHABLE", "The engine went away before it answered", {
        hint: "Try again; the next command starts a new one.",
      }),
    )
  );
  const { method, params = {}, onQuestion } = request;
  async function take(question: unknown, request: unknown): Promise<void> {
    if (!isObject(request)) return asked.get(question)?.abort();
    const own = new AbortController();
    asked.set(question, own);
    const signal = AbortSignal.any([over.signal, own.signal]);
    const result = await onQuestion?.(request, signal).catch(() => undefined);
    asked.delete(question);
    if (signal.aborted) return;
    channel.write(JSON.stringify({ question, result: result ?? null }));
  }
  channel.write(JSON.stringify({ id: 1, method, params, ...onQuestion && { asks: true } }));
  try {
    return await answer.promise;
  } finally {
    over.abort();
    channel.close();
  }
}

function fromWire({ code, message, hint }: Record<string, unknown>): AgentCardsError {
  return new AgentCardsError(code as ErrorCode, String(message), typeof hint === "string" ? { hint } : {});
}
