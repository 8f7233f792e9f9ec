import { isPackageRunner } from "../config/mod.ts";
import { type ServerProcess, spawnServer } from "../mcp/mod.ts";
import { AgentCardsError, createLineSplitter, isObject, TOO_LONG, within } from "../model/mod.ts";
import type { AgentHost, AgentJob } from "./job.ts";

/** The longest line of a program, and the longest answer. */
const MAX_LINE = 16 * 1024 * 1024;
export const MAX_ANSWER = 4 * 1024 * 1024;
const GRACE_MS = 500;
/** A program keeps its session on the disk before it ends. */
const LEAVE_MS = 3_000;

/** A program that works for an agent task; its whole tree ends when the signal of its host is aborted. */
export interface AgentProcess extends AsyncDisposable {
  readonly process: ServerProcess;
  write(text: string): Promise<void>;
  /** Ends its stdin. */
  finish(): void;
  /** Ends its stdin, and gives it a moment to come to its own end. */
  leave(): Promise<void>;
  /** The error of a program that ended without an answer. */
  ended(): Promise<AgentCardsError>;
}

/** Starts the program of a job with more arguments. */
export async function startProgram(job: AgentJob, args: readonly string[], host: AgentHost): Promise<AgentProcess> {
  const { agent: { name }, program, folder } = job;
  host.signal.throwIfAborted();
  // A package runner looks for packages where it stands.
  const cwd = isPackageRunner({ command: program.command, args: program.args }) ? program.cwd : folder;
  let process: ServerProcess;
  try {
    process = await spawnServer(
      { ...program, args: [...program.args ?? [], ...args], cwd, isNeutral: true },
      { cwd: folder, env: job.env, reaper: host.reaper },
    );
  } catch (error) {
    if (!(error instanceof AgentCardsError)) throw error;
    throw new AgentCardsError(error.code, error.message.replace(`server "${program.name}"`, `agent "${name}"`), {
      hint: error.hint,
      cause: error,
    });
  }
  const stop = () => void process.stop(GRACE_MS);
  host.signal.addEventListener("abort", stop, { once: true });
  if (host.signal.aborted) stop();
  const encoder = new TextEncoder();
  return {
    process,
    // A program that has ended says so by its exit code.
    write: (text) => process.stdin.write(encoder.encode(text)).catch(() => {}),
    finish: () => void process.stdin.close().catch(() => {}),
    async leave() {
      process.stdin.close().catch(() => {});
      await within(process.exited, LEAVE_MS, "").catch(() => {});
    },
    async ended() {
      const { code, signal } = await process.exited;
      const words = await process.lastWords();
      const how = signal ? `was ended by ${signal}` : `ended with code ${code}`;
      return new AgentCardsError("TOOL_FAILED", `${name} ${how}${words === "" ? "" : `: ${words}`}`);
    },
    async [Symbol.asyncDispose]() {
      host.signal.removeEventListener("abort", stop);
      await process.stop(GRACE_MS);
    },
  };
}

/** The JSON objects that a program prints, a line each; other lines are left out. */
export async function* objectsOf({ stdout }: Pick<ServerProcess, "stdout">): AsyncGenerator<Record<string, unknown>> {
  const split = createLineSplitter(MAX_LINE);
  const decoder = new TextDecoder();
  for await (const chunk of stdout) {
    for (const line of split(chunk)) {
      if (line === TOO_LONG) {
        throw new AgentCardsError("TOOL_FAILED", `It printed a line of more than ${MAX_LINE} bytes`);
      }
      const found = parsed(decoder.decode(line));
      if (isObject(found)) yield found;
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A text out of a foreign object. */
export function textIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A count out of a foreign object. */
export function countIn(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : 0;
}
