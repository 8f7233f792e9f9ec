import { isObject } from "../../model/mod.ts";

/** The place of a span in its trace, as it travels in `_meta` (W3C Trace Context). */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** The parts of a `traceparent` that is in order. */
export interface Parent {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;
const LONGEST_PARENT = 200;
const LONGEST_STATE = 512;

/** The parent that a caller names; undefined where there is none, or where its form is wrong. */
export function parentOf(trace: unknown): Parent | undefined {
  const text = isObject(trace) ? trace.traceparent : undefined;
  if (typeof text !== "string" || text.length > LONGEST_PARENT) return undefined;
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text) ?? [];
  return traceId === undefined ? undefined : { traceId, spanId: spanId!, traceFlags: parseInt(flags!, 16) & 1 };
}

/** The context that goes on: the place of our span, with the state that other programs put beside it. */
export function contextOf({ traceId, spanId, traceFlags }: Parent, from: unknown): TraceContext {
  const state = isObject(from) ? from.tracestate : undefined;
  const isFit = typeof state === "string" && state.length <= LONGEST_STATE && /^[\x20-\x7e]*$/.test(state);
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags & 1 ? "01" : "00"}`,
    ...isFit && { tracestate: state },
  };
}
