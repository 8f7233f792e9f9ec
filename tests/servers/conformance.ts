// What the official conformance suite expects a server to have, under the names it expects. --modern speaks the
// stateless protocol.
import { discover, type Handler, initialize, type Message, RpcError, serve, text, wire } from "./wire.ts";

const isModern = Deno.args.includes("--modern");
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
const META = "io.modelcontextprotocol/";
const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
const notify = (method: string, params: Message = {}) => wire.send({ method: `notifications/${method}`, params });
const string = { type: "string" };
const form = (message: string, properties: Message, required: string[] = []) => ({
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties, required } },
});
const image = { type: "image", data: PNG, mimeType: "image/png" };
const embedded = (uri: string, mimeType: string, content: string) => ({
  type: "resource",
  resource: { uri, mimeType, text: content },
});

/** Asks in the way of the protocol at hand; undefined: the answers come with the next request. */
async function asked(
  questions: Record<string, Message>,
  params: Message,
  state?: string,
): Promise<Message | undefined> {
  if (!isModern) {
    const answers: Message = {};
    for (const [key, { method, params: given }] of Object.entries(questions)) {
      answers[key] = await wire.ask(method as string, given as Message);
    }
    return answers;
  }
  const given = (params.inputResponses ?? {}) as Record<string, unknown>;
  const isAnswered = Object.keys(questions).every((key) => typeof given[key] === "object" && given[key] !== null);
  return isAnswered && (state === undefined || params.requestState === state) ? given : undefined;
}

const inputRequired = (inputRequests: Message, requestState?: string) => ({
  resultType: "input_required",
  inputRequests,
  ...requestState !== undefined && { requestState },
});

/** A tool that answers with what it was told. */
function asking(
  questions: Record<string, Message>,
  { state, say = "" }: { state?: string; say?: string } = {},
): Handler {
  return async (params) => {
    if (state !== undefined && params.requestState !== undefined && params.requestState !== state) {
      throw new RpcError(-32602, "requestState was tampered with");
    }
    const answers = await asked(questions, params, state);
    return answers ? text(`${say}${JSON.stringify(answers)}`) : inputRequired(questions, state);
  };
}

const name = form("What is your name?", { name: string }, ["name"]);
const roots = { method: "roots/list", params: {} };
const sampling = (question: string) => ({
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: question } }], maxTokens: 100 },
});
const choices = (titles: boolean) =>
  titles
    ? [{ const: "value1", title: "First" }, { const: "value2", title: "Second" }, { const: "value3", title: "Third" }]
    : ["option1", "option2", "option3"];

const log = (data: string, { meta }: { meta: Message }) => {
  if (!isModern || meta[`${META}logLevel`] !== undefined) notify("message", { level: "info", logger: "test", data });
};

interface Tool {
  readonly run: Handler;
  readonly properties?: Message;
  readonly more?: Message;
}

const tools: Record<string, Tool> = {
  test_simple_text: { run: () => text("This is a simple text response for testing.") },
  test_image_content: { run: () => ({ content: [image] }) },
  test_audio_content: { run: () => ({ content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] }) },
  test_embedded_resource: {
    run: () => ({
      content: [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
    }),
  },
  test_multiple_content_types: {
    run: () => ({
      content: [
        { type: "text", text: "Multiple content types test:" },
        image,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
      ],
    }),
  },
  test_tool_with_logging: {
    async run(_, context) {
      for (const step of ["started", "processing data", "completed"]) {
        log(`Tool execution ${step}`, context);
        await pause();
      }
      return text("done");
    },
  },
  test_logging_tool: { run: (_, context) => (log("logged", context), text("done")) },
  test_tool_with_progress: {
    async run(_, { meta: { progressToken } }) {
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined) notify("progress", { progressToken, progress, total: 100 });
        await pause();
      }
      return text("done");
    },
  },
  test_error_handling: {
    run: () => text("This tool intentionally returns an error for testing", { isError: true }),
  },
  test_sampling: {
    properties: { prompt: string },
    async run(params, context) {
      const { prompt } = params.arguments as Message;
      return await asking({ answer: sampling(String(prompt)) }, { say: "LLM response: " })(params, context);
    },
  },
  test_elicitation: {
    properties: { message: string },
    async run(params, context) {
      const { message } = params.arguments as Message;
      return await asking({ answer: form(String(message), { response: string }, ["response"]) })(params, context);
    },
  },
  test_elicitation_sep1034_defaults: {
    run: asking({
      answer: form("Please review", {
        name: { ...string, default: "John Doe" },
        age: { type: "integer", default: 30 },
        score: { type: "number", default: 95.5 },
        status: { ...string, enum: ["active", "inactive", "pending"], default: "active" },
        verified: { type: "boolean", default: true },
      }),
    }),
  },
  test_elicitation_sep1330_enums: {
    run: asking({
      answer: form("Please choose", {
        untitledSingle: { ...string, enum: choices(false) },
        titledSingle: { ...string, oneOf: choices(true) },
        legacyEnum: { ...string, enum: ["opt1", "opt2", "opt3"], enumNames: ["One", "Two", "Three"] },
        untitledMulti: { type: "array", items: { ...string, enum: choices(false) } },
        titledMulti: { type: "array", items: { anyOf: choices(true) } },
      }),
    }),
  },
  test_input_required_result_elicitation: {
    async run(params) {
      const answers = await asked({ user_name: name }, params);
      const { content } = (answers?.user_name ?? {}) as { content?: { name?: string } };
      return content?.name ? text(`Hello, ${content.name}!`) : inputRequired({ user_name: name });
    },
  },
  test_input_required_result_sampling: {
    run: asking({ capital_question: sampling("What is the capital of France?") }),
  },
  test_input_required_result_list_roots: { run: asking({ client_roots: roots }) },
  test_input_required_result_request_state: {
    run: asking({ confirm: form("Please confirm", { ok: { type: "boolean" } }, ["ok"]) }, {
      state: "state-1",
      say: "state-ok ",
    }),
  },
  test_input_required_result_tampered_state: { run: asking({ user_name: name }, { state: "sealed-1" }) },
  test_input_required_result_multiple_inputs: {
    run: asking({ user_name: name, greeting: sampling("Generate a greeting"), client_roots: roots }, { state: "all" }),
  },
  test_input_required_result_multi_round: {
    async run(params) {
      const [step1, step2] = [
        form("Step 1: What is your name?", { name: string }, ["name"]),
        form("Step 2: What is your favorite color?", { color: string }, ["color"]),
      ];
      if (await asked({ step2 }, params, "round-2")) return text("done");
      return await asked({ step1 }, params, "round-1")
        ? inputRequired({ step2 }, "round-2")
        : inputRequired({ step1 }, "round-1");
    },
  },
  test_input_required_result_capabilities: {
    run(params, { meta }) {
      const declared = (meta[`${META}clientCapabilities`] ?? {}) as Message;
      const questions = {
        ...declared.elicitation !== undefined && { user_name: name },
        ...declared.sampling !== undefined && { greeting: sampling("Generate a greeting") },
      };
      return params.inputResponses || Object.keys(questions).length === 0 ? text("done") : inputRequired(questions);
    },
  },
  test_missing_capability: {
    run(_, { meta }) {
      const declared = (meta[`${META}clientCapabilities`] ?? {}) as Message;
      if (declared.sampling !== undefined) return text("done");
      throw new RpcError(-32021, "Missing required client capability", { requiredCapabilities: { sampling: {} } });
    },
  },
  test_streaming_elicitation: {
    async run(params, context) {
      const { progressToken } = context.meta;
      if (progressToken !== undefined) notify("progress", { progressToken, progress: 1 });
      return await asking({ user_name: name })(params, context);
    },
  },
  test_trigger_tool_change: {
    run: () => {
      tools[`test_added_${Object.keys(tools).length}`] = { run: () => text("new") };
      tell("tools");
      return text("changed");
    },
  },
  test_trigger_prompt_change: {
    run: () => {
      prompts[`test_added_${Object.keys(prompts).length}`] = () => ({ messages: [] });
      tell("prompts");
      return text("changed");
    },
  },
  json_schema_2020_12_tool: {
    run: () => text("done"),
    more: {
      inputSchema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        $defs: { address: { type: "object", $anchor: "address", properties: { street: string, city: string } } },
        properties: { name: string, address: { $ref: "#/$defs/address" } },
        allOf: [{ anyOf: [{ required: ["name"] }, { required: ["address"] }] }],
        if: { properties: { name: { const: "x" } } },
        then: {},
        else: {},
        additionalProperties: false,
      },
    },
  },
};

const message = (content: Message) => ({ role: "user", content });
const prompts: Record<string, Handler> = {
  test_simple_prompt: () => ({ messages: [message({ type: "text", text: "This is a simple prompt for testing." })] }),
  test_prompt_with_arguments: ({ arguments: given }) => {
    const { arg1, arg2 } = given as Message;
    return { messages: [message({ type: "text", text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` })] };
  },
  test_prompt_with_embedded_resource: ({ arguments: given }) => ({
    messages: [
      message(embedded(String((given as Message).resourceUri), "text/plain", "Embedded resource content for testing.")),
      message({ type: "text", text: "Please process the embedded resource above." }),
    ],
  }),
  test_prompt_with_image: () => ({
    messages: [message(image), message({ type: "text", text: "Please analyze the image above." })],
  }),
  test_input_required_result_prompt: async (params) => {
    const user_context = form("What context should the prompt use?", { context: string }, ["context"]);
    const answers = await asked({ user_context }, params);
    return answers
      ? { messages: [message({ type: "text", text: JSON.stringify(answers) })] }
      : inputRequired({ user_context });
  },
};
const promptArguments: Record<string, string[]> = {
  test_prompt_with_arguments: ["arg1", "arg2"],
  test_prompt_with_embedded_resource: ["resourceUri"],
};

const resources: Record<string, Message> = {
  "test://static-text": { mimeType: "text/plain", text: "This is the content of the static text resource." },
  "test://static-binary": { mimeType: "image/png", blob: PNG },
  "test://watched-resource": { mimeType: "text/plain", text: "Watched resource content" },
};

/** Lets those know who listen; in the stateless protocol under the id of their request. */
const listening = new Map<unknown, Message>();
function tell(list: "tools" | "prompts"): void {
  if (!isModern) return notify(`${list}/list_changed`);
  for (const [id, filter] of listening) {
    if (filter[`${list}ListChanged`]) notify(`${list}/list_changed`, { _meta: { [`${META}subscriptionId`]: id } });
  }
}

const cacheable = isModern ? { ttlMs: 0, cacheScope: "private" } : {};
const complete = (result: unknown) => isModern ? { resultType: "complete", ...result as Message } : result;

function read({ uri }: Message): Message {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(String(uri))?.[1];
  const found = id === undefined
    ? resources[String(uri)]
    : { mimeType: "application/json", text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) };
  if (!found) throw new RpcError(isModern ? -32602 : -32002, `Resource not found: ${uri}`, { uri });
  return { contents: [{ uri, ...found }], ...cacheable };
}

await serve({
  ...isModern
    ? {
      "server/discover": () => discover(CAPABILITIES),
      "subscriptions/listen": (params: Message, { id }) => {
        listening.set(id, params.notifications as Message);
        const _meta = { [`${META}subscriptionId`]: id };
        notify("subscriptions/acknowledged", { notifications: params.notifications, _meta });
        return new Promise(() => {});
      },
    }
    : {
      initialize: (params: Message) => initialize(params, CAPABILITIES),
      ping: () => ({}),
      "logging/setLevel": () => ({}),
      "resources/subscribe": () => ({}),
      "resources/unsubscribe": () => ({}),
    },
  "tools/list": () =>
    complete({
      tools: Object.entries(tools).map(([tool, { properties = {}, more }]) => ({
        name: tool,
        description: `Tests ${tool.slice(5).replaceAll("_", " ")}`,
        inputSchema: { type: "object", properties },
        ...more,
      })),
      ...cacheable,
    }),
  "tools/call": async (params, context) => {
    const tool = tools[params.name as string];
    if (!tool) throw new RpcError(-32602, `Unknown tool: ${params.name}`);
    return complete(await tool.run({ arguments: {}, ...params }, context));
  },
  "resources/list": () =>
    complete({
      resources: Object.entries(resources).map(([uri, { mimeType }]) => ({ uri, name: uri.slice(7), mimeType })),
      ...cacheable,
    }),
  "resources/templates/list": () =>
    complete({
      resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template", mimeType: "application/json" }],
      ...cacheable,
    }),
  "resources/read": (params) => complete(read(params)),
  "prompts/list": () =>
    complete({
      prompts: Object.keys(prompts).map((prompt) => ({
        name: prompt,
        description: `Tests ${prompt}`,
        arguments: (promptArguments[prompt] ?? []).map((argument) => ({ name: argument, required: true })),
      })),
      ...cacheable,
    }),
  "prompts/get": async (params, context) => {
    const prompt = prompts[params.name as string];
    if (!prompt) throw new RpcError(-32602, `Unknown prompt: ${params.name}`);
    return complete(await prompt({ arguments: {}, ...params }, context));
  },
  "completion/complete": () => complete({ completion: { values: ["paris"], total: 1, hasMore: false } }),
});
