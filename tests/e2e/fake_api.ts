// A stand-in for the model's API, on loopback: it makes the calls of a script, one a turn, and keeps what it was sent.

export interface ScriptedCall {
  readonly name: string;
  readonly input: unknown;
  /** What happens before the call is asked for. */
  readonly before?: () => Promise<void>;
}

interface Block {
  readonly type: string;
  readonly content?: unknown;
  readonly is_error?: boolean;
}

export interface ModelRequest {
  readonly tools?: readonly { name: string; description?: string; input_schema?: unknown }[];
  readonly system?: unknown;
  readonly messages: readonly { role: string; content: string | readonly Block[] }[];
  readonly stream?: boolean;
}

export interface FakeApi extends AsyncDisposable {
  readonly url: string;
  readonly requests: ModelRequest[];
  /** The results of the scripted calls, as the model got them. */
  results(): Block[];
}

/** `last`: what the model says once the script is over. */
export function fakeApi(script: readonly ScriptedCall[], last = "done"): FakeApi {
  const requests: ModelRequest[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname.endsWith("count_tokens")) return Response.json({ input_tokens: 1 });
    if (!pathname.endsWith("/v1/messages")) return Response.json({}, { status: 404 });
    const body = await request.json() as ModelRequest;
    requests.push(body);
    const next = script[resultsIn(body).length];
    const isScripted = next !== undefined && body.tools?.some(({ name }) => name === next.name);
    if (!isScripted) return answer(body, { type: "text", text: last });
    await next.before?.();
    return answer(body, { type: "tool_use", id: `toolu_${requests.length}`, name: next.name, input: next.input });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    requests,
    results: () => requests.map(resultsIn).toSorted((a, b) => b.length - a.length)[0] ?? [],
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

function resultsIn({ messages }: ModelRequest): Block[] {
  return messages.flatMap(({ content }) => typeof content === "string" ? [] : content)
    .filter(({ type }) => type === "tool_result");
}

function answer({ stream }: ModelRequest, block: Record<string, unknown>): Response {
  const stop_reason = block.type === "tool_use" ? "tool_use" : "end_turn";
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 1 },
  };
  if (!stream) return Response.json({ ...message, content: [block], stop_reason });
  const isTool = block.type === "tool_use";
  const delta = isTool
    ? { type: "input_json_delta", partial_json: JSON.stringify(block.input) }
    : { type: "text_delta", text: block.text };
  const events: [string, Record<string, unknown>][] = [
    ["message_start", { message }],
    ["content_block_start", { index: 0, content_block: isTool ? { ...block, input: {} } : { type: "text", text: "" } }],
    ["content_block_delta", { index: 0, delta }],
    ["content_block_stop", { index: 0 }],
    ["message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } }],
    ["message_stop", {}],
  ];
  const text = events.map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`).join("");
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}
