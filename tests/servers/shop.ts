// A little shop: customers have orders, orders have a product. With --log=FILE every call leaves a line, so that a test
// can tell what was really called; --delay=MS is how long reading takes.
import { type Handler, initialize, type Message, serve, text } from "./wire.ts";

const option = (name: string) => Deno.args.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
const log = option("log");
const delay = Number(option("delay") ?? "30");
/** With --typed the tool that tells about an order says what it gives. */
const isTyped = Deno.args.includes("--typed");
/** With --open its tools say that they reach out into the world. */
const isOpen = Deno.args.includes("--open");
const statuses = new Map<string, string>();

const ids = (customer: string) => [1, 2, 3].map((n) => `W-${customer}-${n}`);
const order = (id: string) => ({
  order_id: id,
  product_id: `P-${id.slice(2)}`,
  status: statuses.get(id) ?? "open",
});

const READS: Readonly<Record<string, (given: Message) => unknown>> = {
  list_orders: ({ customer }) => ({ orders: ids(String(customer)).map((order_id) => ({ order_id })) }),
  get_order: ({ order_id }) => order(String(order_id)),
  get_report: ({ filter }) => ({ filter }),
  get_product: ({ product_id }) => ({ product_id, name: `Thing ${String(product_id)}` }),
};

const call: Handler = async ({ name, arguments: given = {} }) => {
  const args = given as Message;
  if (log) await Deno.writeTextFile(log, `${name} ${JSON.stringify(args)}\n`, { append: true });
  const read = READS[String(name)];
  if (read) {
    await new Promise((resolve) => setTimeout(resolve, delay));
    const value = read(args);
    return text(JSON.stringify(value), { structuredContent: value });
  }
  if (args.status === "impossible") return text("there is no such status", { isError: true });
  statuses.set(String(args.order_id), String(args.status));
  return text("updated");
};

const tool = (name: string, description: string, fields: readonly string[]) => ({
  name,
  description,
  inputSchema: {
    type: "object",
    properties: Object.fromEntries(fields.map((field) => [field, { type: "string" }])),
    required: fields,
  },
  ...isOpen && { annotations: { readOnlyHint: name !== "update_order", openWorldHint: true } },
});

const outputs = (fields: readonly string[]) => ({
  type: "object",
  properties: Object.fromEntries(fields.map((field) => [field, { type: "string" }])),
});

await serve({
  initialize: (params) => initialize(params, { tools: {} }),
  "tools/list": () => ({
    tools: [
      tool("list_orders", "Lists the orders of a customer", ["customer"]),
      {
        ...tool("get_order", "Tells the details of an order", ["order_id"]),
        ...isTyped && { outputSchema: outputs(["order_id", "product_id", "status"]) },
      },
      tool("get_product", "Tells the details of a product", ["product_id"]),
      tool("get_report", "Tells what a filter finds", ["filter"]),
      tool("update_order", "Changes the status of an order", ["order_id", "status"]),
    ],
  }),
  "tools/call": call,
});
