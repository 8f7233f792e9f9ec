import type { Effect, Origin, Tool } from "../../model/mod.ts";

/** The part of a tool's definition that rules read. */
export type Judgeable = Pick<Tool, "annotations" | "inputSchema" | "hash">;

/** A call as rules see it. */
export interface JudgedCall {
  /** `server:tool`. */
  readonly tool: string;
  /** Absent where the tool is not known, or the call is about a resource or a prompt. */
  readonly definition?: Judgeable | undefined;
  readonly args: Readonly<Record<string, unknown>>;
  readonly effect: Effect;
  readonly by: Origin["by"];
  readonly client?: string | undefined;
  readonly project?: string | undefined;
  readonly run?: string | undefined;
  /** True for a call of a tool; prompts, resources and the client's own events are none. */
  readonly isToolCall: boolean;
  /** The time of the call; now where it is not said. */
  readonly at?: number;
  readonly sources: Sources;
}

/** The places where values of a session were seen first. */
export interface Sources {
  /** `user`, `config`, `agent`, or the tool in whose result a value was seen first. */
  origin(value: unknown): string;
  /** True for a value that was seen first in a result of a server that is not trusted. */
  untrusted(value: unknown): boolean;
  /** True if a value stood by itself where it was seen first: as a field or an item, not in the middle of a text. */
  isField(value: string): boolean;
}

/** The calls of the engine so far. */
export interface CallHistory {
  count(pattern: string, windowMs: number): number;
  sum(pattern: string, argument: string, windowMs: number): number;
  happened(pattern: string, windowMs: number): boolean;
}

/** The amount that a rate or a budget counted for a call. */
export interface Counted {
  readonly rule: string;
  readonly amount: number;
}

/** The amounts that rates and budgets have counted, in all sessions. */
export interface Counters {
  total(rule: string, windowMs: number): number;
  add(counted: Counted): void;
  /** Takes back what was counted for a call that was not made. */
  remove(counted: Counted): void;
}

/** The verdict on a call. */
export type Ruling =
  | { readonly kind: "pass"; readonly counted: readonly Counted[]; readonly observed: readonly string[] }
  | { readonly kind: "deny"; readonly rule: string; readonly why: string; readonly observed: readonly string[] }
  | {
    readonly kind: "ask";
    readonly rule: string;
    readonly why: string;
    /** The preset's questions can be answered for longer, and by `policy.unattended`; those of rules cannot. */
    readonly by: "rule" | "preset";
    readonly isOnce: boolean;
    readonly counted: readonly Counted[];
    readonly observed: readonly string[];
  };
