import type { Call, CallResult, Origin } from "../model/mod.ts";

/** One call, as it is filed. */
export interface CallRecord {
  /** `server:name`, in one spelling. */
  readonly tool: string;
  readonly ms: number;
  readonly ok: boolean;
  readonly bytes: number;
  readonly by: Origin["by"];
  /** The name of the client, the folder of its session. */
  readonly client: string | null;
  readonly folder: string;
  readonly run: string | null;
  readonly task: string | null;
  /** Characters of its arguments. */
  readonly bytes_in?: number;
  /** Characters of its result that went into no context of an agent. */
  readonly kept?: number;
  /** The problem of its result by the output schema of its tool. */
  readonly misfit?: string;
}

/** A call that has ended. */
export interface EndedCall {
  readonly call: Call;
  /** Absent where the call was refused or came to nothing. */
  readonly result: CallResult | undefined;
  readonly tool: string;
  readonly ms: number;
  readonly ok: boolean;
}

/** A tool in the answer to a search. */
export interface Shown {
  readonly tool: string;
  /** The deviations by which it is behind the first one. */
  readonly missing: number;
}

/** Hears of the calls and requests of a session. */
export interface Observer {
  ended(ended: EndedCall): void;
  /** A request in words, such as a search, with the tools that were shown for it. */
  asked(request: string, shown?: readonly Shown[]): void;
  close(): void;
}

/** Learns from the calls and requests of a session, some calls at a time. */
export interface Learner extends Pick<Observer, "asked"> {
  ended(calls: readonly EndedCall[]): void;
  /** The session is over, or its lessons are kept elsewhere from now on. */
  close(): void;
}

export const NO_OBSERVER: Observer = { ended() {}, asked() {}, close() {} };
