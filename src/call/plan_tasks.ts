import type { RunOptions } from "../dag/event.ts";
import { kindOf } from "../dag/kinds/all.ts";
import { plan } from "../dag/plan.ts";
import type { Plan, Task } from "../dag/task.ts";
import { AgentCardsError, inOneLine } from "../model/errors.ts";
import { meant } from "../model/coerce.ts";
import { readBySchema } from "../model/meaning.ts";
import { isObject } from "../model/json.ts";
import { nearest, oneLine } from "../model/text.ts";
import { type Effect, OWN_SERVER, splitToolId, type Tool, toolId, WORKFLOW_SERVER } from "../model/tool.ts";
import { effectOf } from "../policy/effects.ts";
import { forbiddenOwnTool, judge } from "../policy/rules.ts";
import { argumentCheck, misspelt, signatureNote } from "./arguments.ts";
import { denied } from "../policy/denied.ts";
import { resolveTool } from "./resolve.ts";
import type { Session } from "./session.ts";

type Found = { readonly id: string; readonly tool?: Tool } | { readonly problem: string };

/** The tools that the tasks of a run name. */
export interface ToolBook {
  /** Looks tools up; a server that nobody has read yet is started to read them. */
  learn(names: Iterable<string>): Promise<void>;
  /** The tool behind a name, or why there is none. */
  find(name: string): Found;
  effectOf(task: Task): Effect;
}

export function createToolBook(session: Session): ToolBook {
  const book = new Map<string, Found>();
  const indexes = new Map<string, Map<string, Tool>>();

  async function definition(server: string, name: string): Promise<Tool | undefined> {
    if (server === "agentcards") return undefined;
    const index = indexes.get(server) ??
      new Map((await session.known(server))?.tools.map((tool) => [tool.name, tool]));
    indexes.set(server, index);
    return index.get(name);
  }

  const effectOfTool = (id: string): Effect => {
    const found = find(id);
    if ("tool" in found) return effectOf(session.config.policy, found.tool!);
    return splitToolId(id).server === OWN_SERVER ? "read" : "effectful";
  };
  const find = (name: string): Found => book.get(name) ?? { problem: `There is no tool "${oneLine(name, 100)}"` };
  return {
    async learn(names) {
      for (const name of new Set(names)) {
        if (book.has(name)) continue;
        try {
          const address = await resolveTool(session, name);
          if (address.server === WORKFLOW_SERVER) {
            throw new Error("a saved workflow is called by itself, not as a task");
          }
          const tool = await definition(address.server, address.name);
          const found = { id: toolId(address.server, address.name), ...tool && { tool } };
          book.set(name, found);
          book.set(found.id, found);
        } catch (error) {
          book.set(name, { problem: oneLine(inOneLine(error), 300) });
        }
      }
    },
    find,
    effectOf: (task) => kindOf(task).effectOf(task, effectOfTool),
  };
}

export interface Planning {
  readonly session: Session;
  readonly book: ToolBook;
}

/** Tasks as somebody sent them become a plan, together with those that are there already. */
export async function planTasks(
  given: unknown,
  { session, book }: Planning,
  before: readonly Task[] = [],
): Promise<Plan> {
  const more = Array.isArray(given) ? given : undefined;
  await book.learn((more ?? []).flatMap((task) => isObject(task) && typeof task.tool === "string" ? [task.tool] : []));
  const check = await argumentCheck();
  const isThere = new Set(before.map(({ id }) => id));
  const full = more?.map((task) => withFullName(task, book));
  return plan(full ? [...before, ...full] : given, {
    maxTasks: session.config.limits.tasks,
    check(task) {
      if (isThere.has(task.id)) return [];
      if (task.type === "code_execution") {
        const forbidden = forbiddenOwnTool(session.config.policy, "execute_code");
        return forbidden ? [denied("agentcards:execute_code", forbidden).message] : [];
      }
      const found = book.find(task.tool);
      if ("problem" in found) return [found.problem];
      const verdict = judge(session.config.policy, found.id);
      if (verdict.kind === "deny") return [denied(found.id, verdict).message];
      const mistake = found.tool && misspelt(found.tool, task.arguments);
      const problems = found.tool ? [...check(found.tool, task.arguments), ...mistake ? [mistake] : []] : [];
      return problems.length > 0 ? [`${problems.join("; ")}. ${signatureNote(found.tool!)}`] : [];
    },
  });
}

/** A task whose tool is named in full, so that it means the same tool tomorrow, with its arguments as they are meant. */
function withFullName(task: unknown, book: ToolBook): unknown {
  if (!isObject(task) || typeof task.tool !== "string") return task;
  const found = book.find(task.tool);
  if (!("id" in found)) return task;
  const given = typeof task.arguments === "string" ? meant(task.arguments, "object")?.value : task.arguments;
  const meaning = found.tool && isObject(given) && { arguments: readBySchema(given, found.tool.inputSchema) };
  return { ...task, tool: found.id, ...meaning };
}

/** Ids in the options must be those of tasks. */
export function checkOptions({ tasks }: Plan, { pause_after = [], return: wanted = [] }: RunOptions): void {
  const ids = new Set(tasks.map(({ task }) => task.id));
  const unknown = [...pause_after, ...wanted].filter((id) => !ids.has(id));
  if (unknown.length === 0) return;
  const near = nearest(unknown[0]!, ids, 1)[0];
  throw new AgentCardsError(
    "PLAN_INVALID",
    `options name tasks that are not there: ${oneLine(unknown.join(", "), 200)}`,
    {
      hint: near ? `Did you mean ${near}?` : "Nothing was run.",
    },
  );
}
