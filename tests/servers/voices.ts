// A server that hides characters in everything it says, and asks whatever it is told to ask. --modern: stateless protocol.
import { discover, type Handler, initialize, type Message, RpcError, serve, text, wire } from "./wire.ts";

const isModern = Deno.args.includes("--modern");
/** A tag character, an override of direction, a terminal sequence, a zero-width space. */
export const HIDDEN = "\u{e0041}\u202e\u001b[8m\u200b";
const said = (words: string) => `${words}${HIDDEN}`;
const number = { type: "number" };
const string = { type: "string" };
const object = (properties: Message = {}) => ({ type: "object", properties });

const poisoned = {
  name: "poisoned",
  title: said("title"),
  description: said("description"),
  inputSchema: {
    type: "object",
    description: said("schema"),
    properties: {
      [said("parameter")]: {
        type: "string",
        title: said("parameter title"),
        description: said("parameter description"),
        default: said("default"),
        examples: [said("example")],
        enum: [said("choice")],
      },
    },
    required: [said("parameter")],
  },
  outputSchema: { type: "object", properties: { [said("out")]: { type: "string", description: said("output") } } },
  annotations: { title: said("annotated") },
  icons: [{ src: "http://attacker.example/?id=1" }, { src: "data:image/png;base64,aGk=" }],
  _meta: { "example.com/words": said("meta") },
};

const form = (message: string, more: Message = {}) => ({
  mode: "form",
  message,
  requestedSchema: { type: "object", properties: { name: { type: "string", title: said("Name") } } },
  ...more,
});

/** What a tool asks: its method and params, by the tool's name. */
const questions: Record<string, (given: Message) => [method: string, params: Message]> = {
  ask: ({ message = said("Who?") }) => ["elicitation/create", form(String(message))],
  visit: ({ url }) => ["elicitation/create", { mode: "url", message: said("Sign in"), url, elicitationId: "e" }],
  sample: ({ context }) => ["sampling/createMessage", {
    messages: [{ role: "user", content: { type: "text", text: said("Think") } }],
    maxTokens: 10,
    includeContext: context,
  }],
};

const tools: Record<string, Handler> = {
  say: ({ size = 0 }) => ({
    content: [
      { type: "text", text: said("spoken") + "x".repeat(Number(size)) },
      { type: "resource", resource: { uri: "note://one", text: said("embedded") } },
    ],
    structuredContent: { [said("key")]: said("value") },
  }),
  fail: () => text(said("it failed"), { isError: true }),
  refuse: () => {
    throw new RpcError(-32603, said("refused"));
  },
  plain: () => text("👩‍💻 می‌خواهم ❤️ 🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} e\u0301 tab\tline\n"),
  page: ({ url }) => {
    const page = { mode: "url", message: said("Sign in"), url, elicitationId: "e" };
    throw new RpcError(-32042, said("A page first"), { elicitations: [page] });
  },
  many: async ({ count, method = "ask" }) => {
    const [asked, params] = questions[String(method)]!({});
    const answers = await Promise.allSettled(Array.from({ length: Number(count) }, () => wire.ask(asked, params)));
    return text(`${answers.filter(({ status }) => status === "fulfilled").length} answered`);
  },
  log: async (_, { meta: { progressToken } }) => {
    wire.send({ method: "notifications/message", params: { level: "error", logger: said("l"), data: said("logged") } });
    if (progressToken !== undefined) {
      wire.send({ method: "notifications/progress", params: { progressToken, progress: 1, message: said("step") } });
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    return text("done");
  },
  /** Asks after a while, also for a call that was cancelled. */
  ask_late: async ({ ms }) => {
    await new Promise((resolve) => setTimeout(resolve, Number(ms)));
    return text(JSON.stringify(await wire.ask(...questions.ask!({}))));
  },
  wait: async ({ ms }) => {
    await new Promise((resolve) => setTimeout(resolve, Number(ms)));
    return text("waited");
  },
};

/** The stateless protocol asks by its answer. */
function askedModern(given: Message, params: Message): Message {
  if (params.inputResponses) return { resultType: "complete", ...text(JSON.stringify(params.inputResponses)) };
  const { count = 1 } = given;
  const [method, asked] = questions[params.name as string]!(given);
  const inputRequests = Object.fromEntries(
    Array.from({ length: Number(count) }, (_, i) => [`q${i}`, { method, params: asked }]),
  );
  return { resultType: "input_required", inputRequests, requestState: "s" };
}

const call: Handler = async (params, context) => {
  const given = (params.arguments ?? {}) as Message;
  const name = params.name as string;
  if (name in questions) {
    if (isModern) return askedModern(given, params);
    const [method, asked] = questions[name]!(given);
    return text(JSON.stringify(await wire.ask(method, asked)));
  }
  const result = await tools[name]!(given, context) as Message;
  return isModern ? { resultType: "complete", ...result } : result;
};

const complete = (result: Message) =>
  isModern ? { resultType: "complete", ttlMs: 0, cacheScope: "private", ...result } : result;
const capabilities = { tools: {}, logging: {}, resources: {}, prompts: {}, completions: {} };
const anything = object({
  url: string,
  message: string,
  context: string,
  count: number,
  method: string,
  size: number,
  ms: number,
});

await serve({
  ...isModern
    ? { "server/discover": () => discover(capabilities) }
    : { initialize: (params: Message) => initialize(params, capabilities) },
  "tools/list": () =>
    complete({
      tools: [
        poisoned,
        ...[...Object.keys(tools), ...Object.keys(questions)].map((name) => ({ name, inputSchema: anything })),
      ],
    }),
  "tools/call": call,
  "resources/list": () =>
    complete({ resources: [{ uri: "note://one", name: said("note"), description: said("about") }] }),
  "resources/templates/list": () => complete({ resourceTemplates: [] }),
  "resources/read": ({ uri }) => complete({ contents: [{ uri, text: said("resource") }] }),
  "prompts/list": () =>
    complete({
      prompts: [
        { name: "letter", description: said("a letter"), arguments: [{ name: "to", description: said("to whom") }] },
        { name: said("hidden"), description: "cannot be asked for by a name that nobody sees" },
      ],
    }),
  "prompts/get": () => complete({ messages: [{ role: "user", content: { type: "text", text: said("Write") } }] }),
  "completion/complete": () => complete({ completion: { values: [said("completed")], hasMore: false } }),
});
