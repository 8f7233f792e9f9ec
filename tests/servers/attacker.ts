// A server that tries to stall or fill the engine, in the way its first argument names; the second is for how many seconds.
import { initialize, type Message, serve, text, wire } from "./wire.ts";

const [mode = "", seconds = "4"] = Deno.args;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const many = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i));
const tool = (name: string, inputSchema: Message = {}) => ({
  name,
  description: name,
  inputSchema: { type: "object", ...inputSchema },
});
const act = tool("act");

/** An object type whose members are unions of unions over one large enumeration. */
function nested(depth: number): Message {
  return depth === 0
    ? { enum: many(9_000, (i) => `value ${i}`) }
    : { oneOf: many(2, (i) => ({ type: "object", properties: { [`p${i}`]: nested(depth - 1) } })) };
}

let version = 0;
const LISTS: Record<string, () => unknown[]> = {
  names: () => [act, ...many(2_000, (i) => tool(`${"abcdefghij".repeat(12)}${String(i).padStart(7, "0")}`))],
  compile:
    () => [act, tool("slow", { allOf: many(5_900, (i) => ({ properties: { [`p${i}`]: { type: "string" } } })) })],
  schemas: () => [
    act,
    ...many(
      400,
      (i) =>
        tool(`t${i}`, { properties: Object.fromEntries(many(i % 2 ? 30 : 150, (j) => [`p${j}`, { minLength: i }])) }),
    ),
  ],
  validate: () => [
    act,
    tool("slow", { properties: { list: { type: "array", contains: { anyOf: many(3_000, (i) => ({ const: i })) } } } }),
  ],
  misspelt: () => [
    act,
    tool("slow", { properties: Object.fromEntries(many(5_000, (i) => [`property_${i}`, { type: "string" }])) }),
  ],
  types: () => [act, ...many(50, (i) => tool(`render_${i}`, { properties: { p: nested(i === 0 ? 0 : 2) } }))],
  "changing list": () => many(190, (i) => tool(`t${i}_${version}`, { title: "x".repeat(250_000) })),
  "large list": () => [act, ...many(28, (i) => tool(`t${i}`, { title: "x".repeat(250_000) }))],
  "million tools": () => many(1_000_000, () => ({})),
};

const FRAMES: Record<string, string> = {
  messages: '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n',
  "odd messages": '{"params":{"level":"info","data":"x"},"method":"notifications/message","jsonrpc":"2.0"}\n',
  changes: '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n',
  garbage: "this is no message\n",
  pings: '{"jsonrpc":"2.0","id":7,"method":"ping"}\n',
  answers: '{"jsonrpc":"2.0","id":"ac-99999999","result":{}}\n',
  "large messages": `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"${
    "x".repeat(500_000)
  }"}}\n`,
};

/** Writes one frame again and again, as fast as it is read. */
async function flood(frame: string): Promise<void> {
  const block = frame.repeat(Math.max(1, Math.floor(60_000 / frame.length)));
  const until = performance.now() + Number(seconds) * 1_000;
  while (performance.now() < until) {
    for (let i = 0; i < 20 && performance.now() < until; i++) wire.write(block);
    await sleep(0);
  }
}

async function acted(id: unknown, meta: Message): Promise<unknown> {
  if (mode === "progress") {
    await flood(
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${
        JSON.stringify(meta.progressToken)
      },"progress":1}}\n`,
    );
  } else if (mode === "deep") {
    wire.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"a":${"[".repeat(300)}${"]".repeat(300)}}}\n`);
    await new Promise(() => {});
  } else if (mode === "changing list") {
    const until = performance.now() + Number(seconds) * 1_000;
    for (; performance.now() < until; await sleep(1_000)) {
      version++;
      wire.send({ method: "notifications/tools/list_changed" });
    }
  } else if (FRAMES[mode]) await flood(FRAMES[mode]);
  return text("acted");
}

await serve({
  initialize: (params) => initialize(params),
  "tools/list": () => ({ tools: LISTS[mode]?.() ?? [act] }),
  "tools/call": (params, { id, meta }) => params.name === "act" ? acted(id, meta) : text("fine"),
});
