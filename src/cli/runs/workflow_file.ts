import { AgentCardsError, isObject, messageOf, nearest, oneLine } from "../../model/mod.ts";
import { fs } from "../../platform/start.ts";
import { basename } from "node:path";
import { type Document, isMap, isNode, isSeq, LineCounter, parseDocument } from "yaml";

/** A workflow as a person wrote it down. What is in its tasks and options, the engine checks. */
export interface WorkflowFile {
  readonly name: string;
  readonly tasks: readonly unknown[];
  readonly options: Readonly<Record<string, unknown>>;
}

/** The engine takes no longer message. */
const MAX_BYTES = 15_000_000;
const KEYS = ["name", "tasks", "options"];
const SHOWN_PROBLEMS = 10;

/** Reads a file of YAML or JSON: a list of tasks, or `{name, tasks, options}`. */
export async function readWorkflowFile(path: string): Promise<WorkflowFile> {
  let text: string;
  try {
    if ((await fs.stat(path)).size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES / 1_000_000} MB`);
    text = await fs.readTextFile(path);
  } catch (cause) {
    const why = fs.isNotFound(cause) ? "there is no such file" : messageOf(cause);
    throw new AgentCardsError("USAGE", `Cannot read ${path}: ${why}`, { cause });
  }
  return parseWorkflow(text, path);
}

export function parseWorkflow(text: string, path: string): WorkflowFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error) {
    const { line } = lines.linePos(error.pos[0]);
    // A reference holds brackets, which mean something else within the braces of YAML.
    const isReference = text.split("\n")[line - 1]?.includes("$OUTPUT[");
    const hint = isReference ? 'Put references in quotes: "$OUTPUT[task].path".' : undefined;
    throw unusable(path, [`line ${line}: ${oneLine(error.message, 200)}`], hint);
  }
  const given = valueOf(document, path);
  const file = Array.isArray(given) ? { tasks: given } : given;
  const lineOf = (...at: (string | number)[]) => lineAt(document, lines, Array.isArray(given) ? at.slice(1) : at);
  const problems = problemsOf(file, lineOf);
  if (problems.length > 0) throw unusable(path, problems, FORM);
  const { name, tasks, options } = file as { name?: string; tasks: unknown[]; options?: Record<string, unknown> };
  return { name: name ?? basename(path), tasks, options: options ?? {} };
}

function valueOf(document: Document.Parsed, path: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw unusable(path, [messageOf(error)]);
  }
}

type LineOf = (...at: (string | number)[]) => string;

function problemsOf(file: unknown, lineOf: LineOf): string[] {
  if (file === null || file === undefined) return ["it is empty"];
  if (!isObject(file)) return [`${lineOf()}it must be a list of tasks, or a mapping with tasks`];
  const unknown = Object.keys(file).filter((key) => !KEYS.includes(key)).map((key) => {
    const near = nearest(key, KEYS, 1)[0];
    const advice = near ? `did you mean "${near}"?` : `known here: ${KEYS.join(", ")}`;
    return `${lineOf(key)}"${oneLine(key, 60)}" is not a known key; ${advice}`;
  });
  const { name, tasks, options } = file;
  return [
    ...unknown,
    ...name === undefined || typeof name === "string" ? [] : [`${lineOf("name")}name must be a text`],
    ...options === undefined || isObject(options) ? [] : [`${lineOf("options")}options must be a mapping`],
    ...taskProblems(tasks, lineOf),
  ];
}

function taskProblems(tasks: unknown, lineOf: LineOf): string[] {
  if (tasks === undefined) return ["it has no tasks"];
  if (!Array.isArray(tasks)) return [`${lineOf("tasks")}tasks must be a list`];
  if (tasks.length === 0) return [`${lineOf("tasks")}tasks is empty`];
  return tasks.flatMap((task, i) =>
    isObject(task) ? [] : [`${lineOf("tasks", i)}task number ${i + 1} must be a mapping with id and tool`]
  );
}

/** Where something stands, as the beginning of a sentence about it. */
function lineAt(document: Document.Parsed, lines: LineCounter, at: readonly (string | number)[]): string {
  const parent = at.length > 0 ? document.getIn(at.slice(0, -1), true) : undefined;
  const last = at.at(-1);
  const node = at.length === 0
    ? document.contents
    : isMap(parent)
    ? parent.items.find(({ key }) => isNode(key) && "value" in key && key.value === last)?.key
    : isSeq(parent)
    ? parent.items[Number(last)]
    : undefined;
  return isNode(node) && node.range ? `line ${lines.linePos(node.range[0]).line}: ` : "";
}

const FORM = "A workflow looks like this: { tasks: [{ id: a, tool: server:tool, arguments: {} }], options: {} }";

function unusable(path: string, problems: readonly string[], hint?: string): AgentCardsError {
  const more = problems.length > SHOWN_PROBLEMS ? `; and ${problems.length - SHOWN_PROBLEMS} more` : "";
  const shown = problems.slice(0, SHOWN_PROBLEMS).join("; ");
  return new AgentCardsError("USAGE", `Cannot run ${path}: ${shown}${more}`, hint ? { hint } : {});
}
