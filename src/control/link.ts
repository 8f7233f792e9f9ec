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
  /** Gives the request up: the engine is told. */
  readonly signal?: AbortSignal | undefined;
}

/** A connection to the engine that carries many requests at a time. */
export interface ControlLink {
  /** The process id of the engine. */
  readonly pid: number;
  ask<M extends MethodName>(request: ControlRequest<M>): Promise<Result<M>>;
  /** Resolves once the connection is gone. */
  readonly closed: Promise<void>;
  close(): void;
}

interface OpenRequest {
  readonly answer: PromiseWithResolvers<unknown>;
  readonly over: AbortController;
  onProgress?(value: unknown): void;
  readonly onQuestion?: TakeQuestion | undefined;
}

/** Connects to the engine, starting one when there is none and `program` says how. */
export async function openControl(options: Omit<ConnectOptions, "kind">): Promise<ControlLink> {
  const { channel, pid } = await connectEngine({ ...options, kind: "control" });
  const open = new Map<unknown, OpenRequest>();
  /** Questions that wait for the human here, each with what withdraws it. */
  const asked = new Map<unknown, AbortController>();
  const decoder = new TextDecoder();
  let last = 0;
  let isClosed = false;
  const reading = channel.read((line) => {
    const message: unknown = line === TOO_LONG ? undefined : JSON.parse(decoder.decode(line));
    if (!isObject(message)) return;
    const request = open.get(message.id);
    if (message.question !== undefined) void take(request, message.question, message.request);
    else if (message.progress !== undefined) request?.onProgress?.(message.progress);
    else if (isObject(message.error)) request?.answer.reject(fromWire(message.error));
    else request?.answer.resolve(message.result);
  });
  const closed = reading.catch(() => {}).then(() => {
    isClosed = true;
    for (const { answer } of open.values()) answer.reject(unreachable());
  });

  async function take(of: OpenRequest | undefined, question: unknown, request: unknown): Promise<void> {
    if (!isObject(request)) return asked.get(question)?.abort();
    if (!of) return;
    const own = new AbortController();
    asked.set(question, own);
    const signal = AbortSignal.any([of.over.signal, own.signal]);
    const result = await of.onQuestion?.(request, signal).catch(() => undefined);
    asked.delete(question);
    if (signal.aborted) return;
    channel.write(JSON.stringify({ question, result: result ?? null }));
  }

  return {
    pid,
    closed,
    close: () => channel.close(),
    async ask<M extends MethodName>(
      { method, params, onProgress, onQuestion, signal }: ControlRequest<M>,
    ): Promise<Result<M>> {
      if (isClosed) throw unreachable();
      const id = ++last;
      const answer = Promise.withResolvers<unknown>();
      const over = new AbortController();
      open.set(id, {
        answer,
        over,
        onQuestion,
        ...onProgress && { onProgress: onProgress as (value: unknown) => void },
      });
      const cancel = () => {
        channel.write(JSON.stringify({ id, cancel: true }));
        answer.reject(signal!.reason);
      };
      signal?.addEventListener("abort", cancel, { once: true });
      channel.write(JSON.stringify({ id, method, params: params ?? {}, ...onQuestion && { asks: true } }));
      try {
        return await answer.promise as Result<M>;
      } finally {
        open.delete(id);
        over.abort();
        signal?.removeEventListener("abort", cancel);
      }
    },
  };
}

function unreachable(): AgentCardsError {
  return new AgentCardsError("ENGINE_UNREACHABLE", "The engine went away before it answered", {
    hint: "Try again; the next command starts a new one.",
  });
}

function fromWire({ code, message, hint }: Record<string, unknown>): AgentCardsError {
  return new AgentCardsError(code as ErrorCode, String(message), typeof hint === "string" ? { hint } : {});
}
