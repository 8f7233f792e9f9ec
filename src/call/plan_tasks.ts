import {
  kindOf,
  loadConditions,
  type Plan,
  plan,
  requireFewTasks,
  type RunOptions,
  type Task,
  type ToolTask,
} from "../dag/mod.ts";
import {
  AgentCardsError,
  createBreather,
  type Effect,
  inOneLine,
  isObject,
  type JsonObject,
  meant,
  misspelt,
  nearest,
  oneLine,
  OWN_SERVER,
  readBySchema,
  splitToolId,
  type Tool,
  toolId,
  WORKFLOW_SERVER,
} from "../model/mod.ts";
import { denied, effectOf, forbiddenOwnTool, judge } from "../policy/mod.ts";
import { agentProblems } from "./agent_tasks.ts";
import { argumentCheck, signatureNote } from "./arguments.ts";
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

/** So many unknown names of a book are told the tools that come near; to look for those takes time. */
const HINTED_NAMES = 3;

export function createToolBook(session: Session): ToolBook {
  const book = new Map<string, Found>();
  let unknown = 0;
  const indexes = new Map<string, Map<string, Tool>>();

  async function definition(server: string, name: string): Promise<Tool | undefined> {
    if (server === "agentcards") return undefined;
    const index = indexes.get(server) ??
      new Map((await session.known(server))?.tools.map((tool) => [tool.name, tool]));
    indexes.set(server, index);
    return index.get(name);
  }

  async function savedTool(name: string): Promise<Tool | undefined> {
    const saved = await session.shared.saved.tools(session);
    return saved.find((tool) => tool.name === name);
  }

  const effectOfTool = (id: string): Effect => {
    // A task that calls it again is answered by the run that it had started.
    if (splitToolId(id).server === WORKFLOW_SERVER) return "idempotent";
    const found = find(id);
    if ("tool" in found) return effectOf(session.config.policy, found.tool!);
    return splitToolId(id).server === OWN_SERVER ? "read" : "effectful";
  };
  const find = (name: string): Found => book.get(name) ?? { problem: `There is no tool "${oneLine(name, 100)}"` };
  return {
    async learn(names) {
      const breathe = createBreather();
      for (const name of new Set(names)) {
        if (book.has(name)) continue;
        await breathe();
        // A server whose list has just been read for another name does not have this one either.
        const { server, name: bare } = splitToolId(name);
        const isKnown = unknown < HINTED_NAMES || server === undefined || indexes.get(server)?.has(bare) !== false;
        if (!isKnown) continue;
        try {
          const address = session.tool(name) ?? await resolveTool(session, name, { isHinted: unknown < HINTED_NAMES });
          const tool = address.server === WORKFLOW_SERVER
            ? await savedTool(address.name)
            : await definition(address.server, address.name);
          const found = { id: toolId(address.server, address.name), ...tool && { tool } };
          book.set(name, found);
          book.set(found.id, found);
        } catch (error) {
          unknown++;
          if (server !== undefined && !indexes.has(server)) await definition(server, bare).catch(() => {});
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
  // Before any name is looked up: that takes longer than to count.
  if (more) requireFewTasks(before.length + more.length, session.config.limits.tasks);
  await book.learn((more ?? []).flatMap((task) => isObject(task) && typeof task.tool === "string" ? [task.tool] : []));
  await loadConditions([...before, ...more ?? []]);
  const isThere = new Set(before.map(({ id }) => id));
  const full = more?.map((task) => withFullName(task, book));
  const wrong = await wrongArguments(full ?? [], book);
  return plan(full ? [...before, ...full] : given, {
    maxTasks: session.config.limits.tasks,
    check(task) {
      if (isThere.has(task.id)) return [];
      if (task.type === "code_execution") {
        const forbidden = forbiddenOwnTool(session.config.policy, "execute_code");
        return forbidden ? [denied("agentcards:execute_code", forbidden).message] : [];
      }
      if (task.type === "agent") return agentProblems(session, task);
      const found = book.find(task.tool);
      if ("problem" in found) return [found.problem];
      const verdict = judge(session.config.policy, found.id);
      if (verdict.kind === "deny") return [denied(found.id, verdict).message];
      const never = impossibleReason(session, task, found.tool);
      if (never !== undefined) return [never];
      if (task.until && book.effectOf(task) !== "read") {
        return [`until repeats a call, and ${found.id} may act on the world; only what reads is polled`];
      }
      const mistake = found.tool && misspelt(found.tool, task.arguments);
      const problems = [...wrong.get(task.id) ?? [], ...mistake ? [mistake] : []];
      return problems.length > 0 ? [`${problems.join("; ")}. ${signatureNote(found.tool!)}`] : [];
    },
  });
}

/** The reason why a task can never be allowed: a workflow fails before its first task, not at its tenth. */
function impossibleReason(session: Session, task: ToolTask, tool: Tool | undefined): string | undefined {
  const open = Object.keys(task.arguments).filter((name) => REFERENCE.test(JSON.stringify(task.arguments[name])));
  const effect = tool ? effectOf(session.config.policy, tool) : "effectful";
  const possible = { tool: task.tool, definition: tool, effect, args: task.arguments, open: new Set(open) };
  const why = session.rules.impossible(possible);
  return why && `${task.tool} may not be called: ${why}`;
}

const REFERENCE = /\$(?:OUTPUT|RESULT|INPUT)[[.]/;

/** All checks of one request together take no longer; what is left is for the servers to say. */
const CHECKS_MS = 5_000;

/** The problems of arguments by the schemas of their tools, by the ids of the tasks. */
async function wrongArguments(tasks: readonly unknown[], book: ToolBook): Promise<ReadonlyMap<string, string[]>> {
  const wrong = new Map<string, string[]>();
  const check = await argumentCheck();
  const until = performance.now() + CHECKS_MS;
  const breathe = createBreather();
  for (const task of tasks) {
    if (!isObject(task) || typeof task.id !== "string" || typeof task.tool !== "string") continue;
    const { id, tool, arguments: given = {} } = task;
    const found = book.find(tool);
    if (!("tool" in found) || !isObject(given) || performance.now() > until) continue;
    await breathe();
    const problems = await check(found.tool!, given as JsonObject);
    if (problems.length > 0) wrong.set(id, problems);
  }
  return wrong;
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
