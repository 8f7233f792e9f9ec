import type { RunEvent } from "../../dag/mod.ts";
import { sanitise } from "../../model/mod.ts";
import { fit } from "../screen/screen.ts";

/** Without --full, a run with more tasks shows the first ones. */
const SHOWN_TASKS = 30;

interface Values {
  given?: string;
  got?: string;
}

export interface ValuesOptions {
  readonly columns: number;
  readonly isFull: boolean;
}

/** What each task was given and what it gave, of its last attempt. */
export function valuesText(events: readonly RunEvent[], { columns, isFull }: ValuesOptions): string[] {
  const tasks = new Map<string, Values>();
  for (const event of events) {
    if (event.kind === "started") tasks.set(event.task, { given: written(event.arguments, isFull) });
    else if (event.kind === "done") {
      tasks.getOrInsertComputed(event.task, () => ({})).got = outputText(event.output, isFull);
    } else if (event.kind === "failed") {
      tasks.getOrInsertComputed(event.task, () => ({})).got = `failed: ${written(event.error, isFull)}`;
    }
  }
  const shown = isFull ? [...tasks] : [...tasks].slice(0, SHOWN_TASKS);
  const lines = shown.flatMap(([task, { given, got }]) => [
    `${task}`,
    ...given === undefined ? [] : [`  given  ${given}`],
    ...got === undefined ? [] : [`  gave   ${got}`],
  ]);
  const more = tasks.size - shown.length;
  const all = more > 0 ? [...lines, `and ${more} more tasks; --full shows all`] : lines;
  return isFull ? all : all.map((line) => fit(line, columns));
}

function outputText(output: unknown, isFull: boolean): string {
  const { kind, value } = output as { kind?: unknown; value?: unknown };
  return written(kind === "value" ? value : output, isFull);
}

function written(value: unknown, isFull: boolean): string {
  if (typeof value === "string") return sanitise(isFull ? value : value.replace(/\s+/g, " "));
  return sanitise(JSON.stringify(value, null, isFull ? 2 : undefined) ?? "");
}
