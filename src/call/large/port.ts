import type { LargeMessage } from "../../mcp/mod.ts";
import type { Json, Step } from "../../model/mod.ts";

/** Parses frames of many megabytes in a Worker, so that nobody else waits for them. */
export interface LargeFrames {
  /** `hidden`: lists of hidden values, each as JSON. */
  parse(frame: Uint8Array, options: ParseOptions): Promise<{ message: LargeMessage; hidden: readonly string[] }>;
  /** A long value without personal data, and lists of what was hidden, each as JSON. */
  hide(
    value: unknown,
    how: HowToHide,
    known?: ReadonlyMap<string, string>,
  ): Promise<{ value: unknown; hidden: readonly string[] }>;
  /** A part of a stored result as JSON; with `room`, as much as fits and a note about the rest (`ReadPart`). */
  readPart(path: string, options: Part): Promise<string>;
  /** The values at places in a stored result. */
  readValues(path: string, places: readonly Place[]): Promise<Json[]>;
  close(): void;
}

export interface ParseOptions {
  readonly calls: readonly string[];
  /** The requests for lists that wait: their answers have bounds of their own. */
  readonly lists: readonly string[];
  readonly answerTokens: number;
  readonly pii?: HowToHide;
}

/** The key and the patterns for putting the same tokens in the place of personal data. */
export interface HowToHide {
  readonly key: Uint8Array<ArrayBuffer>;
  readonly patterns: Readonly<Record<string, string>>;
}

/** A place in a stored result, and how it was asked for. */
export interface Place {
  readonly steps: readonly Step[];
  readonly named: string;
}

/** A part of a stored result as a reader asks for it, or values at places. */
export type Part =
  | { readonly path?: string; readonly offset?: number; readonly limit?: number; readonly room?: number }
  | { readonly places: readonly Place[] };
