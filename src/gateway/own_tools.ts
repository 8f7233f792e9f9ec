import { z } from "../../deps.ts";
import { AgentCardsError } from "../model/errors.ts";
import { textResult, type ToolResult } from "./answer.ts";
import { parseInput } from "./input.ts";
import type { Session } from "./session.ts";

const READ_RESULT = z.strictObject({
  handle: z.string(),
  path: z.string().max(1_000).optional(),
  offset: z.number().int().min(0).optional(),
  limit: z.number().int().min(1).max(100_000).optional(),
});

/** The tools of the server name `agentcards`: called like any other, answered here. */
export const OWN_TOOLS = {
  async call(session: Session, name: string, input: Record<string, unknown>): Promise<ToolResult> {
    if (name !== "read_result") {
      throw new AgentCardsError("TOOL_UNKNOWN", `There is no tool "agentcards:${name}"`, {
        hint: "There is agentcards:read_result.",
      });
    }
    const options = parseInput(READ_RESULT, input);
    const { results, large } = session.shared;
    // Read off the main thread: the file may have tens of megabytes.
    const stored = await results.read(options.handle, (path) => large.readPart(path, options)) as string;
    // What was stored before personal data was hidden, as far as a part of it can be told for what it is.
    const text = session.privacy?.hide(stored, "agentcards") ?? stored;
    const most = session.config.limits.answer_tokens * 4;
    if (text.length <= most) return textResult(text);
    return textResult(
      `${
        text.slice(0, most)
      }\n… cut: ${text.length} characters are more than one answer holds. Use path, offset and limit.`,
    );
  },
};
