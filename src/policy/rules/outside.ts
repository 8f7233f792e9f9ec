import { splitToolId } from "../../model/mod.ts";
import type { JudgedCall, Sources } from "./judged.ts";

/** An argument whose value came out of an untrusted result. */
export interface Outside {
  readonly path: string;
  readonly value: string;
  readonly origin: string;
}

/** So many values of one call are looked at. */
const MOST_VALUES = 200;

/** The first value among the arguments of a call that came from outside. */
export function outsideValue(
  { tool, args, sources }: Pick<JudgedCall, "tool" | "args" | "sources">,
): Outside | undefined {
  for (const { path, value } of leavesOf(args)) {
    if (!sources.untrusted(value)) continue;
    const origin = sources.origin(value);
    if (!isOwnHandle(String(value), { tool, origin, sources })) return { path, value: String(value), origin };
  }
  return undefined;
}

/** Numbers, codes and the like: a word without a place in it. */
const HANDLE = /^[\w#-]{1,64}$/;
const SHORT_NUMBER = /^\d{1,8}$/;

/**
 * True for a handle that goes back to the server that gave it: the id of a row, a confirmation code, the name of a thing.
 * It names nothing outside of that server. A name that stands in the middle of a text may have been put there by anybody.
 */
function isOwnHandle(
  value: string,
  { tool, origin, sources }: { tool: string; origin: string; sources: Sources },
): boolean {
  if (splitToolId(tool).server !== splitToolId(origin).server || !HANDLE.test(value)) return false;
  return SHORT_NUMBER.test(value) || sources.isField(value);
}

/** The texts and numbers of some arguments with their places. */
export function* leavesOf(args: unknown): Generator<{ readonly path: string; readonly value: string | number }> {
  const open: { path: string; value: unknown }[] = [{ path: "", value: args }];
  for (let seen = 0; open.length > 0 && seen < MOST_VALUES;) {
    const { path, value } = open.shift()!;
    if (typeof value === "string" || typeof value === "number") {
      seen++;
      yield { path, value };
    } else if (Array.isArray(value)) {
      open.push(...value.slice(0, MOST_VALUES).map((item, i) => ({ path: `${path}[${i}]`, value: item })));
    } else if (typeof value === "object" && value !== null) {
      open.push(
        ...Object.entries(value).slice(0, MOST_VALUES).map(([name, item]) => ({
          path: path === "" ? name : `${path}.${name}`,
          value: item,
        })),
      );
    }
  }
}
