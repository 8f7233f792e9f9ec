// Parses, redacts, shapes and stores one large frame at a time.
import type { Message } from "../mcp/stdio.ts";
import { messageOf } from "../model/errors.ts";
import { isObject, jsonDepth } from "../model/json.ts";
import { createRedactor } from "../telemetry/redact.ts";
import { shapeAnswer, type ToolResult } from "./answer.ts";

export interface LargeRequest {
  readonly id: number;
  readonly frame: Uint8Array;
  readonly calls: readonly string[];
  readonly answerTokens: number;
  readonly handle: string;
  readonly directory: string;
  readonly secrets: readonly string[];
}

export type LargeReply =
  | { kind: "message"; message: Message }
  | { kind: "shaped"; id: string; json: Uint8Array; isError: boolean; bytes: number; stored: number };

const MAX_DEPTH = 256;

async function handle(request: LargeRequest): Promise<LargeReply> {
  const { frame } = request;
  if (jsonDepth(frame, MAX_DEPTH) > MAX_DEPTH) throw new Error(`it is nested deeper than ${MAX_DEPTH}`);
  const redactor = createRedactor();
  redactor.add(request.secrets);
  const message = redactor.parse(new TextDecoder().decode(frame));
  if (!isObject(message)) throw new Error("it is not a JSON-RPC message");
  const { id, result } = message;
  if (typeof id !== "string" || !request.calls.includes(id) || !isObject(result)) return { kind: "message", message };
  const shaped = shapeAnswer(result as ToolResult, request);
  if (shaped.stored !== undefined) {
    await Deno.writeTextFile(`${request.directory}/${request.handle}`, shaped.stored, { mode: 0o600 });
  }
  const json = new TextEncoder().encode(JSON.stringify(shaped.result));
  return {
    kind: "shaped",
    id,
    json,
    isError: result.isError === true,
    bytes: frame.length,
    stored: shaped.stored?.length ?? 0,
  };
}

const port = self as unknown as {
  onmessage: (event: MessageEvent<LargeRequest>) => void;
  postMessage(reply: unknown): void;
};

port.onmessage = async ({ data }) => {
  try {
    port.postMessage({ id: data.id, reply: await handle(data) });
  } catch (error) {
    port.postMessage({ id: data.id, error: messageOf(error) });
  }
};
