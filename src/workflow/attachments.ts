import { MEANT, type Session, textResult } from "../call/mod.ts";
import { fillIn, kindOf, type RunState, type Task, type TaskState } from "../dag/mod.ts";
import {
  type Beside,
  type Caller,
  isObject,
  type Json,
  type JsonObject,
  messageOf,
  type ToolResult,
} from "../model/mod.ts";
import type { MadeRun } from "../suggest/mod.ts";
import { log } from "../telemetry/mod.ts";
import type { RunView } from "./decider.ts";
import type { WorkSession } from "./port.ts";

/** The attachments of a run's answer: content that is no text, and metadata by task. */
export interface Attachments {
  readonly content: readonly Json[];
  readonly meta: Readonly<Record<string, JsonObject>>;
}

/** The answer of a run: its JSON for the agent, the attachments of its results, and the tools that bare names meant. */
export interface RunAnswer {
  readonly body: JsonObject;
  readonly attachments?: Attachments;
  readonly meant?: Readonly<Record<string, string>>;
}

/** Attachments, and a line about each: the block of the answer that is whose, or where it lies. */
export interface FoundAttachments extends Attachments {
  readonly media: Json[];
}

/** More than this of pictures and the like stays where it lies. */
const MOST_CHARACTERS = 16 * 1024 * 1024;

/** The attachments of the results that were asked for. */
export async function attachmentsOf(wanted: readonly TaskState[], session: Session): Promise<FoundAttachments> {
  const content: Json[] = [];
  const meta: Record<string, JsonObject> = {};
  const media: Json[] = [];
  let room = MOST_CHARACTERS;
  const fits = (value: Json) => {
    const left = room - JSON.stringify(value).length;
    if (left >= 0) room = left;
    return left >= 0;
  };
  for (const { id, status, output } of wanted) {
    if (status !== "success" || !output?.beside) continue;
    const beside = await loaded(output.beside, session);
    const where: JsonObject = "handle" in output.beside ? { handle: output.beside.handle } : {};
    if (beside.meta) {
      if (fits(beside.meta)) meta[id] = beside.meta;
      else media.push({ task: id, type: "_meta", ...where });
    }
    for (const block of beside.content ?? []) {
      const { type = null, mimeType } = isObject(block) ? block as JsonObject : {};
      const about = { task: id, type, ...mimeType !== undefined && { mimeType } };
      if (!fits(block)) media.push({ ...about, ...where });
      else {
        content.push(block);
        // The first block of the answer is the text.
        media.push({ ...about, block: content.length });
      }
    }
  }
  return { content, meta, media };
}

async function loaded(beside: Beside | { readonly handle: string }, session: Session): Promise<Beside> {
  if (!("handle" in beside)) return session.privacy?.hide(beside, "agentcards") ?? beside;
  try {
    const { results, large } = session.shared;
    const places = [{ steps: [], named: beside.handle }];
    const [value] = await results.read(beside.handle, (path) => large.readValues(path, places)) as [Beside];
    return session.privacy?.hide(value, "agentcards") ?? value;
  } catch (error) {
    log("debug", "attachment_gone", { reason: messageOf(error) });
    return {};
  }
}

/** The tools that the bare names among tasks meant. */
export function meantTools(given: unknown, plan: readonly Task[]): Pick<RunAnswer, "meant"> {
  const ids = new Map(plan.map((task) => [task.id, kindOf(task).tools(task)[0] ?? ""]));
  const meant = (Array.isArray(given) ? given : []).flatMap((task) => {
    const { id, tool } = isObject(task) ? task : {};
    const found = typeof id === "string" && typeof tool === "string" && !tool.includes(":") ? ids.get(id) : undefined;
    return found ? [[tool as string, found]] : [];
  });
  return meant.length === 0 ? {} : { meant: Object.fromEntries(meant) };
}

/** A run's answer as a tool result: its JSON as text, then the attachments. */
export function resultOfRun({ body, attachments, meant }: RunAnswer, isError = false): ToolResult {
  const { content = [], meta = {} } = attachments ?? {};
  const { content: [text] } = textResult(JSON.stringify(body)) as { content: Json[] };
  const about = {
    ...Object.keys(meta).length > 0 && { "agentcards/results": meta },
    ...meant && { [MEANT]: meant },
  };
  return {
    content: [text, ...content],
    ...isError && { isError: true },
    ...Object.keys(about).length > 0 && { _meta: about },
  };
}

/** So many of the newest tasks are looked at. */
const LOOKED_AT = 12;

/** The answer of a run that ended or pauses, with the reads that probably come next and the tasks that may. */
export async function withReadsAhead(
  session: WorkSession,
  view: RunView,
  { answer, caller }: { readonly answer: RunAnswer; readonly caller: Caller },
): Promise<RunAnswer> {
  const { status } = view.state;
  if (status !== "completed" && status !== "paused" || caller.signal.aborted) return answer;
  const { blocks, next } = await session.ahead.afterRun(session, { id: view.id, calls: callsOf(view.state) }, caller);
  if (blocks.length === 0 && next.length === 0) return answer;
  const { body, attachments } = answer;
  const tasks = next.map((task, i): JsonObject => ({ id: `next${i + 1}`, ...task }));
  return {
    ...answer,
    body: body.next === undefined && tasks.length > 0 ? { ...body, next: tasks } : body,
    attachments: { meta: attachments?.meta ?? {}, content: [...attachments?.content ?? [], ...blocks] },
  };
}

/** The calls of tools that succeeded, as they went out; those whose values lie elsewhere are left out. */
function callsOf({ plan, tasks }: RunState): MadeRun["calls"] {
  return plan.slice(-LOOKED_AT).flatMap((task) => {
    const { status, output } = tasks.get(task.id) ?? {};
    if (task.type !== "tool" || status !== "success" || output?.kind !== "value") return [];
    try {
      const args = fillIn(task.arguments, tasks, () => Promise.reject(new Error("it is stored")));
      if (args instanceof Promise) {
        args.catch(() => {});
        return [];
      }
      return [{
        task: task.id,
        tool: task.tool,
        arguments: args,
        result: { content: [], structuredContent: output.value },
      }];
    } catch {
      // An argument that leads nowhere is told by the run itself.
      return [];
    }
  });
}
