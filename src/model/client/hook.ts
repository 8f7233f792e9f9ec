/** The tool that hooks of clients call. No list shows it. */
export const HOOK_TOOL = "agentcards_hook_event";

/** The mark of an answer that no rule about the client's own tools stands behind: the next verdict need not be awaited. */
export const UNJUDGED = "agentcards/unjudged";

/** The longest text of one field of an event; the rest is cut off. */
export const LONGEST_HOOK_TEXT = 16_000;

/** The events that a client waits for: a prompt may get a line of context, a tool of the client a verdict. */
export const PROMPT_EVENT = "UserPromptSubmit";
export const TOOL_EVENT = "PreToolUse";

/** The client has come to the end of its turn. */
export const END_EVENT = "Stop";

/** An event of a client: a prompt, a use of one of its own tools, the end of a turn. */
export interface HookEvent {
  /** The same for an event that arrives twice. */
  readonly id: string;
  readonly at: number;
  readonly client: string;
  readonly event: string;
  /** The conversation, the subagent in it, the use of a tool, as the client numbers them. */
  readonly session: string | null;
  readonly agent: string | null;
  readonly task: string | null;
  /** The client's own tool. */
  readonly tool: string | null;
  readonly folder: string | null;
  /** True if the event came over the client's own connection with the key of this home. */
  readonly isDirect: boolean;
  readonly content: Readonly<Record<string, string>>;
}
