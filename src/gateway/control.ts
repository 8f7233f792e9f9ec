import { describe, toAgentCardsError } from "../model/errors.ts";
import { isObject } from "../model/json.ts";
import { TOO_LONG } from "../model/lines.ts";
import type { Channel } from "./channel.ts";
import type { Gateway } from "./gateway.ts";
import { METHODS } from "./control_methods.ts";
import type { WorkSession } from "./workflows.ts";

/** What a control method works with. */
export interface ControlContext {
  readonly gateway: Gateway;
  /** Rejects when the configuration cannot be used; methods that need none still work. */
  readonly session: Promise<WorkSession>;
  readonly signal: AbortSignal;
  progress(value: unknown): void;
  stop(): void;
}

export type Params = Record<string, unknown>;
/** One thing the command line can ask for. */
export type Method = (context: ControlContext, params: Params) => Promise<unknown>;

/** Serves the command line: one JSON object per line, `{id, method, params}` answered by `{id, result}` or `{id, error}`. */
export async function serveControl(
  wire: Channel,
  engine: Pick<ControlContext, "gateway" | "session" | "stop">,
): Promise<void> {
  const gone = new AbortController();
  const running = new Set<Promise<void>>();
  try {
    await wire.read((line) => {
      if (line === TOO_LONG || line.length === 0) return;
      const request = parse(line);
      if (!isObject(request)) return wire.close();
      const work = answer(wire, request, { ...engine, signal: gone.signal });
      running.add(work);
      work.finally(() => running.delete(work));
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

async function answer(
  wire: Channel,
  { id, method, params }: Record<string, unknown>,
  context: Omit<ControlContext, "progress">,
): Promise<void> {
  const send = (message: Record<string, unknown>) => wire.write(JSON.stringify({ id, ...message }));
  try {
    const run = METHODS.get(String(method));
    if (!run) throw new TypeError(`There is no control method "${method}"`);
    const result = await run(
      { ...context, progress: (value) => send({ progress: value }) },
      isObject(params) ? params : {},
    );
    send({ result: result ?? null });
  } catch (error) {
    const { code, message, hint } = toAgentCardsError(error);
    send({ error: { code, message, ...hint && { hint }, text: describe(error) } });
  }
}
