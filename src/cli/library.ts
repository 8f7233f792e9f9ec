import type { GuardedCall, Guardrail, GuardVerdict } from "../call/mod.ts";
import { openGateway } from "../engine/mod.ts";
import { isObject, toAgentCardsError, TOO_LONG } from "../model/mod.ts";
import { MAX_CLIENT_FRAME, stdioChannel } from "../serve/mod.ts";

type Message = Record<string, unknown>;

/**
 * `agentcards library`: a gateway for a program in Node, over stdin and stdout. The first line opens it; then each
 * `{id, method, params}` is answered by `{id, result}` or `{id, error}`, a run before that by `{id, event}`; `{cancel}`
 * calls a request off; `{guard, index, call}` asks a guardrail of the program, which answers `{guard, verdict}`.
 */
export async function serveLibrary(): Promise<number> {
  const wire = stdioChannel(MAX_CLIENT_FRAME);
  const send = (message: Message) => wire.write(JSON.stringify(message));
  const asked = new Map<unknown, PromiseWithResolvers<GuardVerdict>>();
  const running = new Map<unknown, AbortController>();
  let questions = 0;
  const guardrail = (index: number): Guardrail => (call: GuardedCall) => {
    const answer = Promise.withResolvers<GuardVerdict>();
    asked.set(++questions, answer);
    send({ guard: questions, index, call });
    return answer.promise;
  };

  const first = await wire.first();
  const given = first instanceof Uint8Array ? parse(first) : undefined;
  if (!isObject(given)) return 2;
  const { guardrails = 0, ...options } = given;
  const opening = openGateway({
    ...options,
    guardrails: Array.from({ length: Number(guardrails) }, (_, index) => guardrail(index)),
  });
  try {
    await opening;
    send({ id: 0, result: {} });
  } catch (error) {
    send({ id: 0, error: told(error) });
    return 1;
  }
  await using gateway = await opening;

  async function carryOut(method: unknown, params: readonly never[], { id, signal }: Asked): Promise<unknown> {
    switch (method) {
      case "search":
        return await gateway.search(...params as unknown as Parameters<typeof gateway.search>);
      case "call":
        return await gateway.call(params[0]!, params[1], { signal });
      case "resumeWorkflow":
        return await gateway.resumeWorkflow(params[0]!, { signal });
      case "stats":
        return gateway.stats();
      case "runWorkflow": {
        const run = gateway.runWorkflow(params[0]!);
        // Who leaves the loop aborts the run.
        signal.addEventListener("abort", () => void run.return(undefined as never), { once: true });
        let step = await run.next();
        for (; !step.done; step = await run.next()) send({ id, event: step.value });
        return step.value ?? null;
      }
    }
    throw new TypeError(`There is no method ${String(method)}`);
  }

  await wire.read((line) => {
    const message = line === TOO_LONG ? undefined : parse(line);
    if (!isObject(message)) return;
    if (message.guard !== undefined) {
      const waiting = asked.get(message.guard);
      asked.delete(message.guard);
      if (isObject(message.error)) waiting?.reject(new Error(String(message.error.message)));
      else waiting?.resolve((message.verdict ?? undefined) as GuardVerdict);
      return;
    }
    if (message.cancel !== undefined) return running.get(message.cancel)?.abort();
    const { id, method, params = [] } = message;
    const control = new AbortController();
    running.set(id, control);
    carryOut(method, params as never[], { id, signal: control.signal })
      .then((result) => send({ id, result }), (error) => send({ id, error: told(error) }))
      .finally(() => running.delete(id));
  });
  for (const control of running.values()) control.abort();
  return 0;
}

interface Asked {
  readonly id: unknown;
  readonly signal: AbortSignal;
}

function parse(line: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(line));
  } catch {
    return undefined;
  }
}

function told(error: unknown): Message {
  const { code, message, hint } = toAgentCardsError(error);
  return { code, message, ...hint && { hint } };
}
