import { howToRead, outlined, type Session } from "../call/mod.ts";
import {
  endsOf,
  isNotAllowed,
  isOver,
  kindOf,
  type Pending,
  ranMs,
  type RunState,
  type RunStatus,
  type TaskState,
  type WaitingCall,
} from "../dag/mod.ts";
import { cut, type Json, type JsonObject, messageOf, oneLine, sha256, splitToolId, tokens } from "../model/mod.ts";
import { attachmentsOf, type RunAnswer } from "./attachments.ts";
import type { RunView } from "./decider.ts";

const SHOWN_TASKS = 100;
const SHOWN_CALLS = 10;
const SHOWN_STATE = 8_000;
const SHOWN_ARGUMENTS = 3_000;
const SHOWN_OF_A_HANDLE = 200;

const REPAIR =
  "What succeeded is kept. resume_workflow goes on from it: retry {tasks?: [ids]}, replace {tasks}, inject {tasks}.";

/** The answer of a run as JSON. */
export interface RunBody {
  readonly status: RunStatus;
  readonly workflow_id: string;
  readonly results: JsonObject;
  readonly tasks: readonly {
    readonly id: string;
    readonly status: TaskState["status"];
    readonly ms: number;
    readonly bytes: number;
    readonly error: string | null;
    readonly note?: string;
  }[];
  readonly pending?: PendingView;
  readonly error?: string;
  /** The arguments that were filled in from earlier outputs, as `options.infer` asked. */
  readonly inferred?: RunState["options"]["inferred"];
  readonly stats: RunStats & { readonly tokens_kept: number };
}

/** The pause of a run; lists know only the first four fields. */
export interface PendingView {
  readonly reason: string;
  readonly for?: string;
  readonly task?: string;
  readonly tool?: string;
  readonly why?: string;
  readonly call?: Json;
  readonly also?: readonly { readonly task: string; readonly call?: Json }[];
}

/** The answer of a run for a program that shows it to a person: without attachments. */
export async function runBody(view: RunView, session: Session): Promise<RunBody> {
  return (await workflowAnswer(view, session)).body as unknown as RunBody;
}

/** The answer of a run: the results at its ends in full, everything else as a line. */
export async function workflowAnswer(view: RunView, session: Session): Promise<RunAnswer> {
  const { media, ...attachments } = await attachmentsOf(wantedOf(view.state), session);
  const body = { ...await answerOf(view, session), ...media.length > 0 && { media } };
  // A run may be older than the rule.
  return { body: session.privacy?.hide(body, "agentcards") ?? body, attachments };
}

async function answerOf({ id, state }: RunView, session: Session): Promise<JsonObject> {
  const all = [...state.tasks.values()];
  const wanted = wantedOf(state).filter((task) => task.status === "success");
  const results = await resultsOf({ id, state }, wanted, session);
  const bytes = all.reduce((sum, task) => sum + task.bytes, 0);
  const shown = all.length <= SHOWN_TASKS
    ? all
    : all.toSorted((a, b) => Number(a.status === "success") - Number(b.status === "success")).slice(0, SHOWN_TASKS);
  const errorLength = Math.max(80, Math.floor(10_000 / Math.max(20, shown.length)));
  return {
    status: state.status,
    workflow_id: id,
    results,
    tasks: shown.map((task) => lineOf(task, errorLength)),
    ...all.length > shown.length && { tasks_omitted: all.length - shown.length },
    ...Object.keys(state.workflow.context).length > 0 && { state: await stateOf({ id, state }, session) },
    ...state.pending && { pending: pendingText(id, state.pending) },
    ...state.error !== undefined && { error: state.error },
    ...state.options.inferred && { inferred: state.options.inferred.map((one) => ({ ...one })) },
    ...isOver(state) && state.status !== "completed" && { next: nextStep(all) },
    stats: { ...statsOf(state), tokens_kept: Math.max(0, tokens(bytes) - tokens(JSON.stringify(results))) },
  };
}

/** The next step for an agent after a run that did not complete. */
function nextStep(tasks: readonly TaskState[]): string {
  const inDoubt = tasks.find(({ status }) => status === "in_doubt");
  const refused = tasks.find(({ error }) => isNotAllowed(error));
  return [
    ...inDoubt ? [`${inDoubt.id} may or may not have happened: find out, then resolve {task, outcome}.`] : [],
    ...refused ? [`A human refused ${refused.id}: the same call is not asked about again, so retry cannot help.`] : [],
    REPAIR,
  ].join(" ");
}

async function stateOf({ id, state }: RunView, session: Session): Promise<Json> {
  const { context } = state.workflow;
  return JSON.stringify(context).length <= SHOWN_STATE
    ? context
    : await putAside(`${id} ${state.seq} state`, context, session);
}

/** The tasks whose results were asked for, or those that nothing comes after; at a pause, what the next tasks go by. */
function wantedOf(state: RunState): TaskState[] {
  if (state.options.return) return state.options.return.flatMap((id) => state.tasks.get(id) ?? []);
  if (state.status !== "paused") return endsOf(state);
  const waiting = state.plan.filter(({ id }) => state.tasks.get(id)?.status === "waiting");
  const needed = new Set(waiting.flatMap(({ depends_on }) => depends_on));
  const ends = new Set(endsOf(state));
  return [...state.tasks.values()].filter((task) => ends.has(task) || needed.has(task.id));
}

/**
 * Values within what an agent can read, the small ones first. What does not fit is put aside: a few each under a handle of
 * its own, many all together under one.
 */
async function resultsOf({ id, state }: RunView, wanted: readonly TaskState[], session: Session): Promise<JsonObject> {
  let room = session.config.limits.answer_tokens * 4;
  const inline = new Map<string, Json>();
  const large: TaskState[] = [];
  for (const task of wanted.toSorted((a, b) => a.bytes - b.bytes)) {
    const { output, bytes } = task;
    const size = output?.kind === "value" ? bytes : SHOWN_OF_A_HANDLE * 3;
    if (output?.kind === "value" && size <= room) inline.set(task.id, output.value);
    else if (output) large.push(task);
    room -= output?.kind === "value" && size > room ? 0 : size;
  }
  const isFew = large.length <= SHOWN_CALLS;
  const handles = new Map<string, Json>();
  if (isFew) {
    for (const task of large) handles.set(task.id, await handleFor(`${id} ${task.id} ${task.attempt}`, task, session));
  }
  const results = Object.fromEntries(wanted.flatMap((task) => {
    // A value of null is a result too.
    const value = inline.has(task.id) ? inline.get(task.id) : handles.get(task.id);
    return value === undefined ? [] : [[task.id, value]];
  }));
  if (isFew) return results;
  const rest = Object.fromEntries(
    large.map((task) => [task.id, task.output!.kind === "value" ? task.output!.value : task.output!]),
  );
  const stored = await putAside(`${id} ${state.seq}`, rest as unknown as JsonObject, session);
  return {
    ...results,
    [`${large.length} more`]: { ...stored, ids: cut(large.map((task) => task.id).join(", "), 400) },
  };
}

async function handleFor(name: string, { output, bytes }: TaskState, session: Session): Promise<Json> {
  if (output?.kind !== "stored") return await putAside(name, output?.value ?? null, session);
  const { handle, steps, shape, preview } = output;
  const path = steps.length > 0 ? steps.join(".") : undefined;
  return {
    handle,
    ...path !== undefined && { path },
    bytes,
    ...shortened({ shape, preview }),
    read: howToRead(handle, path),
  };
}

/** Puts a value aside under a handle that is always the same for it: asking twice makes no second file. */
async function putAside(name: string, value: Json, session: Session): Promise<JsonObject> {
  const handle = `r_${(await sha256(name)).slice(0, 16)}`;
  const { json, shape, preview } = outlined(value);
  const shown = { bytes: json.length, ...shortened({ shape, preview }) };
  try {
    await session.shared.results.write({ handle, tool: "workflow", json });
    return { handle, ...shown, read: howToRead(handle) };
  } catch (error) {
    // What came of a run is told, whatever becomes of its results.
    return { ...shown, note: `It could not be stored: ${messageOf(error)}` };
  }
}

const shortened = ({ shape, preview }: { shape: string; preview: string }) => ({
  shape: cut(shape, SHOWN_OF_A_HANDLE),
  preview: cut(preview, SHOWN_OF_A_HANDLE),
});

function lineOf({ id, status, ms, bytes, error, note }: TaskState, errorLength: number): JsonObject {
  const line = {
    id,
    status,
    ms: Math.round(ms),
    bytes,
    error: error === undefined ? null : oneLine(error, errorLength),
  };
  return note === undefined ? line : { ...line, note };
}

/** The pause of a run in the words of the tools that can decide it. */
export function pendingText(id: string, { reason, for: whom, why, calls, choices }: Pending): JsonObject {
  const [first, ...others] = calls;
  const also = others.slice(0, SHOWN_CALLS).map((call) => ({ task: call.task, ...callText(call, 300) }));
  return {
    reason,
    for: whom,
    why,
    ...first && { task: first.task, ...callText(first, SHOWN_ARGUMENTS) },
    ...also.length > 0 && { also },
    ...others.length > also.length && { more: others.length - also.length },
    choices: [...choices],
    ...reason === "approval" &&
      {
        how:
          `a human decides: agentcards approve ${id}, or reject. Do not send the call again; continue goes on after the decision`,
      },
    ...reason === "sign_in" && {
      how: "the user signs in at a terminal; the run goes on by itself then. Do not send the call again",
    },
    ...reason === "question" && {
      how: `a human answers it: agentcards runs resume ${id} at a terminal, or continue from a client that can ask`,
    },
  };
}

function callText({ tool, arguments: given, code }: WaitingCall, length: number): JsonObject {
  if (tool !== undefined) {
    const json = JSON.stringify(given ?? {});
    return { call: { tool, arguments: json.length > length ? cut(json, length) : given ?? {} } };
  }
  return code === undefined ? {} : { call: { code: cut(code, length) } };
}

export type RunStats = Readonly<Record<"wall_ms" | "critical_path_ms" | "sequential_ms", number>>;

/** The times of a run: in all, of its longest path, and of its tasks one by one. */
export function statsOf(state: RunState): RunStats {
  const { plan, tasks } = state;
  const finish = new Map<string, number>();
  const starts = new Map<string, number>();
  let longest = 0;
  let sum = 0;
  for (const task of plan) {
    const { id, depends_on } = task;
    const { ms = 0, startMs = 0, starts: inCode = {} } = tasks.get(id) ?? {};
    // Tasks that wait for one server to start wait at the same time; one by one, the first alone would.
    const [tool] = kindOf(task).tools(task);
    const waits = tool === undefined ? inCode : { [splitToolId(tool).server ?? ""]: startMs };
    for (const [server, waited] of Object.entries(waits)) {
      starts.set(server, Math.max(starts.get(server) ?? 0, waited));
      sum -= waited;
    }
    const end = ms + depends_on.reduce((most, need) => Math.max(most, finish.get(need) ?? 0), 0);
    finish.set(id, end);
    longest = Math.max(longest, end);
    sum += ms;
  }
  for (const startMs of starts.values()) sum += startMs;
  return {
    wall_ms: Math.round(ranMs(state, Date.now())),
    critical_path_ms: Math.round(longest),
    // A server that was started more than once is counted once above, and each time in a path.
    sequential_ms: Math.round(Math.max(sum, longest)),
  };
}
