import { z } from "../../deps.ts";
import { AgentCardsError } from "../model/errors.ts";
import type { Json } from "../model/json.ts";
import type { ToolResult } from "./answer.ts";
import { HELP_TOPICS, helpPage } from "./help.ts";
import { parseInput } from "./input.ts";
import type { ReadPart } from "./results.ts";
import type { Session } from "./session.ts";
import { requireReadable } from "./stored_access.ts";

const READ_RESULT = z.strictObject({
  handle: z.string(),
  path: z.string().max(1_000).optional(),
  offset: z.number().int().min(0).optional(),
  limit: z.number().int().min(1).max(10_000_000).optional(),
});
const HELP = z.strictObject({ topic: z.string().max(100).optional() });

/** The tools of the server name `agentcards`: called like any other, answered here. */
export const OWN_TOOLS = {
  /** For an agent: as much as one answer holds; what is left out is said, with how to read it. */
  async call(session: Session, name: string, input: Record<string, unknown>): Promise<ToolResult> {
    if (name === "help") return texts(helpPage(parseInput(HELP, input).topic));
    requireReadResult(name);
    const options = { ...parseInput(READ_RESULT, input), room: session.config.limits.answer_tokens * 4 };
    const { text, note } = JSON.parse(await read(session, options)) as ReadPart;
    // What was stored before personal data was hidden, as far as a part of it can be told for what it is.
    const clean = (part: string) => session.privacy?.hide(part, "agentcards") ?? part;
    return texts(clean(text), ...note === undefined ? [] : [clean(note)]);
  },
  /** For code and for tasks: the value itself, all of it unless a limit was given. */
  async value(session: Session, name: string, input: Record<string, unknown>): Promise<Json> {
    if (name === "help") return helpPage(parseInput(HELP, input).topic);
    requireReadResult(name);
    const value = JSON.parse(await read(session, parseInput(READ_RESULT, input))) as Json;
    return await session.privacy?.hideLong(value, "agentcards") ?? value;
  },
};

function requireReadResult(name: string): void {
  if (name === "read_result") return;
  throw new AgentCardsError("TOOL_UNKNOWN", `There is no tool "agentcards:${name}"`, {
    hint: `There are agentcards:read_result and agentcards:help (${HELP_TOPICS.join(", ")}).`,
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
