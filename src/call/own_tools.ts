import { AgentCardsError, type Call, isObject, type Json, type ToolResult } from "../model/mod.ts";
import { z } from "../../deps.ts";
import { HELP_TOPICS, helpPage } from "./help.ts";
import { parseInput } from "./input.ts";
import { runCheck } from "./run_check.ts";
import type { ReadPart } from "./results.ts";
import type { Session } from "./session.ts";
import { requireReadable } from "./stored_access.ts";

const READ_RESULT = z.strictObject({
  handle: z.string(),
  path: z.string().max(1_000).optional(),
  offset: z.number().int().min(0).optional(),
  limit: z.number().int().min(1).max(10_000_000).optional(),
});
const RUN_CHECK = z.strictObject({ name: z.string().max(64) });
const HELP = z.strictObject({ topic: z.string().max(100).optional() });

/**
 * Answers a tool of the server name `agentcards`. An agent gets as much as one answer holds, and the way to the rest;
 * code and tasks get the value itself, all of it unless a limit was given.
 */
export async function callOwnTool(
  session: Session,
  { address: { name }, params, origin, signal }: Call,
): Promise<ToolResult> {
  const input = isObject(params.arguments) ? params.arguments : {};
  const isForProgram = origin.by === "code" || origin.run !== undefined;
  if (name === "help") {
    const page = helpPage(parseInput(HELP, input).topic);
    return isForProgram ? valueResult(page) : texts(page);
  }
  if (name === "run_check") return await runCheck(session, parseInput(RUN_CHECK, input).name, signal);
  requireReadResult(name);
  const options = parseInput(READ_RESULT, input);
  if (isForProgram) return valueResult(JSON.parse(await read(session, options)) as Json);
  const room = session.config.limits.answer_tokens * 4;
  const { text, note } = JSON.parse(await read(session, { ...options, room })) as ReadPart;
  return texts(text, ...note === undefined ? [] : [note]);
}

/** A value for code and tasks, which read the structured content. */
function valueResult(value: Json): ToolResult {
  return { content: [], structuredContent: value };
}

function requireReadResult(name: string): void {
  if (name === "read_result") return;
  throw new AgentCardsError("TOOL_UNKNOWN", `There is no tool "agentcards:${name}"`, {
    hint: `There are agentcards:read_result, agentcards:run_check and agentcards:help (${HELP_TOPICS.join(", ")}).`,
  });
}

type ReadOptions = z.infer<typeof READ_RESULT> & { readonly room?: number };

/** Reads off the main thread: the file may have tens of megabytes. */
async function read(session: Session, options: ReadOptions): Promise<string> {
  const { results, large } = session.shared;
  await requireReadable(session, options.handle);
  return await results.read(options.handle, (path) => large.readPart(path, options)) as string;
}

function texts(...all: readonly string[]): ToolResult {
  return { content: all.map((text) => ({ type: "text", text })) };
}
