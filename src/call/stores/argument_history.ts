import { appendFile, mkdir, readdir, rm } from "node:fs/promises";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { isObject, messageOf, type Origin } from "../../model/mod.ts";
import { log } from "../../telemetry/mod.ts";

/** A call with its arguments, as it is kept for `policy replay`. */
export interface RecordedCall {
  readonly at: number;
  readonly tool: string;
  /** Without secrets, and as the caller built them: personal data as tokens. Absent where they were too long. */
  readonly args?: Readonly<Record<string, unknown>>;
  readonly effect: "read" | "idempotent" | "effectful";
  readonly by: Origin["by"];
  readonly client: string | null;
  readonly folder: string;
  readonly run: string | null;
  readonly ok: boolean;
}

/** The arguments of calls of the last days: a file for each day, in the home. */
export interface ArgumentHistory {
  /** Keeps a call; `text` is its arguments as JSON without secrets. */
  note(call: Omit<RecordedCall, "args">, text: string): void;
  /** The calls since a time, oldest first. */
  read(since: number): AsyncGenerator<RecordedCall>;
  flush(): Promise<void>;
}

/** Longer arguments are not kept. */
const LONGEST_ARGUMENTS = 8_192;
const DAY_MS = 86_400_000;
const NAME = /^(\d{4}-\d{2}-\d{2})\.jsonl$/;

export function createArgumentHistory(folder: string, days: number, now: () => number = Date.now): ArgumentHistory {
  let waiting: string[] = [];
  let writing: Promise<void> = Promise.resolve();
  let pruned = "";

  async function write(): Promise<void> {
    const lines = waiting;
    waiting = [];
    if (lines.length === 0) return;
    const day = dayOf(now());
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await appendFile(join(folder, `${day}.jsonl`), lines.join(""), { mode: 0o600 });
      if (pruned !== day) await prune(folder, now() - days * DAY_MS);
      pruned = day;
    } catch (error) {
      log("warning", "arguments_not_kept", { reason: messageOf(error) });
    }
  }

  return {
    note(call, text) {
      if (days === 0) return;
      const args = text.length <= LONGEST_ARGUMENTS ? `,"args":${text}` : "";
      waiting.push(`${JSON.stringify(call).slice(0, -1)}${args}}\n`);
      if (waiting.length === 1) writing = writing.then(write);
    },
    async *read(since) {
      await writing;
      const names = (await readdir(folder).catch(() => [])).sort();
      for (const name of names) {
        const [, day] = NAME.exec(name) ?? [];
        if (day === undefined || Date.parse(day) + DAY_MS <= since) continue;
        for await (const line of createInterface({ input: createReadStream(join(folder, name)) })) {
          const call = parsed(line);
          if (call && call.at >= since) yield call;
        }
      }
    },
    flush: () => writing,
  };
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

async function prune(folder: string, before: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, day] = NAME.exec(name) ?? [];
    if (day !== undefined && Date.parse(day) + DAY_MS <= before) await rm(join(folder, name));
  }
}

function parsed(line: string): RecordedCall | undefined {
  try {
    const call: unknown = JSON.parse(line);
    return isObject(call) && typeof call.tool === "string" && typeof call.at === "number"
      ? call as unknown as RecordedCall
      : undefined;
  } catch {
    return undefined;
  }
}
