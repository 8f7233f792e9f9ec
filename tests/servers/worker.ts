// Tools that take a given time and tell when they began and how long they really took. With --log=FILE every call leaves a line before and
// after its effect, so that somebody outside can tell what happened, however the caller ended. It reads and writes by
// hand: what is measured is the caller, not this.
import { initialize, type Message, text, wire } from "./wire.ts";

const log = Deno.args.find((arg) => arg.startsWith("--log="))?.slice(6);
const file = log === undefined ? undefined : Deno.openSync(log, { append: true, create: true });
const instance = crypto.randomUUID().slice(0, 8);
const encoder = new TextEncoder();

/** One line in one write at the end of the file: whole, whoever else writes. */
function note(kind: "boot" | "begin" | "end", task = "-"): void {
  file?.writeSync(encoder.encode(`${kind} ${task} ${instance} ${Date.now()}\n`));
}

const inputSchema = {
  type: "object",
  properties: { task: { type: "string" }, ms: { type: "number" }, characters: { type: "number" } },
  required: ["task", "ms"],
};
const tools = [
  { name: "get_item", description: "Looks something up", inputSchema, annotations: { readOnlyHint: true } },
  { name: "put_item", description: "Puts something in its place", inputSchema, annotations: { idempotentHint: true } },
  { name: "send_item", description: "Sends something away", inputSchema },
];

function call({ arguments: given }: Message, answer: (result: Message) => void): void {
  const began = performance.now();
  const { task, ms, characters } = given as { task: string; ms: number; characters?: number };
  note("begin", task);
  setTimeout(() => {
    note("end", task);
    const took = Math.round((performance.now() - began) * 1000) / 1000;
    const filler = characters === undefined ? {} : { filler: "x".repeat(characters) };
    answer(text(task, { structuredContent: { task, ms: took, began: performance.timeOrigin + began, ...filler } }));
  }, ms);
}

function take({ id, method, params }: Message): void {
  if (id === undefined) return;
  const answer = (result: Message) => wire.send({ id, result });
  if (method === "tools/call") call(params as Message, answer);
  else if (method === "initialize") answer(initialize(params as Message, { tools: {} }));
  else if (method === "tools/list") answer({ tools });
  else if (method === "ping") answer({});
  else wire.send({ id, error: { code: -32601, message: "Method not found" } });
}

note("boot");
const decoder = new TextDecoder();
const chunk = new Uint8Array(65_536);
let rest = "";
for (let size = await Deno.stdin.read(chunk); size !== null; size = await Deno.stdin.read(chunk)) {
  const lines = (rest + decoder.decode(chunk.subarray(0, size), { stream: true })).split("\n");
  rest = lines.pop()!;
  for (const line of lines) take(JSON.parse(line));
}
Deno.exit(0);
