import { isExcessive, isObject, jsonDepth } from "../model/mod.ts";
import type { CageLimits } from "./limits.ts";

/** The error of code, with the line and column in its author's text. */
export interface CodeFailure {
  readonly type:
    | "SyntaxError"
    | "RuntimeError"
    | "ToolError"
    | "PermissionError"
    | "TimeoutError"
    | "MemoryError"
    | "LimitError";
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}

/** The return value of code. */
export interface CodeValue {
  readonly value: unknown;
  readonly bytes: number;
  readonly json: string;
  /** True where it was nothing that JSON has: the value is null then. */
  readonly isNothing?: boolean;
}

/** A message of a cage, after it was checked. */
export type Frame =
  | { readonly kind: "log"; readonly level: string; readonly text: string }
  | {
    readonly kind: "ask";
    readonly method: "call" | "result";
    readonly id: number;
    readonly what: string;
    readonly value: unknown;
    readonly bytes: number;
  }
  | CodeValue & { readonly kind: "value" }
  | { readonly kind: "error"; readonly error: CodeFailure }
  /** Something that is no frame of the runner: the code wrote to stdout by itself. */
  | { readonly kind: "noise" }
  /** A rule was broken: the run is over. */
  | { readonly kind: "broken"; readonly why: string };

const NOISE: Frame = Object.freeze({ kind: "noise" });
const TYPES = new Set(["SyntaxError", "RuntimeError", "ToolError", "PermissionError", "MemoryError"]);
const LEVELS = new Set(["debug", "info", "warning", "error"]);
const decoder = new TextDecoder();
const encoder = new TextEncoder();

/**
 * Reads the lines of one cage. Whatever is in there may be forged by the code: without the nonce it is noise, and with it
 * every field is checked, ids come in order and once, values are bounded in size and depth.
 */
export function createFrameReader(nonce: string, limits: Pick<CageLimits, "valueBytes" | "depth" | "parts" | "calls">) {
  const parts = new Map<string, string>();
  let lastId = 0;
  let isOver = false;

  // After a rule was broken nothing counts any more.
  const broken = (why: string): Frame => (isOver = true, { kind: "broken", why });

  return (line: Uint8Array): Frame | undefined => {
    if (isOver || jsonDepth(line, 8) > 8) return NOISE;
    let frame: unknown;
    try {
      frame = JSON.parse(decoder.decode(line));
    } catch {
      return NOISE;
    }
    if (!isObject(frame) || frame.n !== nonce) return NOISE;
    const { t } = frame;
    if (t === "log") {
      const { level, text } = frame;
      if (typeof text !== "string" || typeof level !== "string" || !LEVELS.has(level)) return NOISE;
      return { kind: "log", level, text };
    }
    if (t === "error") {
      isOver = true;
      return { kind: "error", error: failureIn(frame.error) };
    }
    if (t !== "value" && t !== "call" && t !== "result") return NOISE;
    const { id, what } = frame;
    if (t !== "value") {
      if (!Number.isSafeInteger(id) || typeof what !== "string" || what.length > 300) {
        return broken("a call without a name");
      }
      // Parts of one call come together, so a number is either the one under way or the next.
      const isNew = !parts.has(`${t} ${id}`);
      if (isNew && id !== lastId + 1) return broken("a call out of order");
      if (isNew) lastId = id as number;
      if (lastId > limits.calls) return broken(`more than ${limits.calls} calls in one run; split the work`);
    }
    const key = `${t} ${t === "value" ? "" : id}`;
    const before = parts.get(key) ?? "";
    const piece = frame.last ?? frame.part;
    if (typeof piece !== "string" || (piece === "" && frame.last === undefined)) {
      return broken("a value without a text");
    }
    if (before.length + piece.length > limits.valueBytes) {
      return broken(`a value of more than ${limits.valueBytes} bytes; reduce it first`);
    }
    if (frame.last === undefined) {
      if (parts.size > 4) return broken("too many values at once");
      parts.set(key, before + piece);
      return undefined;
    }
    parts.delete(key);
    const json = encoder.encode(before + piece);
    const excess = isExcessive(json, limits);
    if (excess === "parts") return broken(`a value of more than ${limits.parts} parts; reduce it first`);
    if (excess === "depth") return broken(`a value nested deeper than ${limits.depth}; flatten it first`);
    let value: unknown;
    try {
      value = JSON.parse(before + piece);
    } catch {
      return broken("a value that is not JSON");
    }
    if (t === "value") {
      isOver = true;
      const isNothing = frame.none === true && value === null;
      return { kind: "value", value, bytes: json.length, json: before + piece, ...isNothing && { isNothing } };
    }
    return { kind: "ask", method: t, id: id as number, what: what as string, value, bytes: json.length };
  };
}

function failureIn(error: unknown): CodeFailure {
  const { type, message, line, column } = isObject(error) ? error : {};
  const place = (value: unknown) => Number.isSafeInteger(value) && (value as number) > 0;
  return {
    type: typeof type === "string" && TYPES.has(type) ? type as CodeFailure["type"] : "RuntimeError",
    message: typeof message === "string" ? message.slice(0, 4_000) : "the code failed",
    ...place(line) && { line: line as number },
    ...place(column) && { column: column as number },
  };
}
