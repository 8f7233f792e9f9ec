import { escapeInput, referencesIn, type RunOptions, type Task } from "../../dag/mod.ts";
import { AgentCardsError, isObject, type Json, type JsonObject, oneLine } from "../../model/mod.ts";
import { stringify } from "yaml";
import type { Template } from "./template_store.ts";

/** An argument of a task that stands in it as it is, and may be said anew each time. */
interface Literal {
  readonly task: string;
  readonly argument: string;
  readonly type: "string" | "number" | "boolean";
  readonly value: Json;
}

export interface RunToSave {
  readonly description: string;
  readonly tasks: readonly Task[];
  readonly options: RunOptions;
  /** `name=task.argument`: what has to be said each time; all else stays as it was. Without any, all literals can be. */
  readonly chosen: readonly string[];
}

/** A run as the text of a workflow file, with the literals of its tasks as parameters. */
export function textOfRun({ description, tasks, options, chosen }: RunToSave): string {
  const literals = tasks.flatMap(literalsOf);
  const named = chosen.length === 0
    ? allNamed(literals)
    : chosen.map((text) => ({ ...chosenIn(text, literals), value: undefined }));
  return textOf({ description, tasks, options, named });
}

/** A workflow of the database as the text of a file. */
export function textOfTemplate({ description, tasks, parameters, pause }: Template): string {
  const named = parameters.map(({ usual, ...one }) => ({ ...one, value: usual }));
  return textOf({ description, tasks, options: pause ? { pause } : {}, named });
}

interface Parts {
  readonly description: string;
  readonly tasks: readonly Task[];
  readonly options: RunOptions;
  /** A parameter without a value has to be given each time. */
  readonly named: readonly Named[];
}

function textOf({ description, tasks, options, named }: Parts): string {
  const properties = Object.fromEntries(named.map(({ name, type, task, argument, value }) => [
    name,
    { type, description: `${task}.${argument}`, ...value !== undefined && { default: value } },
  ]));
  const { input: _input, chain: _chain, after: _after, infer: _infer, inferred: _inferred, ...kept } = options;
  const file = {
    description,
    ...named.length > 0 && { parameters: properties },
    tasks: tasks.map((task) => definitionOf(task, named)),
    ...Object.keys(kept).length > 0 && { options: kept },
  };
  return stringify(file, { lineWidth: 100, flowCollectionPadding: true });
}

type Named = Omit<Literal, "value"> & { readonly name: string; readonly value?: Json | undefined };

function literalsOf(task: Task): Literal[] {
  if (task.type !== "tool") return [];
  return Object.entries(task.arguments).flatMap(([argument, value]) => {
    const type = typeof value;
    if (type !== "string" && type !== "number" && type !== "boolean") return [];
    return referencesIn(value).length > 0 ? [] : [{ task: task.id, argument, type, value }];
  });
}

function allNamed(literals: readonly Literal[]): Named[] {
  const count = (argument: string) => literals.filter((one) => one.argument === argument).length;
  return literals.map((one) => ({
    ...one,
    name: count(one.argument) > 1 ? `${one.task}_${one.argument}` : one.argument,
  }));
}

function chosenIn(text: string, literals: readonly Literal[]): Named {
  const [, given, task, argument] = /^(?:([A-Za-z]\w{0,63})=)?([\w-]+)\.(.+)$/.exec(text) ?? [];
  const found = literals.find((one) => one.task === task && one.argument === argument);
  if (found) return { ...found, name: given ?? argument! };
  const there = literals.map((one) => `${one.task}.${one.argument}`).join(", ");
  throw new AgentCardsError("USAGE", `"${oneLine(text, 80)}" is no argument of a task that could be said anew`, {
    hint: there ? `There are ${there}.` : "This workflow has none.",
  });
}

function definitionOf(task: Task, named: readonly Named[]): JsonObject {
  const { type, depends_on, ...rest } = task;
  const own = named.filter((one) => one.task === task.id);
  const given = task.type === "tool" ? task.arguments : undefined;
  const args = given && Object.fromEntries(
    Object.entries(given).map(([argument, value]) => {
      const parameter = own.find((one) => one.argument === argument);
      return [argument, parameter ? placeOf(parameter.name) : escapeInput(value as Json)];
    }),
  );
  const context = task.type === "code_execution" && isObject(task.context)
    ? { context: escapeInput(task.context as JsonObject) }
    : {};
  return {
    ...rest,
    ...type !== "tool" && { type },
    ...depends_on.length > 0 && { depends_on: [...depends_on] },
    ...args && { arguments: args },
    ...context,
    ...task.type === "agent" && { prompt: escapeInput(task.prompt) },
  } as unknown as JsonObject;
}

function placeOf(name: string): string {
  return /^[A-Za-z_][\w-]*$/.test(name) ? `$INPUT.${name}` : `$INPUT[${JSON.stringify(name)}]`;
}
