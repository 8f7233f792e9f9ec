import {
  type Beside,
  type CallResult,
  canonicalJson,
  CHARACTERS_PER_TOKEN,
  cut,
  isObject,
  type Json,
  type JsonObject,
  madeVisible,
  messageOf,
  tokens,
  type ToolResult,
} from "../model/mod.ts";

/** Text the agent can read, as a tool result. */
export function textResult(text: string, isError = false): ToolResult {
  return { content: [{ type: "text", text }], ...isError && { isError: true } };
}

/** A call's result as a tool result, parsed where it was shaped off the main thread. */
export function toolResultOf(result: CallResult): ToolResult {
  if (result.kind === "result") return result.result;
  if (result.kind === "large") return JSON.parse(new TextDecoder().decode(result.large.json));
  return textResult(`${result.message} (code ${result.code})`, true);
}

const ESCAPED =
  "(AgentCards: invisible or direction-changing characters of this answer are written as escapes such as \\u202e)";

/**
 * An answer as JSON for a client: characters that hide text are escapes, with a note that says so. Values for code,
 * references and stored results never come here: they stay as they are.
 */
export function shownJson(answer: Record<string, unknown>, json: string = JSON.stringify(answer)): string {
  const shown = madeVisible(answer, json);
  if (!shown) return json;
  const noted = Array.isArray(shown.content)
    ? { ...shown, content: [...shown.content, { type: "text", text: ESCAPED }] }
    : "code" in shown && "message" in shown
    ? shown
    : { ...shown, _meta: { ...isObject(shown._meta) ? shown._meta : {}, "agentcards/note": ESCAPED } };
  return JSON.stringify(noted);
}

/** The part that was cut out of an answer and must be stored under its handle. */
export interface Shaped {
  readonly result: ToolResult;
  readonly stored?: Stored;
}

/** The part that is put aside, as JSON, and the place of the result's value in it. */
export interface Stored {
  readonly json: string;
  readonly steps: readonly string[];
  readonly shape: string;
  readonly preview: string;
}

export interface ShapeOptions {
  readonly answerTokens: number;
  /** The name under which the whole will be found. */
  readonly handle: string;
}

const PREVIEW_CHARACTERS = 1_200;

/**
 * Keeps an answer within what an agent can read: text and structured content above the budget are taken out, to be
 * stored, and a preview, the shape and the handle stand in their place. Images, audio and files never count.
 */
export function shapeAnswer(result: ToolResult, options: ShapeOptions): Shaped {
  const size = textSize(result);
  if (tokens(size) <= options.answerTokens) return { result };

  const content = Array.isArray(result.content) ? result.content : [];
  // A short text beside large structured content says what that is: it stays.
  const keepsText = result.structuredContent !== undefined && textSize({ content }) <= PREVIEW_CHARACTERS;
  const value = keepsText ? result.structuredContent : everything(result);
  const hasBoth = !keepsText && result.structuredContent !== undefined && value !== result.structuredContent;
  const stored = { ...outlined(value), steps: hasBoth ? ["structuredContent"] : [] };
  const note = [
    `This answer has about ${tokens(size)} tokens and was stored as ${options.handle}.`,
    `Read parts of it: call_tool agentcards:read_result {"handle": "${options.handle}", "path"?, "offset"?, "limit"?}.`,
    `Shape: ${stored.shape}`,
    `It begins:\n${stored.preview}`,
  ].join("\n");
  const { structuredContent: _structured, ...rest } = result;
  const others = keepsText ? content : content.filter((block) => !isText(block));
  return { result: { ...rest, content: [{ type: "text", text: note }, ...others] }, stored };
}

/** An answer that is too long and could not be stored: as much of it as fits, and why. The call has been answered. */
export function unstored(
  result: ToolResult,
  { shape, preview, json }: Omit<Stored, "steps">,
  error: unknown,
): ToolResult {
  const { structuredContent: _structured, content, ...rest } = result;
  const others = (Array.isArray(content) ? content : []).filter((block) => !isText(block));
  const text = `The call was answered, but its answer of ${json.length} characters could not be stored: ${
    messageOf(error)
  }\nShape: ${shape}\nIt begins:\n${preview}`;
  return { ...rest, content: [{ type: "text", text }, ...others] };
}

/** A value as JSON, with what an agent gets to see of it. */
export function outlined(value: unknown): Omit<Stored, "steps"> {
  const json = JSON.stringify(value);
  // Not the whole again, spread over lines, just for its beginning.
  const whole = typeof value === "string" ? value : JSON.stringify(value, null, json.length > 100_000 ? 0 : 1);
  return { json, shape: cut(shape(value), PREVIEW_CHARACTERS), preview: cut(whole, PREVIEW_CHARACTERS) };
}

/** The call that reads a stored value, for whoever got its handle. */
export function howToRead(handle: string, path?: string): string {
  const given = JSON.stringify({ handle, ...path !== undefined && { path } });
  return `call_tool agentcards:read_result ${given} ("path" leads to a part, "offset" and "limit" read a list or a text)`;
}

/** The parts that are taken out: the value, and a long text beside structured content where it says something else. */
function everything(result: ToolResult): unknown {
  const { structuredContent, ...rest } = result;
  const value = valueOf(rest);
  if (structuredContent === undefined) return value;
  return canonicalJson(value) === canonicalJson(structuredContent)
    ? structuredContent
    : { structuredContent, text: value };
}

/** True if an agent can take an answer as it is. */
export function isReadable(result: ToolResult, answerTokens: number): boolean {
  return textSize(result) <= answerTokens * CHARACTERS_PER_TOKEN;
}

/** The characters of an answer that a model would have to read: clients show the text or the structure, not both. */
function textSize(result: ToolResult): number {
  let texts = 0;
  if (Array.isArray(result.content)) {
    for (const block of result.content) if (isText(block)) texts += block.text.length;
  }
  return Math.max(texts, result.structuredContent === undefined ? 0 : JSON.stringify(result.structuredContent).length);
}

function isText(block: unknown): block is { type: "text"; text: string } {
  return isObject(block) && block.type === "text" && typeof block.text === "string";
}

/** The value of a result: its structured content, else its text as JSON where it is JSON, several texts as an array. */
export function valueOf(result: ToolResult): unknown {
  if (result.structuredContent !== undefined) return result.structuredContent;
  const content = Array.isArray(result.content) ? result.content : [];
  const values = content.filter(isText).map(({ text }) => parsed(text));
  return values.length === 1 ? values[0] : values;
}

/** The parts of a result beside its value: content that is no text, and meta data that is not about the connection. */
export function besideValue({ content, _meta }: ToolResult): Beside | undefined {
  const blocks = (Array.isArray(content) ? content : []).filter((block) => isObject(block) && !isText(block)) as Json[];
  const meta = Object.entries(isObject(_meta) ? _meta : {}).filter(([key]) =>
    !key.startsWith("io.modelcontextprotocol/")
  );
  if (blocks.length === 0 && meta.length === 0) return undefined;
  return {
    ...blocks.length > 0 && { content: blocks },
    ...meta.length > 0 && { meta: Object.fromEntries(meta) as JsonObject },
  };
}

/** The same for code, which can use more than text: images and other bytes as what its cage turns into bytes. */
export function codeValueOf(result: ToolResult): unknown {
  if (result.structuredContent !== undefined) return result.structuredContent;
  const content = Array.isArray(result.content) ? result.content.filter(isObject) : [];
  const values = content.map((block) => {
    if (isText(block)) return parsed(block.text);
    const { data, blob = data, mimeType, text } = isObject(block.resource) ? block.resource : block;
    if (typeof blob === "string") return { $bytes: blob, mimeType };
    return typeof text === "string" ? text : block;
  });
  return values.length === 1 ? values[0] : values;
}

function parsed(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The outline of a value: keys, types and lengths, a few levels deep. */
export function shape(value: unknown, depth = 3): string {
  if (typeof value === "string") return `string(${value.length})`;
  if (Array.isArray(value)) {
    return depth === 0 || value.length === 0
      ? `array(${value.length})`
      : `array(${value.length}) of ${shape(value[0], depth - 1)}`;
  }
  if (!isObject(value)) return value === null ? "null" : typeof value;
  const keys = Object.keys(value);
  if (depth === 0) return `object(${keys.length} keys)`;
  const shown = keys.slice(0, 20).map((key) => `${cut(key, 40)}: ${shape(value[key], depth - 1)}`);
  return `{${shown.join(", ")}${keys.length > 20 ? `, … ${keys.length - 20} more` : ""}}`;
}
