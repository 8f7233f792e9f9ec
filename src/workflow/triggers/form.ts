import { z } from "../../../deps.ts";
import { type EndStatus, eventCondition, loadConditions } from "../../dag/mod.ts";
import { isObject, type JsonObject, messageOf, oneLine } from "../../model/mod.ts";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { timetableOf } from "./times.ts";

interface Common {
  /** Makes up a start that was missed, or leaves it out. */
  readonly missed: "once" | "skip";
  /** Starts although the run before it is not over. */
  readonly overlap: boolean;
  /** The input of the run; `$CAUSE.…` stands for a value of the cause. */
  readonly input: JsonObject;
}

export interface EveryTrigger extends Common {
  readonly kind: "every";
  readonly ms: number;
}

export interface AtTrigger extends Common {
  readonly kind: "at";
  readonly cron: string;
}

export interface RunTrigger extends Common {
  readonly kind: "run";
  readonly run: string;
  readonly status: readonly EndStatus[];
}

export interface HookTrigger extends Common {
  readonly kind: "hook";
  readonly event: string;
  /** A condition over `event`. */
  readonly when?: string;
}

export interface FileTrigger extends Common {
  readonly kind: "file";
  readonly glob: string;
}

/** One entry of a workflow's `on`: the cause that starts it. */
export type Trigger = EveryTrigger | AtTrigger | RunTrigger | HookTrigger | FileTrigger;

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const SHORTEST_MS = 10_000;
const LONGEST_MS = 366 * UNITS.d;
const ENDS = ["completed", "partial", "failed", "aborted"] as const;

const name = z.string().regex(/^[A-Za-z0-9][\w-]{0,63}$/, "must be the name of a saved workflow");
const common = {
  missed: z.enum(["once", "skip"]).default("once"),
  overlap: z.boolean().default(false),
  input: z.record(z.string(), z.unknown()).default({}),
};
const every = z.string().regex(/^\d{1,9}[smhd]$/, 'must be a text such as "30s", "15m", "2h" or "1d"')
  .transform((text) => Number(text.slice(0, -1)) * UNITS[text.slice(-1) as keyof typeof UNITS])
  .refine((ms) => ms >= SHORTEST_MS && ms <= LONGEST_MS, "must be 10 s to 366 days");

/** The forms of the entries of `on`, by the key that tells them apart. */
export const FORMS = {
  every: z.strictObject({ every, ...common }).transform(({ every: ms, ...rest }) => ({
    kind: "every" as const,
    ms,
    ...rest,
  })),
  at: z.strictObject({ at: z.string().max(200), ...common })
    .transform(({ at: cron, ...rest }) => ({ kind: "at" as const, cron, ...rest })),
  run: z.strictObject({
    run: name,
    status: z.union([z.enum(ENDS), z.array(z.enum(ENDS)).min(1)]).default("completed"),
    ...common,
  })
    .transform(({ status, ...rest }) => ({ kind: "run" as const, status: [status].flat(), ...rest })),
  hook: z.strictObject({ hook: z.string().min(1).max(64), when: z.string().max(2_000).optional(), ...common })
    .transform(({ hook: event, ...rest }) => ({ kind: "hook" as const, event, ...rest })),
  file: z.strictObject({ file: z.string().min(1).max(1_000), ...common })
    .transform(({ file: glob, ...rest }) => ({ kind: "file" as const, glob, ...rest })),
};

const MOST_ENTRIES = 20;
const FORM = "on is a list such as [{ every: 15m }, { at: 0 9 * * 1-5 }, { run: NAME }, { file: ~/inbox/*.pdf }]";

/** Reads the `on` of a workflow file; gives the triggers, or a problem for each entry that is none. */
export async function readTriggers(
  on: unknown,
): Promise<{ readonly triggers: readonly Trigger[]; readonly problems: readonly { entry?: number; text: string }[] }> {
  if (!Array.isArray(on) || on.length === 0 || on.length > MOST_ENTRIES) {
    return { triggers: [], problems: [{ text: `${FORM}, 1 to ${MOST_ENTRIES} entries` }] };
  }
  const triggers: Trigger[] = [];
  const problems: { entry: number; text: string }[] = [];
  for (const [entry, given] of on.entries()) {
    const read = await readTrigger(given);
    if (typeof read === "string") problems.push({ entry, text: `on, entry ${entry + 1}: ${read}` });
    else triggers.push(read);
  }
  return { triggers, problems };
}

async function readTrigger(given: unknown): Promise<Trigger | string> {
  const keys = isObject(given) ? Object.keys(given).filter((key) => Object.hasOwn(FORMS, key)) : [];
  if (keys.length !== 1) return `it needs exactly one of ${Object.keys(FORMS).join(", ")}`;
  const { success, data, error } = FORMS[keys[0] as keyof typeof FORMS].safeParse(given);
  if (!success) {
    return error.issues.map(({ path, message }) => oneLine(`${path.join(".")} ${message}`.trim(), 200)).join("; ");
  }
  const trigger = data as Trigger;
  try {
    if (trigger.kind === "at") await timetableOf(trigger, 0);
    if (trigger.kind === "hook" && trigger.when !== undefined) {
      await loadConditions([{ when: trigger.when }]);
      eventCondition(trigger.when);
    }
  } catch (problem) {
    return messageOf(problem);
  }
  return trigger;
}

/** The absolute pattern of a file trigger: `~/` is the user's home, all else begins at the project's folder. */
export function patternOf({ glob }: Pick<FileTrigger, "glob">, folder: string | undefined): string | undefined {
  if (glob.startsWith("~/")) return join(homedir(), glob.slice(2));
  if (isAbsolute(glob)) return glob;
  return folder === undefined ? undefined : join(folder, glob);
}

/** A trigger as a person reads it. */
export function triggerText(trigger: Trigger): string {
  switch (trigger.kind) {
    case "every":
      return `every ${durationText(trigger.ms)}`;
    case "at":
      return `at ${trigger.cron}`;
    case "run":
      return `run ${trigger.run} ${trigger.status.join(" or ")}`;
    case "hook":
      return `hook ${trigger.event}${trigger.when === undefined ? "" : ` when ${trigger.when}`}`;
    case "file":
      return `file ${trigger.glob}`;
  }
}

function durationText(ms: number): string {
  const [unit, length] = Object.entries(UNITS).findLast(([, length]) => ms % length === 0)!;
  return `${ms / length}${unit}`;
}

const CAUSE = /^\$CAUSE\.([\w.]+)$/;

/** The input of a run, with the values of its cause in place of `$CAUSE.name`. */
export function inputOf({ input }: Trigger, cause: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => {
      const path = typeof value === "string" ? CAUSE.exec(value)?.[1] : undefined;
      if (path === undefined) return [key, value];
      const found = path.split(".").reduce<unknown>(
        (at, step) => isObject(at) && Object.hasOwn(at, step) ? at[step] : null,
        cause,
      );
      return [key, found as JsonObject[string]];
    }),
  );
}
