import type { Reply } from "../mcp/upstream.ts";
import type { JsonObject } from "../model/json.ts";

/** One call, as it is filed. */
export interface CallRecord {
  readonly tool: string;
  readonly ms: number;
  readonly ok: boolean;
  readonly bytes: number;
}

/** What a session's calls go past. */
export interface Notice {
  /** The answer to a call that was made ahead, if it was; a call that acts makes what was read from its server old. */
  ahead(
    server: string,
    request: Record<string, unknown>,
    isActing: boolean,
  ): Promise<MadeAhead | undefined> | undefined;
  /** Told of every call once it is over. */
  called(call: NoticedCall): void;
  /** Told what was asked for, in words. */
  asked(request: string): void;
  /** Told which calls are likely to come next, and how likely. */
  expect(calls: readonly ExpectedCall[]): void;
  close(): void;
}

/** What a call that was made ahead gave, and how long it took. */
export interface MadeAhead {
  readonly reply: Reply;
  readonly ms: number;
}

export interface ExpectedCall {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly bound: number;
}

export interface NoticedCall {
  readonly server: string;
  readonly request: Record<string, unknown>;
  /** None where the call came to nothing. */
  readonly reply: Reply | undefined;
  readonly ms: number;
  /** A call among others of a workflow or of code: it comes after nothing in particular. */
  readonly isPart: boolean;
  /** Whether whoever called says that it acts, whatever its tool is called. */
  readonly isActing: boolean;
}

/** Who takes no notice: a session has it until it is watched. */
export const NOBODY: Notice = { ahead: () => undefined, called() {}, asked() {}, expect() {}, close() {} };
