// Arguments that a server wants in headers, too: which, in which form, and what happens when the list was another one.
import assert from "node:assert/strict";
import { createMirror, headersOf, type Mirrored, paramHeaders } from "../../src/mcp/param_headers.ts";
import type { CallResult } from "../../src/model/mod.ts";

const schema = {
  type: "object",
  properties: {
    region: { type: "string", "x-mcp-header": "Region" },
    inner: { type: "object", properties: { count: { type: "integer", "x-mcp-header": "Count" } } },
    plain: { type: "string", default: { "x-mcp-header": 1 } },
  },
};

Deno.test("arguments go into headers as the schema says, encoded where a header cannot hold them", () => {
  const found = paramHeaders(schema);
  assert.ok(typeof found !== "string");
  const of = (region: unknown, count: unknown = null) => headersOf(found, { region, inner: { count } });
  assert.deepEqual(of("us west", 3), { "Mcp-Param-Region": "us west", "Mcp-Param-Count": "3" });
  assert.deepEqual(of(""), { "Mcp-Param-Region": "" });
  assert.deepEqual(of(null), {});
  const base64 = (text: string) => `=?base64?${btoa(text)}?=`;
  for (const text of [" a", "a ", "a\nb", "=?base64?x?="]) {
    assert.deepEqual(of(text), { "Mcp-Param-Region": base64(text) });
  }
  for (
    const [wrong, why] of [
      [{ properties: { a: { type: "number", "x-mcp-header": "A" } } }, /string, integer and boolean/],
      [{ properties: { a: { type: "string", "x-mcp-header": "a b" } } }, /no name of a header/],
      [{ properties: { a: { items: { type: "string", "x-mcp-header": "A" } } } }, /cannot have/],
      [
        { properties: { a: { type: "string", "x-mcp-header": "A" }, b: { type: "string", "x-mcp-header": "a" } } },
        /twice/,
      ],
    ] as const
  ) assert.match(String(paramHeaders(wrong)), why);
});

Deno.test("a call whose headers the server misses is sent again once its list was read", async () => {
  const sent: Mirrored[] = [];
  const { send } = createMirror();
  const put = (request: Mirrored): Promise<CallResult> => {
    sent.push(request);
    if (request.method === "tools/list") {
      return Promise.resolve({ kind: "result", result: { tools: [{ name: "t", inputSchema: schema }] } });
    }
    return Promise.resolve(
      request.headers?.["Mcp-Param-Region"] === "eu"
        ? { kind: "result", result: { content: [] } }
        : { kind: "error", code: -32020, message: "no header" },
    );
  };
  const reply = await send({ method: "tools/call", params: { name: "t", arguments: { region: "eu" } } }, put);
  assert.equal(reply.kind, "result");
  assert.deepEqual(sent.map(({ method }) => method), ["tools/call", "tools/list", "tools/call"]);
});
