import { AgentCardsError, messageOf } from "../../model/mod.ts";
import { fs } from "../../platform/start.ts";

/** The engine takes no longer message. */
const MAX_BYTES = 15_000_000;

/** The text of a workflow file; what is in it, the engine checks. */
export async function readWorkflowFile(path: string): Promise<string> {
  try {
    if ((await fs.stat(path)).size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES / 1_000_000} MB`);
    return await fs.readTextFile(path);
  } catch (cause) {
    const why = fs.isNotFound(cause) ? "there is no such file" : messageOf(cause);
    throw new AgentCardsError("USAGE", `Cannot read ${path}: ${why}`, { cause });
  }
}

/** The input of a workflow as a person types it: one JSON object, or `name=value` words whose values may be JSON. */
export function inputFrom(words: readonly string[]): Record<string, unknown> {
  const [first] = words;
  if (words.length === 1 && first!.trimStart().startsWith("{")) return parsed(first!) as Record<string, unknown>;
  return Object.fromEntries(words.map((word) => {
    const at = word.indexOf("=");
    if (at < 1) throw new AgentCardsError("USAGE", `"${word}" is no input: say name=value, or one JSON object`);
    const text = word.slice(at + 1);
    return [word.slice(0, at), /^(?:[[{"]|-?\d|true$|false$|null$)/.test(text) ? parsedOrText(text) : text];
  }));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new AgentCardsError("USAGE", `The input is not JSON: ${messageOf(cause)}`);
  }
}

function parsedOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
