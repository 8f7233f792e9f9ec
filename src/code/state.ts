import { isObject, type Json, type JsonObject } from "../model/mod.ts";

/** What code gave: its result, and what it leaves for the code that comes after it. */
export interface Returned {
  readonly result: Json;
  readonly state?: JsonObject;
}

/** What one piece of code may leave: it stands in the journal, and all code after it gets it. */
export const MAX_STATE = 32_768;

/** Code leaves something by returning `{ result, state }`; an object that has anything else is a result. */
export function returned(value: Json): Returned {
  if (!isObject(value) || !isObject(value.state)) return { result: value };
  if (Object.keys(value).some((key) => key !== "result" && key !== "state")) return { result: value };
  return { result: (value.result ?? null) as Json, state: value.state as JsonObject };
}
