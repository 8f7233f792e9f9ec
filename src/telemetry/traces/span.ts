import type { Attributes, Span, SpanKind } from "@opentelemetry/api";
import type { Parent } from "./trace_context.ts";

/** A span as it is begun. */
export interface Begin {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly parent?: Parent | undefined;
  readonly links?: readonly Parent[];
  readonly at?: number;
}

/** Begins spans. */
export interface SpanMaker {
  begin(span: Begin): Span;
  /** The same trace for the same name, for work that outlives a process. */
  rootOf(name: string): Parent;
}
