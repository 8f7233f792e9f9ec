import { canonicalJson, type Effect, type Json, type JsonObject } from "../model/mod.ts";
import { createHash } from "node:crypto";
import type { CallAnswer, CallHappening } from "./event.ts";

/** A call that the code of a task made, as the journal has it. */
export interface CodeCall {
  readonly call: number;
  readonly tool: string;
  readonly key: string;
  readonly effect: Effect;
  readonly arguments?: JsonObject;
  /** The places in the journal at which it was made and answered. */
  readonly made: number;
  readonly answered?: number;
  readonly answer?: CallAnswer;
  readonly bytes: number;
  /** It failed and is to be made again where it stood. */
  readonly again?: true;
}

const MAY_HAVE_ACTED = /It may have had its effect\.$/;

/** The same for the same call, whenever it is made. */
export function callKey(asked: string, args: JsonObject): string {
  return createHash("sha256").update(canonicalJson([asked, args])).digest("base64url");
}

/** Takes in what happened to a call. The map is the fold's own and changes in place: code may make thousands of calls. */
export function noteCall(
  calls: ReadonlyMap<number, CodeCall> | undefined,
  event: CallHappening & { readonly seq: number },
): ReadonlyMap<number, CodeCall> {
  const noted = (calls ?? new Map()) as Map<number, CodeCall>;
  if (event.kind === "called") {
    const { call, tool, key, effect, arguments: args, seq } = event;
    noted.set(call, { call, tool, key, effect, ...args && { arguments: args }, made: seq, bytes: 0 });
    return noted;
  }
  const before = noted.get(event.call);
  if (event.answer.kind === "none") noted.delete(event.call);
  // Versions before 0.2 told code an error where an effect may have happened: nobody knows the answer.
  else if (before?.effect === "effectful" && event.answer.kind === "error" && MAY_HAVE_ACTED.test(event.answer.error)) {
    return noted;
  } else if (before) {
    noted.set(event.call, { ...before, answered: event.seq, answer: event.answer, bytes: event.bytes });
  }
  return noted;
}

/** The acting calls that code has made so far. */
export function effectsOf(calls: ReadonlyMap<number, CodeCall> | undefined): CodeCall[] {
  return [...calls?.values() ?? []].filter(({ effect }) => effect === "effectful");
}

const SHOWN_EFFECTS = 10;

/** Says which calls of code that failed have acted: whoever repairs it must know. */
export function actedBefore(calls: ReadonlyMap<number, CodeCall> | undefined): string {
  return describeEffects(effectsOf(calls).filter(({ answer }) => answer?.kind === "output").map(({ tool }) => tool));
}

/** The sentences about tools that code has called with effect, and may have; nothing where there are none. */
export function describeEffects(tools: readonly string[], open: readonly string[] = []): string {
  return said("It had acted before", tools) + said("It may have acted, no answer came", open);
}

function said(what: string, tools: readonly string[]): string {
  if (tools.length === 0) return "";
  const counted = [...Map.groupBy(tools, (tool) => tool)].map(([tool, { length }]) =>
    length > 1 ? `${tool} (${length} times)` : tool
  );
  const more = counted.length > SHOWN_EFFECTS ? ` and ${counted.length - SHOWN_EFFECTS} more tools` : "";
  return ` ${what}: ${counted.slice(0, SHOWN_EFFECTS).join(", ")}${more}.`;
}

export function hasActed(calls: ReadonlyMap<number, CodeCall> | undefined): boolean {
  return effectsOf(calls).some(({ again }) => !again);
}

/**
 * The calls up to the last one that acted and was answered with a value; what came after it is made anew. A call among
 * them that failed is made again where it stood: its failure may be what made the code fail.
 */
export function upToLastEffect(calls: ReadonlyMap<number, CodeCall>): ReadonlyMap<number, CodeCall> {
  const last = effectsOf(calls).filter(({ answer }) => answer?.kind === "output")
    .reduce((most, { made }) => Math.max(most, made), -1);
  return new Map([...calls].filter(([, { made }]) => made <= last).map(([call, made]) => [call, madeAgain(made)]));
}

function madeAgain(made: CodeCall): CodeCall {
  if (made.answer?.kind !== "error") return made;
  const { answer: _answer, answered: _answered, ...rest } = made;
  return { ...rest, again: true };
}

/** The acting calls that may or may not have happened. */
export function openEffects(calls: ReadonlyMap<number, CodeCall> | undefined): CodeCall[] {
  return effectsOf(calls).filter(({ answer, again }) => !answer && !again);
}

/** Tasks as JSON, and back. */
export function callsAsJson<T extends { calls?: ReadonlyMap<number, CodeCall> }>(task: T): Json {
  return (task.calls ? { ...task, calls: [...task.calls.values()] } : task) as unknown as Json;
}

export function callsOf<T extends { calls?: ReadonlyMap<number, CodeCall> }>(task: T): T {
  const calls = task.calls as unknown as CodeCall[] | undefined;
  return calls ? { ...task, calls: new Map(calls.map((call) => [call.call, call])) } : task;
}
