import { HOOK_TOOL, isObject, LONGEST_HOOK_TEXT, PROMPT_EVENT, TOOL_EVENT, UNJUDGED } from "../../model/start.ts";
import { isStateless } from "../wire/era.ts";
import type { Channel } from "./channel.ts";
import type { Spool } from "./spool.ts";

type Message = Record<string, unknown>;

/** The part of a line in which a client names the tool. */
const HEAD_BYTES = 512;
const PREFIX = "agentcards-hook-";
const OURS = new RegExp(`^\\{"jsonrpc":"2\\.0","id":"(${PREFIX}\\d+)"`);
/** A prompt waits no longer than this for its line of context, a tool of the client for a verdict. */
const PROMPT_MS = 40;
const VERDICT_MS = 1_500;
/** The most events that are kept in memory until an engine has confirmed them. */
const MOST_PENDING = 2_000;

interface Told {
  readonly id: string;
  readonly at: number;
  readonly event: Message;
}

/** A client's question to the engine, answered empty when the engine takes too long. */
interface Asked {
  readonly timer: ReturnType<typeof setTimeout>;
  readonly isVerdict: boolean;
  answer(result: unknown): void;
}

export interface HookFrames {
  /** True if a line of the client is a hook's: it is dealt with. */
  take(line: Uint8Array, engine: Channel | undefined): boolean;
  /** True if a line of the engine is for one of these. */
  takeAnswer(line: Uint8Array): boolean;
  /** The engine is gone: what it did not confirm goes into the spool. */
  leave(): void;
}

/**
 * Deals with the calls of hooks in front of the engine, so that no client waits for an engine that is away, busy or hung:
 * an event is answered at once and sent on; without an engine it is put into a file. A prompt and a tool of the client are
 * asked about as well, for a bounded time.
 */
export function createHookFrames(write: (line: string) => void, spool: Spool): HookFrames {
  const decoder = new TextDecoder();
  const told = new Map<string, Told>();
  const asked = new Map<string, Asked>();
  let count = 0;
  /** False after a verdict that did not come in time, until the engine answers again. */
  let isPrompt = true;
  /** False once the engine has said that there are no rules about the client's own tools. */
  let isJudged = true;

  function parse(line: Uint8Array): Message | undefined {
    if (!decoder.decode(line.subarray(0, HEAD_BYTES)).includes(HOOK_TOOL)) return undefined;
    try {
      const message: unknown = JSON.parse(decoder.decode(line));
      const isHook = isObject(message) && message.method === "tools/call" && isObject(message.params) &&
        message.params.name === HOOK_TOOL && (typeof message.id === "string" || typeof message.id === "number");
      return isHook ? message : undefined;
    } catch {
      return undefined;
    }
  }

  function send(engine: Channel, event: Message, meta: Message): string {
    const id = `${PREFIX}${++count}`;
    const params = { name: HOOK_TOOL, arguments: event, _meta: meta };
    engine.write(JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params }));
    return id;
  }

  function tell(event: Message, meta: Message, engine: Channel | undefined): void {
    const one: Told = { id: newId(), at: Date.now(), event };
    if (!engine || told.size >= MOST_PENDING) return put(one);
    told.set(send(engine, { ...event, mode: "tell", id: one.id, at: one.at }, meta), one);
  }

  function put({ id, at, event }: Told): void {
    spool.put(id, { id, at, hook: event });
  }

  function ask(event: Message, meta: Message, { engine, answer }: { engine: Channel } & Pick<Asked, "answer">): void {
    const id = send(engine, { ...event, mode: "ask" }, meta);
    const ms = event.event === TOOL_EVENT && isPrompt && isJudged ? VERDICT_MS : PROMPT_MS;
    const timer = setTimeout(() => {
      asked.delete(id);
      if (event.event === TOOL_EVENT) isPrompt = false;
      answer(undefined);
    }, ms);
    asked.set(id, { timer, answer, isVerdict: event.event === TOOL_EVENT });
  }

  return {
    take(line, engine) {
      const message = parse(line);
      if (!message) return false;
      const { arguments: given, _meta } = message.params as Message;
      const meta = isObject(_meta) ? _meta : {};
      const event = bounded(isObject(given) ? given : {});
      const answer = (result: unknown) => write(JSON.stringify(responseTo(message.id, result, isStateless(meta))));
      if (event.event !== TOOL_EVENT) tell(event, meta, engine);
      if (engine && (event.event === PROMPT_EVENT || event.event === TOOL_EVENT)) ask(event, meta, { engine, answer });
      else answer(undefined);
      return true;
    },
    takeAnswer(line) {
      if (count === 0) return false;
      const [head, id] = OURS.exec(decoder.decode(line.subarray(0, HEAD_BYTES))) ?? [];
      if (id === undefined) return false;
      isPrompt = true;
      const waiting = asked.get(id);
      if (waiting) {
        clearTimeout(waiting.timer);
        asked.delete(id);
        const result = resultIn(decoder.decode(line));
        if (waiting.isVerdict) isJudged = !isObject(result?._meta) || result._meta[UNJUDGED] !== true;
        waiting.answer(result);
        return true;
      }
      const one = told.get(id);
      told.delete(id);
      // An engine that could not keep it says so.
      const rest = decoder.decode(line).slice(head!.length);
      if (one && (rest.startsWith(',"error"') || rest.includes('"isError":true'))) put(one);
      return true;
    },
    leave() {
      for (const { timer, answer } of asked.values()) {
        clearTimeout(timer);
        answer(undefined);
      }
      asked.clear();
      for (const one of told.values()) put(one);
      told.clear();
    },
  };
}

function bounded(given: Message): Message {
  const cut = ([key, value]: [string, unknown]) =>
    [key, typeof value === "string" ? value.slice(0, LONGEST_HOOK_TEXT) : value] as const;
  return Object.fromEntries(
    Object.entries(given).slice(0, 50).filter(([, value]) => typeof value === "string").map(cut),
  );
}

function responseTo(id: unknown, given: unknown, isStatelessEra: boolean): Message {
  const content = isObject(given) && Array.isArray(given.content) && given.isError !== true ? given.content : [];
  return { jsonrpc: "2.0", id, result: { ...isStatelessEra && { resultType: "complete" }, content } };
}

function resultIn(text: string): Message | undefined {
  const message: unknown = JSON.parse(text);
  return isObject(message) && isObject(message.result) ? message.result : undefined;
}

function newId(): string {
  return crypto.getRandomValues(new Uint8Array(12)).toHex();
}
