import type { Pending, WaitingCall } from "../dag/event.ts";
import { ranMs, type RunState, type TaskState } from "../dag/state.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { cut, oneLine, tokens } from "../model/text.ts";
import { outlined } from "./answer.ts";
import { newHandle } from "./results.ts";
import type { Session } from "./session.ts";
import type { RunView } from "./workflow_live.ts";

const SHOWN_TASKS = 100;
const SHOWN_ARGUMENTS = 3_000;

/** What comes back of a run: the results at its ends in full, everything else as a line. */
export async function workflowAnswer({ id, state }: RunView, session: Session): Promise<JsonObject> {
  const all = [...state.tasks.values()];
  const wanted = wantedOf(state).filter((task) => task.status === "success");
  const { results, characters } = await resultsOf(wanted, session);
  const bytes = all.reduce((sum, task) => sum + task.bytes, 0);
  const shown = all.length <= SHOWN_TASKS
    ? all
    : all.toSorted((a, b) => Number(a.status === "success") - Number(b.status === "success")).slice(0, SHOWN_TASKS);
  return {
    status: state.status,
    workflow_id: id,
    results,
    tasks: shown.map(lineOf),
    ...all.length > shown.length && { tasks_omitted: all.length - shown.length },
    ...Object.keys(state.workflow.context).length > 0 && { state: state.workflow.context },
    ...state.pending && { pending: pendingText(id, state.pending) },
    ...state.error !== undefined && { error: state.error },
    stats: { ...statsOf(state), tokens_kept: Math.max(0, tokens(bytes) - tokens(characters)) },
  };
}

/** The tasks whose results were asked for, or those that nothing comes after. */
function wantedOf({ plan, options, tasks }: RunState): TaskState[] {
  const needed = new Set(plan.flatMap(({ depends_on }) => depends_on));
  const ids = options.return ?? plan.map(({ id }) => id).filter((id) => !needed.has(id));
  return ids.flatMap((id) => tasks.get(id) ?? []);
}

/** Values within what an agent can read; the largest are put aside first. */
async function resultsOf(wanted: readonly TaskState[], session: Session) {
  let room = session.config.limits.answer_tokens * 4 - wanted.reduce((sum, { bytes }) => sum + Math.min(bytes, 400), 0);
  const entries = new Map<string, Json>();
  let characters = 0;
  for (const { id, output, bytes } of wanted.toSorted((a, b) => a.bytes - b.bytes)) {
    if (!output) continue;
    const isInline = output.kind === "value" && (bytes <= 400 || bytes <= room);
    const value = isInline ? output.value : await handleFor(output, bytes, session);
    const size = isInline ? bytes : JSON.stringify(value).length;
    room -= size;
    characters += size;
    entries.set(id, value);
  }
  return {
    results: Object.fromEntries(wanted.flatMap(({ id }) => entries.has(id) ? [[id, entries.get(id)!]] : [])),
    characters,
  };
}

async function handleFor(output: NonNullable<TaskState["output"]>, bytes: number, session: Session): Promise<Json> {
  if (output.kind === "stored") {
    const { handle, steps, shape, preview } = output;
    return { handle, ...steps.length > 0 && { path: steps.join(".") }, bytes, shape, preview };
  }
  const handle = newHandle();
  const { json, shape, preview } = outlined(output.value);
  await session.shared.results.write({ handle, tool: "workflow", json });
  return { handle, bytes, shape, preview };
}

function lineOf({ id, status, ms, bytes, error }: TaskState): JsonObject {
  return { id, status, ms: Math.round(ms), bytes, error: error === undefined ? null : oneLine(error, 500) };
}

/** What the run waits for, in the words of the tools that can decide it. */
export function pendingText(id: string, { reason, for: whom, why, calls, choices }: Pending): JsonObject {
  const [first, ...others] = calls;
  return {
    reason,
    for: whom,
    why,
    ...first && { task: first.task, ...callText(first) },
    ...others.length > 0 && { also: others.map(({ task, ...call }) => ({ task, ...callText({ task, ...call }) })) },
    choices: [...choices],
    ...reason === "approval" && { how: `a human decides: agentcards approve ${id}, or reject` },
    ...reason === "question" && { how: "a human has to answer it: continue from a client that can ask" },
  };
}

function callText({ tool, arguments: given, code }: WaitingCall): JsonObject {
  if (tool !== undefined) {
    const json = JSON.stringify(given ?? {});
    return { call: { tool, arguments: json.length > SHOWN_ARGUMENTS ? cut(json, SHOWN_ARGUMENTS) : given ?? {} } };
  }
  return code === undefined ? {} : { call: { code: cut(code, SHOWN_ARGUMENTS) } };
}

export type RunStats = Readonly<Record<"wall_ms" | "critical_path_ms" | "sequential_ms", number>>;

/** How long it took, how long its longest path took, and how long it would have taken one by one. */
export function statsOf(state: RunState): RunStats {
  const { plan, tasks } = state;
  const finish = new Map<string, number>();
  let longest = 0;
  let sum = 0;
  for (const { id, depends_on } of plan) {
    const ms = tasks.get(id)?.ms ?? 0;
    const end = ms + depends_on.reduce((most, need) => Math.max(most, finish.get(need) ?? 0), 0);
    finish.set(id, end);
    longest = Math.max(longest, end);
    sum += ms;
  }
  return {
    wall_ms: Math.round(ranMs(state, Date.now())),
    critical_path_ms: Math.round(longest),
    sequential_ms: Math.round(sum),
  };
}
