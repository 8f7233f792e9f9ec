import { AgentCardsError, type Json, type JsonObject, type Step } from "../model/mod.ts";
import type { TaskStatus } from "./event.ts";
import { type Reference, referencesIn, referred, resolveReferences } from "./references.ts";
import type { TaskState } from "./run_state.ts";

/** A dependency as code sees it. */
export interface Dependency {
  readonly status: TaskStatus;
  readonly output: Json;
  readonly error: string | null;
}

/** A place in a stored answer, and how it was asked for. */
export interface Place {
  readonly steps: readonly Step[];
  readonly named: string;
}

/** Reads places in one stored answer, all at once: the answer may have tens of megabytes. */
export type LoadStored = (handle: string, places: readonly Place[]) => Promise<Json[]>;

type Tasks = ReadonlyMap<string, TaskState>;

/**
 * A value with all its references filled in. Nothing has to be waited for unless one leads into a stored answer; of that
 * only the place it leads to is read.
 */
export function fillIn(value: JsonObject, tasks: Tasks, load: LoadStored): JsonObject | Promise<JsonObject> {
  const inline = (reference: Reference) => referred(inlineValue(tasks, reference), reference);
  const stored = referencesIn(value).filter((reference) => placeOf(tasks, reference) !== undefined);
  if (stored.length === 0) return resolveReferences(value, inline) as JsonObject;
  return loadAll(stored, tasks, load).then((values) =>
    resolveReferences(
      value,
      (reference) => values.has(reference.text) ? values.get(reference.text) : inline(reference),
    ) as JsonObject
  );
}

async function loadAll(references: readonly Reference[], tasks: Tasks, load: LoadStored): Promise<Map<string, Json>> {
  const byHandle = Map.groupBy(references, (reference) => placeOf(tasks, reference)!.handle);
  const loaded = await Promise.all([...byHandle].map(async ([handle, wanted]) => {
    const distinct = [...new Map(wanted.map((reference) => [reference.text, reference])).values()];
    const places = distinct.map((reference) => ({
      steps: [...placeOf(tasks, reference)!.steps, ...reference.path],
      named: reference.text,
    }));
    const values = await load(handle, places);
    return distinct.map(({ text }, i) => [text, values[i]!] as const);
  }));
  return new Map(loaded.flat());
}

function placeOf(tasks: Tasks, reference: Reference): { handle: string; steps: readonly Step[] } | undefined {
  if (reference.kind === "result") return { handle: reference.id, steps: [] };
  const output = tasks.get(reference.id)?.output;
  return output?.kind === "stored" ? output : undefined;
}

function inlineValue(tasks: Tasks, { id, text }: Reference): Json {
  const task = tasks.get(id);
  if (task?.output?.kind === "value") return task.output.value;
  throw new AgentCardsError("REFERENCE_INVALID", `${text} leads nowhere: task ${id} gave nothing (${task?.status})`);
}

/** The dependencies of a code task as its code sees them, failed ones too. */
export async function dependenciesOf(
  ids: readonly string[],
  tasks: Tasks,
  load: LoadStored,
): Promise<Record<string, Dependency>> {
  const entries = ids.map(async (id): Promise<[string, Dependency]> => {
    const { status, output, error } = tasks.get(id)!;
    const value = output?.kind === "stored"
      ? (await load(output.handle, [{ steps: output.steps, named: `deps.${id}` }]))[0]!
      : output?.value ?? null;
    return [id, { status: status as TaskStatus, output: value, error: error ?? null }];
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Long arguments would double the journal. */
const KEPT_ARGUMENTS = 32_768;
const KEPT_BEGINNING = 2_000;

/** The arguments that were sent, as far as the journal keeps them, for a decision about the call. */
export function sentArguments(args: JsonObject): { arguments: JsonObject } {
  const json = JSON.stringify(args);
  if (json.length <= KEPT_ARGUMENTS) return { arguments: args };
  return { arguments: { [`the first of ${json.length} characters`]: json.slice(0, KEPT_BEGINNING) } };
}

/** The arguments of a call that was interrupted and is made again, where the journal has all of them. */
export function interruptedArguments(task: TaskState | undefined): JsonObject | undefined {
  if (task?.status !== "running" || !task.sent) return undefined;
  const isShortened = Object.keys(task.sent).some((key) => /^the first of \d+ characters$/.test(key));
  return isShortened ? undefined : task.sent;
}
