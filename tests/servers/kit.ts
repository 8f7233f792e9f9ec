// A well-behaved server with a tool for everything a gateway must carry. --modern speaks the stateless protocol.
import { discover, type Handler, initialize, type Message, RpcError, serve, text, wire } from "./wire.ts";

const isModern = Deno.args.includes("--modern");
const name = Deno.args.find((arg) => arg.startsWith("--name="))?.slice(7) ?? "kit";
const cancelled: string[] = [];

const watched = new Set<string>();
const listening = new Map<unknown, string[]>();
let wasAtGate = false;
let cancelledAt = 0;
let hung = 0;
let logLevel = "none";
let toldCapabilities: unknown = {};

const object = (properties: Message = {}, required: string[] = []) => ({ type: "object", properties, required });
const string = { type: "string" };
const number = { type: "number" };

interface Tool {
  readonly description: string;
  readonly inputSchema: Message;
  readonly run: Handler;
  readonly more?: Message;
  /** What the stateless protocol asks by its answer. */
  readonly question?: Message;
}

/** A tool that answers with what it was told. */
function asking(description: string, method: string, params: Message): Tool {
  return {
    description,
    inputSchema: object(),
    run: async () => text(JSON.stringify(await wire.ask(method, params))),
    question: { method, params },
  };
}

const tools: Record<string, Tool> = {
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
  contents: {
    description: "Answers with every kind of content and nothing else",
    inputSchema: object(),
    run: async (args, context) => {
      const { content } = await tools.everything!.run(args, context) as Message;
      return { content };
    },
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
  hang: {
    description: "Waits until it is cancelled",
    inputSchema: object(),
    run: (_, { signal }) =>
      new Promise((resolve) => {
        hung++;
        signal.addEventListener("abort", () => {
          cancelledAt = Date.now();
          resolve(undefined);
        });
      }),
  },
  hung: {
    description: "Tells how many calls have waited until they were cancelled",
    inputSchema: object(),
    run: () => text(String(hung)),
  },
  cancelled_at: {
    description: "Tells when a call was last cancelled",
    inputSchema: object(),
    run: () => text(String(cancelledAt)),
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
  ask: asking("Asks the human for a name", "elicitation/create", {
    mode: "form",
    message: "What is your name?",
    requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  }),
  visit: asking("Sends the human to a page", "elicitation/create", {
    mode: "url",
    message: "Please sign in",
    url: "https://example.com/sign-in",
    elicitationId: "e-1",
  }),
  sample: asking("Asks the client's model", "sampling/createMessage", {
    messages: [{ role: "user", content: { type: "text", text: "What is the capital of France?" } }],
    maxTokens: 10,
  }),
  sample_mail: asking("Asks the client's model about somebody", "sampling/createMessage", {
    messages: [{ role: "user", content: { type: "text", text: "Who is ada.lovelace@example.com?" } }],
    maxTokens: 10,
  }),
  roots: asking("Asks for the client's folders", "roots/list", {}),
  gate: {
    description: "Lets nobody through who has not been to a page",
    inputSchema: object(),
    run() {
      if (wasAtGate) return text("through");
      wasAtGate = true;
      const page = { mode: "url", message: "Please sign in", url: "https://example.com/gate", elicitationId: "e-2" };
      setTimeout(
        () => wire.send({ method: "notifications/elicitation/complete", params: { elicitationId: "e-2" } }),
        300,
      );
      throw new RpcError(-32042, "A page must be visited first", { elicitations: [page] });
    },
  },
  log: {
    description: "Logs a line and an error",
    inputSchema: object(),
    async run(_, { meta }) {
      const level = meta["io.modelcontextprotocol/logLevel"];
      if (!isModern || level !== undefined) {
        wire.send({ method: "notifications/message", params: { level: "info", logger: "main", data: "a line" } });
        wire.send({ method: "notifications/message", params: { level: "error", data: { code: 7 } } });
      }
      // A client may read what comes with the answer before what came just before it.
      await new Promise((resolve) => setTimeout(resolve, 20));
      return text("logged");
    },
  },
  told: {
    description: "Tells which capabilities it was told its client has",
    inputSchema: object(),
    run: (_, { meta }) =>
      text(JSON.stringify(isModern ? meta["io.modelcontextprotocol/clientCapabilities"] ?? {} : toldCapabilities)),
  },
  level: { description: "Tells the log level it was set to", inputSchema: object(), run: () => text(logLevel) },
  odd_progress: {
    description: "Says nonsense about its progress",
    inputSchema: object(),
    run: (_, { meta: { progressToken } }) => {
      for (const progress of [{ toString: 1 }, [[]], null, "x"]) {
        wire.send({
          method: "notifications/progress",
          params: { progressToken, progress, total: {}, message: { a: 1 } },
        });
      }
      return text("still here");
    },
  },
  touch: {
    description: "Changes the resource that is watched",
    inputSchema: object(),
    run: () => {
      for (const uri of watched) wire.send({ method: "notifications/resources/updated", params: { uri } });
      for (const [id, uris] of listening) {
        for (const uri of uris) {
          const _meta = { "io.modelcontextprotocol/subscriptionId": id };
          wire.send({ method: "notifications/resources/updated", params: { uri, _meta } });
        }
      }
      return text([...watched, ...listening.values()].join());
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
  append_asked: {
    description: "Writes a line into a file, asks the human whether to go on, and writes down the answer",
    inputSchema: object({ file: string }, ["file"]),
    run: async ({ file }) => {
      const say = (what: string) => Deno.writeTextFile(String(file), `${what}\n`, { append: true });
      await say("begin");
      const { action } = await wire.ask("elicitation/create", {
        mode: "form",
        message: "Shall ada.lovelace@example.com go on?",
        requestedSchema: { type: "object", properties: {} },
      }) as { action: string };
      await say(action);
      return text(action);
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
function modernAsk(question: Message, params: Message): Message {
  if (params.inputResponses) {
    const { name: answer } = params.inputResponses as Message;
    return { resultType: "complete", ...text(JSON.stringify(answer) + String(params.requestState)) };
  }
  return { resultType: "input_required", inputRequests: { name: question }, requestState: "state-1" };
}

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
  if (isModern && tool.question) return modernAsk(tool.question, params);
  const result = await tool.run((params.arguments ?? {}) as Message, context) as Message;
  return isModern && result ? { resultType: "complete", ...result } : result;
};

const NOTE = { uri: "note://one", name: "one", mimeType: "text/plain", _meta: { "example.com/kept": true } };
const MAIL = { uri: "note://of/ada.lovelace@example.com", name: "ada.lovelace@example.com" };
const LETTER = { name: "letter", description: "Writes a letter", arguments: [{ name: "to", required: true }] };
const complete = (result: Message) =>
  isModern ? { resultType: "complete", ttlMs: 0, cacheScope: "private", ...result } : result;

/** What a server can have besides tools. */
const offers: Record<string, Handler> = {
  "resources/list": () =>
    Deno.args.includes("--hang")
      ? new Promise(() => {})
      : complete({ resources: Deno.args.includes("--mail") ? [MAIL] : [NOTE] }),
  "resources/templates/list": () => complete({ resourceTemplates: [{ uriTemplate: "note://by/{id}", name: "by id" }] }),
  "resources/read": ({ uri }) => {
    if (!String(uri).startsWith("note://")) {
      throw new RpcError(isModern ? -32602 : -32002, "Resource not found", { uri });
    }
    return complete({ contents: [{ uri, mimeType: "text/plain", text: `${name} says ${uri}` }] });
  },
  "resources/subscribe": ({ uri }) => (watched.add(String(uri)), {}),
  "resources/unsubscribe": ({ uri }) => (watched.delete(String(uri)), {}),
  "prompts/list": () => complete({ prompts: [LETTER] }),
  "prompts/get": ({ name: prompt, arguments: given }) => {
    const content = { type: "text", text: `${name}: dear ${(given as Message)?.to}, ${prompt}` };
    return complete({ messages: [{ role: "user", content }] });
  },
  "completion/complete": ({ ref, argument }) =>
    complete({
      completion: { values: [`${name} ${JSON.stringify(ref)} ${(argument as Message).value}`], hasMore: false },
    }),
};

const hasOffers = Deno.args.includes("--offers");
const capabilities = {
  tools: { listChanged: true },
  logging: {},
  ...hasOffers && {
    resources: { subscribe: true, listChanged: true },
    prompts: { listChanged: true },
    completions: {},
  },
};

// A server that takes its time to start.
const startMs = Number(Deno.args.find((arg) => arg.startsWith("--start-ms="))?.slice(11) ?? 0);
if (startMs > 0) await new Promise((resolve) => setTimeout(resolve, startMs));

await serve({
  ...isModern
    ? {
      "server/discover": () => discover(capabilities),
      "subscriptions/listen": (params: Message, { id, signal }) => {
        const filter = (params.notifications ?? {}) as Message;
        listening.set(id, (filter.resourceSubscriptions ?? []) as string[]);
        const _meta = { "io.modelcontextprotocol/subscriptionId": id };
        wire.send({ method: "notifications/subscriptions/acknowledged", params: { notifications: filter, _meta } });
        return new Promise(() => signal.addEventListener("abort", () => listening.delete(id)));
      },
    }
    : {
      initialize(params: Message) {
        toldCapabilities = params.capabilities;
        return initialize(params, capabilities);
      },
      ping: () => ({}),
      "logging/setLevel": ({ level }: Message) => (logLevel = String(level), {}),
    },
  ...hasOffers && offers,
  "tools/list": list,
  "tools/call": call,
});
