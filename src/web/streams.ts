import type { ControlRequest, MethodName } from "../control/mod.ts";
import { isObject, type JsonObject } from "../model/mod.ts";
import type { EngineLink } from "./engine_link.ts";
import { errorOf } from "./errors.ts";

/** Long answers: lines of JSON, `{progress}` and `{question, request}` until `{result}` or `{error}`. */
export interface Streams {
  open(request: StreamRequest): Response;
  /** Takes the answer to a question; false where it does not wait any more. */
  answer(stream: string, question: number, result: JsonObject | null): boolean;
}

export interface StreamRequest {
  readonly method: MethodName;
  readonly params: JsonObject;
  /** Whether the page can put questions to its person. */
  readonly asks: boolean;
}

/** Work that ends when its page goes. A run goes on. */
const ENDS_WITH_PAGE: ReadonlySet<MethodName> = new Set<MethodName>(["call", "index", "watch"]);
/** A page that reads no more for so many lines has to come again, and catches up. */
const MOST_UNREAD = 20_000;
const BEAT_MS = 10_000;

type Answer = (result: Record<string, unknown> | undefined) => void;

export function createStreams(engine: EngineLink): Streams {
  const questions = new Map<string, Map<number, Answer>>();

  function open({ method, params, asks }: StreamRequest): Response {
    const stream = crypto.randomUUID();
    const gone = new AbortController();
    const waiting = new Map<number, Answer>();
    questions.set(stream, waiting);
    let last = 0;
    let beat: ReturnType<typeof setInterval> | undefined;
    const encoder = new TextEncoder();

    function leave(): void {
      clearInterval(beat);
      questions.delete(stream);
      for (const answer of waiting.values()) answer(undefined);
      gone.abort(new Error("the page is gone"));
    }

    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start(controller) {
        const send = (message: unknown) => {
          if (gone.signal.aborted) return;
          controller.enqueue(encoder.encode(`${message === undefined ? "" : JSON.stringify(message)}\n`));
          if ((controller.desiredSize ?? 0) > -MOST_UNREAD) return;
          controller.close();
          leave();
        };
        const put = (request: Record<string, unknown>, signal: AbortSignal) =>
          new Promise<Record<string, unknown> | undefined>((resolve) => {
            if (gone.signal.aborted) return resolve(undefined);
            const question = ++last;
            waiting.set(question, (result) => (waiting.delete(question), resolve(result)));
            signal.addEventListener("abort", () => {
              if (waiting.delete(question)) send({ withdrawn: question });
              resolve(undefined);
            });
            send({ stream, question, request });
          });
        const request = {
          method,
          params,
          onProgress: (progress: unknown) => send({ progress }),
          ...asks && { onQuestion: put },
          ...ENDS_WITH_PAGE.has(method) && { signal: gone.signal },
        } as unknown as ControlRequest<MethodName>;
        beat = setInterval(() => send(undefined), BEAT_MS);
        send({ stream });
        engine.ask(request).then((result) => send({ result }), (error) => send({ error: errorOf(error) })).then(() => {
          if (gone.signal.aborted) return;
          controller.close();
          leave();
        });
      },
      cancel: leave,
    });
    return new Response(body, { headers: { "content-type": "application/x-ndjson; charset=utf-8" } });
  }

  return {
    open,
    answer(stream, question, result) {
      const answer = questions.get(stream)?.get(question);
      answer?.(isObject(result) ? result : undefined);
      return answer !== undefined;
    },
  };
}
