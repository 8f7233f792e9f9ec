import { CLIENT_NAME, type HookEvent, isObject, LONGEST_HOOK_TEXT, withoutInvisible } from "../../model/mod.ts";

export interface Arrival {
  readonly id: string;
  readonly at: number;
  readonly client: string;
  readonly isDirect: boolean;
  /** Takes secrets and personal data out of a text. */
  clean(text: string): string;
}

/** The fields of an event that have a column, by the names that clients give them. */
const COLUMNS = {
  event: ["event", "hook_event_name"],
  session: ["session", "session_id", "conversation_id"],
  agent: ["agent", "agent_id"],
  task: ["task", "tool_use_id", "generation_id"],
  tool: ["tool", "tool_name"],
  folder: ["folder", "cwd"],
} as const;
/** The fields that are kept as content. */
const CONTENT = {
  prompt: ["prompt"],
  input: ["input", "tool_input"],
  output: ["output", "tool_response", "tool_output"],
  error: ["error"],
  reason: ["reason"],
  source: ["source"],
  status: ["status"],
} as const;
/** An event keeps so many characters of each field. */
const LONGEST_KEPT = 8_000;
const LONGEST_NAME = 200;
const EVENT = /^[A-Za-z][\w.-]{0,63}$/;

/** An event as a client sent it, checked and bounded; undefined where it names no event. */
export function readHookEvent(given: unknown, { id, at, client, isDirect, clean }: Arrival): HookEvent | undefined {
  if (!isObject(given)) return undefined;
  const column = (names: readonly string[]) => {
    const text = firstText(given, names);
    return text === undefined ? null : storable(clean(withoutInvisible(text.slice(0, LONGEST_NAME))));
  };
  const event = column(COLUMNS.event);
  if (event === null || !EVENT.test(event)) return undefined;
  const content = Object.entries(CONTENT).flatMap(([key, names]) => {
    const text = firstText(given, names);
    // Cleaned before it is cut: half of a secret would not be known as one.
    return text === undefined ? [] : [[key, storable(clean(text.slice(0, LONGEST_HOOK_TEXT)).slice(0, LONGEST_KEPT))]];
  });
  return {
    id,
    at,
    client: CLIENT_NAME.test(client) ? client : "unknown",
    event,
    session: column(COLUMNS.session),
    agent: column(COLUMNS.agent),
    task: column(COLUMNS.task),
    tool: column(COLUMNS.tool),
    folder: column(COLUMNS.folder),
    isDirect,
    content: Object.fromEntries(content),
  };
}

/** The first of some fields that is there, as text; a template that a client could not fill in is empty. */
function firstText(given: Record<string, unknown>, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = given[name];
    const text = typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);
    if (text !== "" && text !== "null") return text;
  }
  return undefined;
}

/** A text as a database takes it. */
function storable(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}
