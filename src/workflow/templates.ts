import { escapeReferences, kindOf, referencesIn, type RunOptions, type Task } from "../dag/mod.ts";
import type { Database } from "../db/mod.ts";
import {
  AgentCardsError,
  canonicalJson,
  type Json,
  type JsonObject,
  nearest,
  oneLine,
  sha256,
  type Tool,
  toolId,
  within,
  WORKFLOW_SERVER,
} from "../model/mod.ts";

/** What may differ from one run of a saved workflow to the next: an argument of one of its tasks. */
export interface TemplateParameter {
  readonly name: string;
  readonly task: string;
  readonly argument: string;
  readonly type: "string" | "number" | "boolean";
  /** What it was when the workflow was saved; without one it has to be said. */
  readonly usual?: Json;
}

/** A workflow that was saved under a name. */
export interface Template {
  readonly name: string;
  readonly description: string;
  readonly parameters: readonly TemplateParameter[];
  readonly tasks: readonly Task[];
  /** Where its runs stop and wait, as the one it was saved from did. */
  readonly pause?: RunOptions["pause"];
}

/** Saved workflows: found by search like a tool, called as `workflow:NAME`. */
export interface Templates {
  save(template: Template): Promise<void>;
  remove(name: string): Promise<boolean>;
  all(): Promise<readonly Template[]>;
  find(name: string): Promise<Template>;
  /** As tools; none where they cannot be read. */
  tools(): Promise<readonly Tool[]>;
}

/** A search waits so long for what is saved. */
const PATIENCE_MS = 1_000;
const NAME = /^[A-Za-z0-9][\w-]{0,63}$/;

export function createTemplates(
  database: Promise<Database | undefined>,
  onChange: (tools: readonly Tool[]) => void,
): Templates {
  let known: Map<string, Template> | undefined;
  let tools: readonly Tool[] = [];
  let reading: Promise<Map<string, Template>> | undefined;

  async function opened(): Promise<Database> {
    const db = await database;
    if (db) return db;
    throw new AgentCardsError("DB_UNUSABLE", "Saved workflows are in the database, and it cannot be used", {
      hint: "`agentcards status` says what is wrong with it.",
    });
  }

  async function read(): Promise<Map<string, Template>> {
    if (known) return known;
    reading ??= (async () => {
      const db = await opened();
      const rows = await db.query<Omit<Template, "tasks"> & { tasks: string }>(
        "select name, description, parameters, tasks from workflow_template order by name",
      );
      known = new Map(
        rows.map((row) => [row.name, { ...row, ...JSON.parse(row.tasks) as Pick<Template, "tasks" | "pause"> }]),
      );
      tools = await Promise.all([...known.values()].map(toolOf));
      if (tools.length > 0) onChange(tools);
      return known;
    })();
    // Whoever asks next tries again.
    return await reading.finally(() => reading = undefined);
  }

  async function changed(map: Map<string, Template>): Promise<void> {
    tools = await Promise.all([...map.values()].map(toolOf));
    onChange(tools);
  }

  return {
    async save(template) {
      if (!NAME.test(template.name)) {
        throw new AgentCardsError("INPUT_INVALID", `"${oneLine(template.name, 80)}" is no name for a workflow`, {
          hint: "Letters, digits, _ and -, at most 64.",
        });
      }
      const map = await read();
      const db = await opened();
      const { name, description, parameters, tasks, pause } = template;
      await db.query(
        `insert into workflow_template (name, description, parameters, tasks) values ($1, $2, $3::jsonb, $4)
         on conflict (name) do update set description = excluded.description, parameters = excluded.parameters,
           tasks = excluded.tasks, created_at = now()`,
        [name, description, parameters, JSON.stringify({ tasks, pause })],
      );
      map.set(name, template);
      await changed(map);
    },
    async remove(name) {
      const map = await read();
      const db = await opened();
      await db.query("delete from workflow_template where name = $1", [name]);
      const wasThere = map.delete(name);
      await changed(map);
      return wasThere;
    },
    all: async () => [...(await read()).values()],
    async find(name) {
      const map = await read();
      const found = map.get(name);
      if (found) return found;
      const near = nearest(name, map.keys());
      throw new AgentCardsError("TOOL_UNKNOWN", `There is no saved workflow "${oneLine(name, 80)}"`, {
        hint: near.length ? `Nearest: ${near.join(", ")}.` : "`agentcards workflow list` tells which there are.",
      });
    },
    tools: () => within(read(), PATIENCE_MS, "the database is still being opened").then(() => tools, () => []),
  };
}

/** A run's tasks as a template: what stood in their arguments as it is may be said anew. */
export function templateOf(
  name: string,
  { description, tasks, pause, chosen }: {
    readonly description: string;
    readonly tasks: readonly Task[];
    readonly pause?: RunOptions["pause"];
    /** `name=task.argument`: what has to be said each time; all else stays as it was. */
    readonly chosen: readonly string[];
  },
): Template {
  const literals = tasks.flatMap((task) =>
    task.type === "tool"
      ? Object.entries(task.arguments).flatMap(([argument, value]) => {
        const type = typeof value;
        if (type !== "string" && type !== "number" && type !== "boolean") return [];
        return referencesIn(value).length > 0 ? [] : [{ task: task.id, argument, type, usual: value }];
      })
      : []
  ) as Omit<TemplateParameter, "name">[];
  if (chosen.length === 0) {
    const count = (argument: string) => literals.filter((one) => one.argument === argument).length;
    const parameters = literals.map((one) => ({
      ...one,
      name: count(one.argument) > 1 ? `${one.task}_${one.argument}` : one.argument,
    }));
    return { name, description, tasks, parameters, ...pause && { pause } };
  }
  const parameters = chosen.map((text): TemplateParameter => {
    const [, given, task, argument] = /^(?:([A-Za-z]\w{0,63})=)?([\w-]+)\.(.+)$/.exec(text) ?? [];
    const found = literals.find((one) => one.task === task && one.argument === argument);
    if (!found) {
      const there = literals.map((one) => `${one.task}.${one.argument}`).join(", ");
      throw new AgentCardsError("USAGE", `"${oneLine(text, 80)}" is no argument of a task that could be said anew`, {
        hint: there ? `There are ${there}.` : "This workflow has none.",
      });
    }
    const { usual: _usual, ...rest } = found;
    return { ...rest, name: given ?? argument! };
  });
  return { name, description, tasks, parameters, ...pause && { pause } };
}

/** The tasks of a template with what was said this time. */
export function filledIn({ name, tasks, parameters }: Template, given: Record<string, unknown>): JsonObject[] {
  const unknown = Object.keys(given).filter((key) => !parameters.some((one) => one.name === key));
  if (unknown.length > 0) {
    throw new AgentCardsError("INPUT_INVALID", `workflow:${name} takes no ${oneLine(unknown.join(", "), 100)}`, {
      hint: `It takes ${parameters.map((one) => one.name).join(", ") || "nothing"}.`,
    });
  }
  const values = new Map(parameters.map((parameter) => [parameter, valueFor(name, parameter, given)]));
  return tasks.map((task) => {
    const own = parameters.filter((parameter) => parameter.task === task.id);
    if (task.type !== "tool" || own.length === 0) return { ...task } as unknown as JsonObject;
    const said = own.map((parameter): [string, Json] => [parameter.argument, values.get(parameter)!]);
    const args = Object.fromEntries([...Object.entries(task.arguments), ...said]);
    return { ...task, arguments: args } as unknown as JsonObject;
  });
}

function valueFor(workflow: string, { name, type, usual }: TemplateParameter, given: Record<string, unknown>): Json {
  const value = Object.hasOwn(given, name) ? given[name] : usual;
  if (value === undefined) {
    throw new AgentCardsError("INPUT_INVALID", `${name} is missing: workflow:${workflow} needs it`);
  }
  const kind: string = typeof value;
  if (kind !== type) throw new AgentCardsError("INPUT_INVALID", `${name} must be a ${type}`);
  // What is said is meant to the letter: it refers to nothing.
  return escapeReferences(value as Json);
}

async function toolOf({ name, description, parameters, tasks }: Template): Promise<Tool> {
  const steps = tasks.map((task) => kindOf(task).describe(task)).join(" → ");
  const inputSchema = {
    type: "object",
    properties: Object.fromEntries(
      parameters.map((one) => [
        one.name,
        {
          type: one.type,
          description: `${one.task}.${one.argument}`,
          ...one.usual !== undefined && { default: one.usual },
        },
      ]),
    ),
    required: parameters.filter(({ usual }) => usual === undefined).map((one) => one.name),
    additionalProperties: false,
  } as JsonObject;
  const text = `${description} (saved workflow: ${steps})`;
  return {
    id: toolId(WORKFLOW_SERVER, name),
    server: WORKFLOW_SERVER,
    name,
    description: text,
    inputSchema,
    hash: await sha256(canonicalJson([name, text, inputSchema])),
  };
}
