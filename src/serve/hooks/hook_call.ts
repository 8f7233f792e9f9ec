import { readHookEvent, type Session } from "../../call/mod.ts";
import {
  AgentCardsError,
  type CallResult,
  type HookEvent,
  messageOf,
  PROMPT_EVENT,
  TOOL_EVENT,
  UNJUDGED,
} from "../../model/mod.ts";
import { log } from "../../telemetry/mod.ts";
import type { WorkSession } from "../../workflow/mod.ts";
import { judgeClientTool, judgesClient } from "./client_rules.ts";

type Message = Record<string, unknown>;

const EMPTY: CallResult = Object.freeze({ kind: "result", result: Object.freeze({ content: Object.freeze([]) }) });

const NOT_JUDGED: CallResult = { kind: "result", result: { content: [], _meta: { [UNJUDGED]: true } } };

/**
 * Takes an event of the client in front of a connection. `mode` is said by our own pipe, which asks and tells in two
 * calls: `tell` is answered once the row is written, `ask` is not recorded. A client without that pipe sends no mode: its
 * event is recorded and answered at once.
 */
export async function takeHook(session: WorkSession, input: Message): Promise<CallResult> {
  if (session.client.isMultiplexed || !await session.shared.hooks.isKey(input.key)) throw unknown();
  const { mode } = input;
  const event = readHookEvent(input, {
    id: mode === "tell" && typeof input.id === "string" ? input.id : crypto.randomUUID(),
    at: mode === "tell" && typeof input.at === "number" ? input.at : Date.now(),
    client: typeof input.client === "string" ? input.client : "",
    isDirect: true,
    clean: (text) => cleaned(session, text),
  });
  if (!event) return EMPTY;
  const isKept = event.event !== TOOL_EVENT && mode !== "ask";
  const written = isKept ? session.shared.hooks.log.record(event, session) : undefined;
  if (mode === "tell") {
    await written;
    return EMPTY;
  }
  return await answerTo(session, event, input);
}

/** The answer of an event that may have one; nothing where something fails, since a client waits. */
async function answerTo(session: WorkSession, event: HookEvent, input: Message): Promise<CallResult> {
  try {
    if (event.event === TOOL_EVENT && !judgesClient(session.config.policy)) return NOT_JUDGED;
    if (event.event === TOOL_EVENT) return outputOf(TOOL_EVENT, judgeClientTool(session.config.policy, event.tool));
    if (event.event !== PROMPT_EVENT || typeof input.prompt !== "string") return EMPTY;
    const line = await session.promptHints.hint(session, input.prompt);
    return outputOf(PROMPT_EVENT, line === undefined ? undefined : { additionalContext: line });
  } catch (error) {
    log("warning", "hook_not_answered", { event: event.event, reason: messageOf(error) });
    return EMPTY;
  }
}

function outputOf(hookEventName: string, output: Message | undefined): CallResult {
  if (!output) return EMPTY;
  const text = JSON.stringify({ hookSpecificOutput: { hookEventName, ...output } });
  return { kind: "result", result: { content: [{ type: "text", text }] } };
}

function cleaned(session: Session, text: string): string {
  const redacted = session.shared.redactor.redact(text);
  return session.privacy?.hide(redacted, "agentcards") ?? redacted;
}

/** The same words as for a tool that is not there: an agent that guesses the name learns nothing. */
function unknown(): AgentCardsError {
  return new AgentCardsError("TOOL_UNKNOWN", "There is no such tool here");
}
