import { INPUT_KEYS, inputNamesIn, loadConditions, plan, type RunOptions } from "../../dag/mod.ts";
import {
  AgentCardsError,
  deepFreeze,
  isObject,
  type JsonObject,
  messageOf,
  nearest,
  oneLine,
} from "../../model/mod.ts";
import { type Document, isMap, isNode, isSeq, LineCounter, parseDocument } from "yaml";
import { parseRun } from "../input.ts";
import { readTriggers, type Trigger } from "../triggers/form.ts";

/** A workflow as its file says it. */
export interface WorkflowFile {
  readonly name?: string;
  readonly description?: string;
  readonly version?: string;
  /** The JSON Schema of its input. */
  readonly parameters?: JsonObject;
  readonly tasks: readonly unknown[];
  readonly options: RunOptions;
  /** The triggers that start it, once a person has switched it on. */
  readonly on?: readonly Trigger[];
}

const KEYS = ["name", "description", "version", "parameters", "on", "tasks", "options"];
const SHOWN_PROBLEMS = 10;
const FORM = "A workflow looks like this: { tasks: [{ id: a, tool: server:tool, arguments: {} }], options: {} }";

/** Reads the text of a workflow, YAML or JSON; an error names every problem with its line and column. */
export async function parseWorkflowFile(text: string, path: string): Promise<WorkflowFile> {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error) {
    const { line, col } = lines.linePos(error.pos[0]);
    // A reference holds brackets, which mean something else within the braces of YAML.
    const isReference = /\$(?:OUTPUT|INPUT)\[/.test(text.split("\n")[line - 1] ?? "");
    const hint = isReference ? 'Put references in quotes: "$OUTPUT[task].path".' : undefined;
    throw unusable(path, [`line ${line}, column ${col}: ${oneLine(error.message, 200)}`], hint);
  }
  const given = valueOf(document, path);
  const isList = Array.isArray(given);
  const file = isList ? { tasks: given } : given;
  const placeOf: PlaceOf = (...at) => placeIn(document, lines, isList ? at.slice(1) : at);
  const problems = problemsOf(file, placeOf);
  if (problems.length > 0) throw unusable(path, problems, FORM);
  const { name, description, version, parameters, tasks, on, options = {} } = file as Given;
  const { triggers, problems: unfit } = on === undefined ? NO_TRIGGERS : await readTriggers(on);
  const wrong = [
    ...unfit.map(({ entry, text }) => `${entry === undefined ? placeOf("on") : placeOf("on", entry)}${text}`),
    ...await taskProblems(tasks, placeOf),
    ...inputProblems({ tasks, parameters }, placeOf),
  ];
  if (wrong.length > 0) throw unusable(path, wrong);
  return deepFreeze({
    ...name !== undefined && { name },
    ...description !== undefined && { description },
    ...version !== undefined && { version: String(version) },
    ...parameters !== undefined && { parameters: schemaOf(parameters) },
    tasks,
    ...triggers.length > 0 && { on: triggers },
    options: checkedOptions(options, path, placeOf),
  });
}

interface Given {
  readonly name?: string;
  readonly description?: string;
  readonly version?: string | number;
  readonly parameters?: JsonObject;
  readonly tasks: unknown[];
  readonly on?: unknown;
  readonly options?: Record<string, unknown>;
}

const NO_TRIGGERS = { triggers: [], problems: [] };

/** The place of a value in the file, as the beginning of a sentence. */
type PlaceOf = (...at: (string | number)[]) => string;

/** Parameters as a whole schema; a mapping of names to schemas means its properties, all of which must be given. */
function schemaOf(parameters: JsonObject): JsonObject {
  const isWhole = parameters.type === "object" || isObject(parameters.properties);
  const properties = (isWhole ? parameters.properties ?? {} : parameters) as JsonObject;
  const required = Object.entries(properties)
    .filter(([, one]) => isObject(one) && !("default" in one)).map(([name]) => name);
  return isWhole
    ? { type: "object", additionalProperties: false, ...parameters }
    : { type: "object", properties, required, additionalProperties: false };
}

function valueOf(document: Document.Parsed, path: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw unusable(path, [messageOf(error)]);
  }
}

function problemsOf(file: unknown, placeOf: PlaceOf): string[] {
  if (file === null || file === undefined) return ["it is empty"];
  if (!isObject(file)) return [`${placeOf()}it must be a list of tasks, or a mapping with tasks`];
  const unknown = Object.keys(file).filter((key) => !KEYS.includes(key)).map((key) => {
    const near = nearest(key, KEYS, 1)[0];
    const advice = near ? `did you mean "${near}"?` : `known here: ${KEYS.join(", ")}`;
    return `${placeOf(key)}"${oneLine(key, 60)}" is not a known key; ${advice}`;
  });
  const { name, description, version, parameters, options, tasks } = file;
  const isText = (value: unknown) => value === undefined || typeof value === "string";
  const wrong = (key: string, what: string) => [`${placeOf(key)}${key} must be ${what}`];
  return [
    ...unknown,
    ...isText(name) ? [] : wrong("name", "a text"),
    ...isText(description) ? [] : wrong("description", "a text"),
    ...isText(version) || typeof version === "number" ? [] : wrong("version", "a text or a number"),
    ...parameters === undefined || isSchema(parameters)
      ? []
      : wrong("parameters", "a JSON Schema, such as { city: { type: string } }"),
    ...options === undefined || isObject(options) ? [] : wrong("options", "a mapping"),
    ...listProblems(tasks, placeOf),
  ];
}

function isSchema(value: unknown): boolean {
  if (!isObject(value)) return false;
  const properties = value.type === "object" || isObject(value.properties) ? value.properties ?? {} : value;
  return isObject(properties) && Object.values(properties).every((one) => isObject(one));
}

function listProblems(tasks: unknown, placeOf: PlaceOf): string[] {
  if (tasks === undefined) return ["it has no tasks"];
  if (!Array.isArray(tasks)) return [`${placeOf("tasks")}tasks must be a list`];
  if (tasks.length === 0) return [`${placeOf("tasks")}tasks is empty`];
  return tasks.flatMap((task, i) =>
    isObject(task) ? [] : [`${placeOf("tasks", i)}task number ${i + 1} must be a mapping with id and tool`]
  );
}

/** A task whose arguments are one parameter as a whole: any will do until it is run. */
function withAnyArguments(task: unknown): unknown {
  const isParameter = isObject(task) && typeof task.arguments === "string" &&
    /^\$INPUT\.[A-Za-z_][\w-]*$/.test(task.arguments);
  return isParameter ? { ...task, arguments: {} } : task;
}

/** The problems of the tasks by themselves: their forms, references, conditions, circles. Tools are not looked up. */
async function taskProblems(tasks: readonly unknown[], placeOf: PlaceOf): Promise<string[]> {
  await loadConditions(tasks);
  try {
    plan(tasks.map(withAnyArguments), { maxTasks: Infinity, check: () => [] });
    return [];
  } catch (error) {
    const problems = error instanceof AgentCardsError && Array.isArray(error.data?.problems)
      ? error.data.problems as string[]
      : [messageOf(error)];
    return problems.map((problem) => {
      const [, number, id] = /^(?:task number (\d+)|task ([\w-]+))\b/.exec(problem) ?? [];
      const at = number ? Number(number) - 1 : tasks.findIndex((task) => isObject(task) && task.id === id);
      return `${at < 0 ? "" : placeOf("tasks", at)}${problem}`;
    });
  }
}

function inputProblems({ tasks, parameters }: Pick<Given, "tasks" | "parameters">, placeOf: PlaceOf): string[] {
  const schema = parameters && schemaOf(parameters);
  const known = Object.keys(isObject(schema?.properties) ? schema.properties : {});
  const isOpen = schema !== undefined && schema.additionalProperties !== false;
  return tasks.flatMap((task, i) => {
    const names = (() => {
      try {
        return isObject(task) ? INPUT_KEYS.flatMap((key) => inputNamesIn(task[key])) : [];
      } catch (error) {
        return messageOf(error);
      }
    })();
    if (typeof names === "string") return [`${placeOf("tasks", i)}${names}`];
    const unknown = isOpen ? [] : [...new Set(names)].filter((name) => !known.includes(name));
    return unknown.map((name) => {
      const near = nearest(name, known, 1)[0];
      const advice = near ? `did you mean $INPUT.${near}?` : "add it to parameters";
      return `${placeOf("tasks", i)}$INPUT.${oneLine(name, 60)} is no parameter; ${advice}`;
    });
  });
}

function checkedOptions(options: Record<string, unknown>, path: string, placeOf: PlaceOf): RunOptions {
  try {
    return parseRun({ tasks: [], options }).options;
  } catch (error) {
    throw unusable(path, [`${placeOf("options")}${messageOf(error)}`]);
  }
}

function placeIn(document: Document, lines: LineCounter, at: readonly (string | number)[]): string {
  const parent = at.length > 0 ? document.getIn(at.slice(0, -1), true) : undefined;
  const last = at.at(-1);
  const node = at.length === 0
    ? document.contents
    : isMap(parent)
    ? parent.items.find(({ key }) => isNode(key) && "value" in key && key.value === last)?.key
    : isSeq(parent)
    ? parent.items[Number(last)]
    : undefined;
  if (!isNode(node) || !node.range) return "";
  const { line, col } = lines.linePos(node.range[0]);
  return `line ${line}, column ${col}: `;
}

function unusable(path: string, problems: readonly string[], hint?: string): AgentCardsError {
  const more = problems.length > SHOWN_PROBLEMS ? `; and ${problems.length - SHOWN_PROBLEMS} more` : "";
  const shown = problems.slice(0, SHOWN_PROBLEMS).join("; ");
  return new AgentCardsError("USAGE", `Cannot use ${path}: ${shown}${more}`, hint ? { hint } : {});
}
