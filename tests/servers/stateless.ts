// A server of the stateless protocol that misbehaves in the way its first argument names.
import { discover, type Message, serve, text, wire } from "./wire.ts";

const mode = Deno.args[0];
const form = (message: string) => ({
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties: { a: { type: "string" } } } },
});
const inputRequired = (inputRequests: Message, requestState?: string) => ({
  resultType: "input_required",
  inputRequests,
  ...requestState !== undefined && { requestState },
});
let lists = 0;
let round = 0;

const acts: Record<string, (params: Message) => unknown> = {
  "asks for ever": () => inputRequired({ q: form(`round ${++round}`) }),
  "huge state": () => inputRequired({ q: form("remember") }, "x".repeat(1_000_000)),
  "says its state": (params) =>
    params.requestState
      ? { resultType: "complete", ...text(`state ${params.requestState}`) }
      : inputRequired({ q: form("remember") }, `state of ${JSON.stringify(params.arguments)}`),
  "undeclared": () =>
    inputRequired({ q: { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } } }),
  "large": () =>
    inputRequired(
      { q: { method: "sampling/createMessage", params: { messages: [], pad: "x".repeat(1_200_000) } } },
      "raw",
    ),
  "unheard of": () => inputRequired({ q: { method: "files/delete", params: {} } }),
  "no type": () => text("who am I"),
  "banana": () => text("yellow", { resultType: "banana" }),
  "floods": () => {
    for (let i = 0; i < 5_000; i++) wire.send({ method: "notifications/tools/list_changed", params: subscription });
    return { resultType: "complete", ...text("flooded") };
  },
  "lists": () => ({ resultType: "complete", ...text(String(lists)) }),
};

let subscription: Message = {};
await serve({
  "server/discover": () => discover(),
  "subscriptions/listen": (params: Message, { id }) => {
    subscription = { _meta: { "io.modelcontextprotocol/subscriptionId": id } };
    const said = { notifications: params.notifications, ...subscription };
    wire.send({ method: "notifications/subscriptions/acknowledged", params: said });
    return new Promise(() => {});
  },
  "tools/list": () => {
    lists++;
    const tools = ["act", "lists"].map((name) => ({ name, description: name, inputSchema: { type: "object" } }));
    return { tools, resultType: "complete", ttlMs: 0, cacheScope: "private" };
  },
  "tools/call": (params) => acts[params.name === "lists" ? "lists" : mode!]!(params),
});
