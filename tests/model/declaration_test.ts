import assert from "node:assert/strict";
import { declarations, identifier } from "../../src/model/declaration.ts";
import type { JsonObject } from "../../src/model/json.ts";
import type { Tool } from "../../src/model/tool.ts";

function tool(id: string, rest: Partial<Tool> = {}): Tool {
  const [server, name] = id.split(":") as [string, string];
  return { id, server, name, description: "", hash: "", inputSchema: { type: "object" }, ...rest };
}

const ISSUE = tool("my-github:create_issue", {
  description: "Creates an issue. */ evil(); /*",
  inputSchema: {
    type: "object",
    properties: {
      title: { type: "string", description: "What it is called" },
      state: { enum: ["open", "closed"], default: "open" },
      assignees: { type: "array", items: { type: "object", properties: { login: { type: "string" } } } },
      "x-odd": { type: ["string", "null"] },
    },
    required: ["title"],
  } as JsonObject,
  outputSchema: { type: "object", properties: { number: { type: "integer" } }, required: ["number"] } as JsonObject,
});

Deno.test("declarations() are TypeScript that a compiler takes and checks calls against", async () => {
  const text = declarations([ISSUE, tool("my-github:no-input"), tool("4chan:list")]);
  const calls = (code: string) =>
    `${text.replaceAll("declare const", "export declare const")}\nexport async function run() {\n${code}\n}\n`;
  const good = 'const { number } = await my_github.create_issue({ title: "x", state: "open", "x-odd": null });\n' +
    'await my_github["no-input"](); await _4chan.list({}); return number + 1;';
  assert.equal(await check(calls(good)), "");
  assert.match(await check(calls('await my_github.create_issue({ state: "open" });')), /title/);
  assert.match(await check(calls('await my_github.create_issue({ title: "x", state: "ajar" });')), /ajar/);
});

Deno.test("declarations() keep what a reader needs and let no description out of its comment", () => {
  const text = declarations([ISSUE]);
  assert.match(text, /\/\*\* What it is called \*\/\n {4}title: string;/);
  assert.match(text, /\/\*\* Default: "open"\. \*\/\n {4}state\?: "open" \| "closed";/);
  assert.ok(!text.includes("*/ evil"));
});

Deno.test("declarations() hide nothing and stay readable whatever a schema says", () => {
  const properties: Record<string, unknown> = {
    mode: { enum: ["ok", "do\u202e this", "x".repeat(5_000)], default: "y".repeat(5_000) },
  };
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`p${i}`, true]));
  for (let i = 0; i < 20; i++) properties[`a${i}`] = { $ref: "#/$defs/many" };
  const inputSchema = { type: "object", properties, $defs: { many: { type: "object", properties: many } } };
  const began = performance.now();
  const text = declarations([tool("s:t", { inputSchema: inputSchema as unknown as JsonObject })]);
  assert.ok(performance.now() - began < 300);
  assert.ok(text.length < 200_000, `${text.length}`);
  assert.ok(!text.includes("\u202e"));
  assert.match(text, /mode\?: "ok" \| string \| string;/);
});

Deno.test("identifier() makes names that code can write", () => {
  assert.deepEqual(["a-b", "4x", "class", "ok_1"].map(identifier), ["a_b", "_4x", "_class", "ok_1"]);
});

async function check(code: string): Promise<string> {
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(file, code);
  try {
    const { stderr, success } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "--quiet", "--no-config", file],
      env: { NO_COLOR: "1" },
    }).output();
    return success ? "" : new TextDecoder().decode(stderr);
  } finally {
    await Deno.remove(file);
  }
}
