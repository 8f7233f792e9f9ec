import type { Reply } from "../mcp/upstream.ts";

/** One call, as it is filed. */
export interface CallRecord {
  readonly tool: string;
  readonly ms: number;
  readonly ok: boolean;
  readonly bytes: number;
}

/** What a session's calls go past. */
export interface Notice {
  /** Told of every call once it is over. */
  called(call: NoticedCall): void;
  /** Told what was asked for, in words. */
  asked(request: string): void;
  close(): void;
}

export interface NoticedCall {
  readonly server: string;
  readonly request: Record<string, unknown>;
  /** None where the call came to nothing. */
  readonly reply: Reply | undefined;
  /** A call among others of a workflow or of code: it comes after nothing in particular. */
  readonly isPart: boolean;
}

/** Who takes no notice: a session has it until it is watched. */
export const NOBODY: Notice = { called() {}, asked() {}, close() {} };
