import { fitted, type Session, valueOf } from "../../call/mod.ts";
import {
  canonicalJson,
  CHARACTERS_PER_TOKEN,
  isObject,
  type Json,
  type JsonObject,
  type ToolResult,
} from "../../model/mod.ts";

/** A read that was made ahead, with its result. */
export interface ReadAhead {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly result: ToolResult;
}

/** A preview and its handle need as much. */
const LEAST_TOKENS = 400;

/** A text block for each read, within a number of tokens: what does not fit is a preview and a handle. */
export async function blocksFor(session: Session, reads: readonly ReadAhead[], tokens: number): Promise<Json[]> {
  const blocks: Json[] = [];
  let room = tokens;
  for (const { tool, arguments: args, result } of reads) {
    const head = `AgentCards read ahead: call_tool ${JSON.stringify({ tool, arguments: args })}\n` +
      "It was called just now, after the call above; do not call it again. Its result:\n";
    const own = room - Math.ceil(head.length / CHARACTERS_PER_TOKEN);
    let text = textOf(result);
    if (text.length > own * CHARACTERS_PER_TOKEN) {
      if (own < LEAST_TOKENS) continue;
      text = textOf(await fitted(session, tool, { result: withoutText(result), answerTokens: 1 }));
    }
    blocks.push({ type: "text", text: head + text });
    room = own - Math.ceil(text.length / CHARACTERS_PER_TOKEN);
  }
  return blocks;
}

/** Its value alone: a text that says the same beside it would be stored twice. */
function withoutText(result: ToolResult): ToolResult {
  return result.structuredContent === undefined ? result : { content: [], structuredContent: result.structuredContent };
}

function textOf({ structuredContent, content }: ToolResult): string {
  const texts = (Array.isArray(content) ? content : []).flatMap((block) =>
    isObject(block) && block.type === "text" && typeof block.text === "string" ? [block.text] : []
  );
  if (texts.length > 0) return texts.join("\n");
  return structuredContent === undefined ? "" : JSON.stringify(structuredContent);
}

/** True for a result that texts can say: no pictures, no links. */
export function isText({ content }: ToolResult): boolean {
  return Array.isArray(content) && content.every((block) => isObject(block) && block.type === "text");
}

/**
 * An answer that its client shows with blocks beside it; undefined where it cannot. Claude shows its model nothing but
 * structured content where there is some: it is left out where the text says the same.
 */
export function attachable({ viewer }: Session, result: ToolResult): ToolResult | undefined {
  const { structuredContent, ...rest } = result;
  if (structuredContent === undefined || !isClaude(viewer)) return result;
  return canonicalJson(valueOf(rest)) === canonicalJson(structuredContent) ? rest : undefined;
}

function isClaude(viewer: Session["viewer"]): boolean {
  return viewer !== "user" && /^claude\b/.test(viewer.client ?? "");
}
