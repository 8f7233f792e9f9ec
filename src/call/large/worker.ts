import { MAX_LIST_BYTES, MAX_PAGE_ENTRIES, type Message, requestIdIn } from "../../mcp/mod.ts";
import {
  AgentCardsError,
  follow,
  isObject,
  type Json,
  jsonDepth,
  type LargeResult,
  messageOf,
  toAgentCardsError,
  type ToolResult,
} from "../../model/mod.ts";
import { type Hidden, hidePii, readPatterns } from "../../policy/mod.ts";
import { createRedactor } from "../../telemetry/mod.ts";
import { fs } from "../../platform/start.ts";

// Parses, redacts, shapes and stores one large frame at a time.

import { shapeAnswer, type Shaped, shownJson, textResult, unstored, valueOf } from "../answer.ts";
import type { HowToHide, Part, Place } from "./port.ts";
import { MOST_KEPT } from "../privacy/quota.ts";
import { readable, slice, writeStored } from "../results.ts";

export interface LargeRequest {
  readonly id: number;
  readonly frame: Uint8Array;
  readonly calls: readonly string[];
  readonly lists: readonly string[];
  readonly answerTokens: number;
  readonly handle: string;
  readonly directory: string;
  readonly isSynced: boolean;
  readonly secrets: readonly string[];
  readonly pii?: HowToHide;
}

/** Asks for a value without personal data. */
export interface HideRequest {
  readonly id: number;
  readonly value: unknown;
  readonly pii: HowToHide;
  readonly known?: ReadonlyMap<string, string>;
}

/** Asks for a part of a stored result. */
export interface PartRequest {
  readonly id: number;
  readonly path: string;
  readonly options: Part;
}

export type LargeReply =
  | { kind: "message"; message: Message }
  | { kind: "part"; text: string }
  | { kind: "hidden"; value: unknown; hidden: readonly string[] }
  | ({ kind: "shaped"; id: string; stored: number; hidden: readonly string[] } & LargeResult);

const MAX_DEPTH = 256;
/** One for all frames: what it was told before, it does not have to be told again. */
const redactor = createRedactor();
const IN_A_TEXT = 500;
const encoder = new TextEncoder();

async function handle(request: LargeRequest): Promise<LargeReply> {
  const { frame } = request;
  const tooLong = frame.length > MAX_LIST_BYTES ? requestIdIn(frame) : undefined;
  if (tooLong !== undefined && request.lists.includes(tooLong)) {
    return {
      kind: "message",
      message: refusedList(tooLong, `it has ${frame.length} bytes; the most is ${MAX_LIST_BYTES}`),
    };
  }
  if (jsonDepth(frame, MAX_DEPTH) > MAX_DEPTH) throw new Error(`it is nested deeper than ${MAX_DEPTH}`);
  redactor.add(request.secrets);
  const message = redactor.parse(new TextDecoder().decode(frame));
  if (!isObject(message)) throw new Error("it is not a JSON-RPC message");
  const { id, result } = message;
  if (typeof id === "string" && request.lists.includes(id)) {
    {
      return { kind: "message", message: boundedList(id, message) };
    }
  }
  if (typeof id !== "string" || !request.calls.includes(id) || !isObject(result)) return { kind: "message", message };
  // A question is no answer, however large it is: it is looked at like any other.
  const { resultType, ...given } = result;
  if (resultType !== undefined && resultType !== "complete") return { kind: "message", message };
  const hidden: Hidden[] = [];
  const clean = request.pii ? hide(given, request.pii, hidden) : given;
  const shaped = await store(request, shapeAnswer(clean, request));
  const { stored } = shaped;
  const json = JSON.stringify(shaped.result);
  const shown = shownJson(shaped.result, json);
  return {
    kind: "shaped",
    id,
    json: encoder.encode(json),
    ...shown !== json && { shown: encoder.encode(shown) },
    isError: shaped.result.isError === true,
    bytes: frame.length,
    stored: stored?.json.length ?? 0,
    hidden: inTexts(hidden),
    isClean: request.pii !== undefined,
    output: stored
      ? { kind: "stored", handle: request.handle, steps: stored.steps, shape: stored.shape, preview: stored.preview }
      : { kind: "value", value: valueOf(shaped.result) as Json },
  };
}

function hideValue({ value, pii: { key, patterns }, known }: HideRequest): LargeReply {
  const hidden: Hidden[] = [];
  const options = { key, patterns: readPatterns(patterns), ...known && { known } };
  const clean = hidePii(value, { ...options, onHidden: (one) => hidden.push(one) });
  return { kind: "hidden", value: clean, hidden: inTexts(hidden) };
}

/** Hidden values as JSON texts of some hundred each: a text costs the main thread nothing before it is read. */
function inTexts(hidden: readonly Hidden[]): string[] {
  const kept = hidden.slice(0, MOST_KEPT);
  return Array.from(
    { length: Math.ceil(kept.length / IN_A_TEXT) },
    (_, i) => JSON.stringify(kept.slice(i * IN_A_TEXT, (i + 1) * IN_A_TEXT)),
  );
}

/** A page of a list, or the error that says why it is not taken: what is handed over costs the main thread time. */
function boundedList(id: string, message: Message): Message {
  const parts = isObject(message.result) ? Object.values(message.result) : [];
  const most = parts.reduce<number>((sum, part) => Math.max(sum, Array.isArray(part) ? part.length : 0), 0);
  return most > MAX_PAGE_ENTRIES
    ? refusedList(id, `a page has ${most} entries; the most is ${MAX_PAGE_ENTRIES}`)
    : message;
}

function refusedList(id: string, why: string): Message {
  return { jsonrpc: "2.0", id, error: { code: -32603, message: `the list is too long: ${why}` } };
}

/** Hides personal data; a result that cannot be cleaned is withheld. */
function hide(result: ToolResult, { key, patterns }: HowToHide, hidden: Hidden[]): ToolResult {
  try {
    return hidePii(result, { key, patterns: readPatterns(patterns), onHidden: (one) => hidden.push(one) });
  } catch (error) {
    return textResult(`The answer was withheld: ${messageOf(error)}`, true);
  }
}

/** A disk that is full costs this answer, not its server. */
async function store(request: LargeRequest, shaped: Shaped): Promise<Shaped> {
  if (shaped.stored === undefined) return shaped;
  try {
    await writeStored(request, shaped.stored.json);
    return shaped;
  } catch (error) {
    return { result: unstored(shaped.result, shaped.stored, error) };
  }
}

/** A part of a stored result, as JSON. */
async function readPart({ path, options }: PartRequest): Promise<string> {
  const whole: unknown = JSON.parse(await fs.readTextFile(path));
  if ("places" in options) return JSON.stringify(options.places.map((place) => stepInto(whole, place)));
  return JSON.stringify(options.room === undefined ? slice(whole, options) : readable(whole, options, options.room));
}

function stepInto(whole: unknown, { steps, named }: Place): unknown {
  const found = follow(whole, steps);
  if ("value" in found) return found.value;
  throw new AgentCardsError("REFERENCE_INVALID", `${named} leads nowhere: what is there ${found.there}`);
}

const port = self as unknown as {
  onmessage: (event: MessageEvent<LargeRequest | PartRequest | HideRequest>) => void;
  postMessage(reply: unknown): void;
};

port.onmessage = async ({ data }) => {
  try {
    const reply = "frame" in data
      ? await handle(data)
      : "path" in data
      ? { kind: "part", text: await readPart(data) }
      : hideValue(data);
    port.postMessage({ id: data.id, reply });
  } catch (error) {
    const { code, message, hint } = toAgentCardsError(error);
    port.postMessage({ id: data.id, error: message, code, hint, isMissing: fs.isNotFound(error) });
  }
};
