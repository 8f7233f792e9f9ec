import { isObject, type Json, type JsonObject } from "../model/mod.ts";

/** The outcome of code: its result, and the state that it leaves for later code. */
export interface Returned {
  readonly result: Json;
  readonly state?: JsonObject;
}

/** The most state that one piece of code may leave: it is journalled, and all later code gets it. */
export const MAX_STATE = 32_768;

/** Code leaves something by returning `{ result, state }`; an object that has anything else is a result. */
export function returned(value: Json): Returned {
  if (!isObject(value) || !isObject(value.state)) return { result: value };
  if (Object.keys(value).some((key) => key !== "result" && key !== "state")) return { result: value };
  return { result: (value.result ?? null) as Json, state: value.state as JsonObject };
}
