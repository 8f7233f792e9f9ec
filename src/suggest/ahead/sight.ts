import type { JsonObject } from "../../model/mod.ts";
import type { Recalled } from "./conversations.ts";
import type { Signs } from "./logistic.ts";
import type { Instance, PastCall, Template } from "./template.ts";

/** One conversation: the prompt, where one is known, and the calls so far. */
export interface Course {
  readonly prompt: string;
  readonly calls: PastCall[];
  /** Candidates whose outcome is not known yet. */
  pending: Pending[];
  /** The calls whose results are known: nothing acted since they were made. */
  readonly known: Set<string>;
  /** Tools of candidates, of which it is not known yet whether they come next. */
  tools: PendingTool[];
}

/** A call that may come next, and where it comes from. */
export interface Sight {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly call: string;
  readonly course: Course;
  /** The template that makes it. */
  readonly made?: Made;
  readonly recalled?: Recalled;
}

/** A call as a template makes it. */
export interface Made {
  readonly key: string;
  readonly template: Template;
  readonly instance: Instance;
  readonly fits: boolean;
  /** The distance to the item of the same list that was called last; undefined where none was. */
  readonly step: number | undefined;
}

/** A candidate whose outcome is not known yet, as it was seen. */
export interface Pending {
  readonly tool: string;
  readonly call: string;
  readonly places: Omit<Places, "tool">;
  readonly signs: Signs;
  /** The number of calls that the conversation had. */
  readonly at: number;
}

export interface PendingTool {
  readonly tool: string;
  readonly places: readonly string[];
  readonly at: number;
}

/** The places in which a candidate is counted, by kind, the widest first. */
export type Places = Readonly<Record<Kind, readonly string[]>>;

/** Kinds of signs: the list or call it is made of, its tool, conversations like this one, and that it was made before. */
export const KINDS = ["order", "template", "tool", "recalled", "again"] as const;
type Kind = typeof KINDS[number];
