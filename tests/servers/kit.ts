// A well-behaved server with a tool for everything a gateway must carry. --modern speaks the stateless protocol.
import { discover, type Handler, initialize, type Message, serve, text, wire } from "./wire.ts";

const isModern = Deno.args.includes("--modern");
const name = Deno.args.find((arg) => arg.startsWith("--name="))?.slice(7) ?? "kit";
const cancelled: string[] = [];

const object = (properties: Message = {}, required: string[] = []) => ({ type: "object", properties, required });
const string = { type: "string" };
const number = { type: "number" };

const tools: Record<string, { description: string; inputSchema: Message; run: Handler; more?: Message }> = {
  echo: {
    description: "Says back what it is told",
    inputSchema: object({ text: string }, ["text"]),
    run: ({ text: said }) => text(`${name}: ${said}`),
  },
  add: {
    description: "Adds two numbers",
    inputSchema: object({ a: number, b: number }, ["a", "b"]),
    run: ({ a, b }) => text(String(Number(a) + Number(b)), { structuredContent: { sum: Number(a) + Number(b) } }),
  },
  everything: {
    description: "Answers with every kind of content there is",
    inputSchema: object(),
    run: () => ({
      content: [
        { type: "text", text: "hello", annotations: { audience: ["user"] } },
        { type: "image", data: "aGk=", mimeType: "image/png" },
        { type: "audio", data: "aGk=", mimeType: "audio/wav" },
        { type: "resource_link", uri: "file:///x", name: "x" },
        { type: "resource", resource: { uri: "file:///y", text: "why", mimeType: "text/plain" } },
        { type: "something_new", data: [1, { two: 3 }] },
      ],
      structuredContent: [1, "two", null],
      _meta: { "example.com/trace": "abc" },
    }),
  },
  mirror: {
    description: "Gives its arguments back as they came",
    inputSchema: object(),
    run: (args) => text(JSON.stringify(args), { structuredContent: args }),
  },
  fail: {
    description: "Fails as a tool fails",
    inputSchema: object(),
    run: () => text("it did not work", { isError: true }),
  },
  refuse: {
    description: "Fails as a protocol fails",
    inputSchema: object(),
    run: () => {
      throw new Error("no such thing");
    },
  },
  wait: {
    description: "Waits some milliseconds, telling how far it is",
    inputSchema: object({ ms: number, steps: number }, ["ms"]),
    async run({ ms, steps = 1 }, { meta, signal }) {
      for (let step = 1; step <= Number(steps); step++) {
        await new Promise((resolve) => setTimeout(resolve, Number(ms) / Number(steps)));
        if (signal.aborted) {
          cancelled.push("wait");
          return;
        }
        if (meta.progressToken !== undefined) {
          wire.send({
            method: "notifications/progress",
            params: { progressToken: meta.progressToken, progress: step, total: steps, message: `step ${step}` },
          });
        }
      }
      return text("waited");
    },
  },
  cancelled: {
    description: "Lists the calls that were cancelled",
    inputSchema: object(),
    run: () => text(cancelled.join()),
  },
  big: {
    description: "Answers with much text",
    inputSchema: object({ characters: number }, ["characters"]),
    run: ({ characters }) => text("x".repeat(Number(characters))),
  },
  rows: {
    description: "Answers with many rows of data",
    inputSchema: object({ count: number }, ["count"]),
    run: ({ count }) => {
      const rows = Array.from({ length: Number(count) }, (_, i) => ({ id: i, name: `row ${i}`, note: "n".repeat(40) }));
      return text("see structured content", { structuredContent: { rows } });
    },
  },
  picture: {
    description: "Answers with a large image",
    inputSchema: object({ bytes: number }, ["bytes"]),
    run: ({ bytes }) => ({ content: [{ type: "image", data: "A".repeat(Number(bytes)), mimeType: "image/png" }] }),
  },
  environment: {
    description: "Shows a variable of the server's environment",
    inputSchema: object({ name: string }, ["name"]),
    run: ({ name: variable }) => text(Deno.env.get(String(variable)) ?? "(not set)"),
  },
  place: { description: "Tells the folder it runs in", inputSchema: object(), run: () => text(Deno.cwd()) },
  process: { description: "Tells its process id", inputSchema: object(), run: () => text(String(Deno.pid)) },
  meta: {
    description: "Shows the meta data of the call",
    inputSchema: object(),
    run: (_, { meta }) => text(JSON.stringify(meta)),
  },
  ask: {
    description: "Asks the human for a name",
    inputSchema: object(),
    async run(_, { meta: _meta }) {
      const answer = await wire.ask("elicitation/create", {
        mode: "form",
        message: "What is your name?",
        requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
      });
      return text(JSON.stringify(answer));
    },
  },
  grow: {
    description: "Adds one more tool to the list",
    inputSchema: object(),
    run: () => {
      tools.grown = { description: "Was not there before", inputSchema: object(), run: () => text("grown") };
      wire.send({ method: "notifications/tools/list_changed" });
      return text("done");
    },
  },
  write: {
    description: "Writes into a file",
    inputSchema: object({ file: string }, ["file"]),
    run: async ({ file }) => {
      await Deno.writeTextFile(String(file), "written");
      return text("written");
    },
  },
  append: {
    description: "Writes a line before and after some milliseconds into a file that others write into, too",
    inputSchema: object({ file: string, line: string, ms: number }, ["file", "line"]),
    run: async ({ file, line, ms = 0 }) => {
      const say = (what: string) => Deno.writeTextFile(String(file), `${what} ${line}\n`, { append: true });
      await say("begin");
      await new Promise((resolve) => setTimeout(resolve, Number(ms)));
      await say("end");
      return text(`appended ${line}`);
    },
  },
  crash: { description: "Ends the server in the middle of the call", inputSchema: object(), run: () => Deno.exit(3) },
};

const read = async ({ file, times = 1 }: Message) => (await Deno.readTextFile(String(file))).repeat(Number(times));
if (Deno.args.includes("--files")) {
  tools.read_file = {
    description: "Reads a file, as often as one likes",
    inputSchema: object({ file: string, times: number }, ["file"]),
    run: async (given) => text(await read(given)),
  };
  tools.complain = {
    description: "Fails with what is in a file",
    inputSchema: object({ file: string }, ["file"]),
    run: async (given) => text(await read(given), { isError: true }),
  };
  tools.csv = {
    description: "Gives a file as bytes",
    inputSchema: object({ file: string }, ["file"]),
    run: async (given) => ({
      content: [{
        type: "resource",
        resource: {
          uri: "file:///x",
          mimeType: "text/csv",
          blob: new TextEncoder().encode(await read(given)).toBase64(),
        },
      }],
    }),
  };
  tools.last_words = {
    description: "Dies with what is in a file on its lips",
    inputSchema: object({ file: string }, ["file"]),
    run: async (given) => {
      await Deno.stderr.write(new TextEncoder().encode(await read(given)));
      return Deno.exit(3);
    },
  };
}

/** The stateless protocol asks by its answer. */
const modernAsk: Handler = (params) => {
  if (params.inputResponses) {
    const { name: answer } = params.inputResponses as Message;
    return { resultType: "complete", ...text(JSON.stringify(answer) + String(params.requestState)) };
  }
  return {
    resultType: "input_required",
    inputRequests: {
      name: {
        method: "elicitation/create",
        params: {
          mode: "form",
          message: "What is your name?",
          requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
        },
      },
    },
    requestState: "state-1",
  };
};

const list = () => ({
  tools: Object.entries(tools).map(([tool, { description, inputSchema, more }]) => ({
    name: tool,
    description,
    inputSchema,
    ...more,
  })),
  ...isModern && { resultType: "complete", ttlMs: 0, cacheScope: "private" },
});

const call: Handler = async (params, context) => {
  const tool = tools[params.name as string];
  if (!tool) return text(`Unknown tool: ${params.name}`, { isError: true });
  if (isModern && params.name === "ask") return await modernAsk(params, context);
  const result = await tool.run((params.arguments ?? {}) as Message, context) as Message;
  return isModern && result ? { resultType: "complete", ...result } : result;
};

await serve(
  isModern
    ? { "server/discover": () => discover(), "tools/list": list, "tools/call": call }
    : { initialize: (params) => initialize(params), "tools/list": list, "tools/call": call, ping: () => ({}) },
);
