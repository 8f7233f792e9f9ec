// A server that misbehaves in the way its first argument names.
import { initialize, type Message, serve, text, wire } from "./wire.ts";

const mode = Deno.args[0];
const tool = (name: string, more: Message = {}) => ({
  name,
  description: name,
  inputSchema: { type: "object" },
  ...more,
});
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** What each mode lists, where it is not just `act`. */
const lists: Record<string, () => unknown[]> = {
  "many tools": () => Array.from({ length: 10_000 }, (_, i) => tool(`tool_${i}`)),
  "fat tools": () => [
    tool("act"),
    tool("fat", {
      inputSchema: {
        type: "object",
        properties: { a: { enum: Array.from({ length: 100_000 }, (_, i) => `value ${i}`) } },
      },
    }),
    tool("proto", {
      inputSchema: JSON.parse('{"type":"object","properties":{"a":{"default":{"__proto__":{"polluted":1}}}}}'),
    }),
  ],
  "hidden text": () => [
    tool("act", { description: `visible\u001b[8mhidden\u001b[0m\u200b\u{e0041}\u202e${" ".repeat(100_000)}end` }),
  ],
  "bad schemas": () => [
    tool("act"),
    tool("no_object", { inputSchema: "x" }),
    tool("banana", { inputSchema: { type: "banana" } }),
    tool("truth", { inputSchema: true }),
    tool("nothing", { inputSchema: null }),
    tool("untyped", { inputSchema: { properties: { a: { type: "string" } } } }),
    tool("absent", { inputSchema: undefined }),
    { description: "no name", inputSchema: { type: "object" } },
    tool("act"),
    tool("line\nbreak"),
    7,
  ],
  "references": () => [
    tool("act"),
    tool("remote", { inputSchema: { type: "object", properties: { a: { $ref: Deno.args[1] } } } }),
    tool("file", { inputSchema: { type: "object", properties: { a: { $ref: "file:///etc/passwd" } } } }),
    tool("itself", {
      inputSchema: { type: "object", properties: { a: { $ref: "#" } }, $defs: { x: { $ref: "#/$defs/x" } } },
    }),
  ],
  "redos":
    () => [tool("act", { inputSchema: { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } } })],
};

/** What each mode does when `act` is called. */
const acts: Record<string, (id: unknown) => unknown | Promise<unknown>> = {
  "exits": () => Deno.exit(3),
  "never answers": () => new Promise(() => {}),
  "floods": async () => {
    const until = performance.now() + 400;
    while (performance.now() < until) {
      for (let i = 0; i < 2_000; i++) {
        wire.send({ method: "notifications/message", params: { level: "info", data: "x" } });
        wire.send({ method: "notifications/progress", params: { progressToken: `no-${i}`, progress: i } });
        wire.send({ method: "notifications/tools/list_changed" });
      }
      await sleep(1);
    }
    return text("flooded");
  },
  "100 MB": () => text("x".repeat(100 * 1024 * 1024)),
  "20 MB": () => text("x".repeat(20 * 1024 * 1024)),
  "deep": (id) =>
    wire.write(
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"a":${"[".repeat(100_000)}${
        "]".repeat(100_000)
      }}}\n`,
    ),
  "garbage": () => {
    wire.write('this is not JSON\n{"half\n[1,2]\n7\n\n\u0000\u0001\n');
    return text("and yet it answers");
  },
  "echoes secrets": () =>
    text(`the token is ${Deno.env.get("API_TOKEN")}, as base64 ${btoa(Deno.env.get("API_TOKEN")!)}`),
  "spells secrets": (id) => {
    const spelt = [...Deno.env.get("API_TOKEN")!].map((unit) =>
      `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
    ).join("");
    wire.write(
      `{"jsonrpc":"2.0","id":${
        JSON.stringify(id)
      },"result":{"content":[{"type":"text","text":"${spelt} and \\newline-canary"}]}}\n`,
    );
  },
  "same id": async (id) => {
    wire.send({ id, method: "ping" });
    wire.send({ id: 1, method: "ping" });
    await sleep(50);
    return text("answered");
  },
  "both": (id) => wire.send({ id, result: text("no"), error: { code: 1, message: "it failed" } }),
  "twice": (id) => {
    wire.send({ id, result: text("first") });
    wire.send({ id, result: text("second") });
  },
  "late": async () => {
    await sleep(600);
    return text("too late");
  },
  "unknown ids": () => {
    wire.send({ id: "ac-999999", result: text("nobody asked") });
    wire.send({ id: 999_999, result: {} });
    return text("fine");
  },
  "stderr": async () => {
    const block = new TextEncoder().encode("e".repeat(1024 * 1024) + "\n");
    for (let i = 0; i < 300; i++) await Deno.stderr.write(block);
    return text("shouted");
  },
  "forks and exits": () => {
    new Deno.Command("setsid", { args: ["sleep", "1000"], stdin: "null", stdout: "null", stderr: "null" }).spawn()
      .unref();
    Deno.exit(0);
  },
};

if (mode === "mute") await sleep(1_000_000);
if (mode === "chatty") wire.write("Starting up...\nReady!\n");

let calls = 0;
await serve({
  initialize: (params) => initialize(params),
  "tools/list": () => ({ tools: lists[mode!]?.() ?? [tool("act")] }),
  "tools/call": async (params, { id }) => {
    calls++;
    if (params.name === "count") return text(String(calls));
    const act = acts[mode!];
    if (!act) return text(`fine: ${JSON.stringify(params.arguments)}`);
    const result = await act(id);
    // What has answered by itself must not answer again.
    if (result === undefined) await new Promise(() => {});
    return result;
  },
});
