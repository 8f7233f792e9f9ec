import { MEANT, type Session, textResult } from "../call/mod.ts";
import { kindOf, type Task, type TaskState } from "../dag/mod.ts";
import { type Beside, isObject, type Json, type JsonObject, messageOf, type ToolResult } from "../model/mod.ts";
import { log } from "../telemetry/mod.ts";

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
