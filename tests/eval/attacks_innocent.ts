// The session that is measured, in a Worker: what the attacker's client does must not make it late.
import { connectClient, type RawClient, textOf } from "../fixtures/client.ts";
import { sleep, type TestHome } from "../fixtures/gateway.ts";

export type Order = { readonly dir: string; readonly env: Record<string, string> } | "measure" | "stop";
export type Report = "ready" | { readonly times: readonly number[] } | { readonly error: string };

const port = self as unknown as {
  onmessage: (event: MessageEvent<Order>) => void;
  postMessage(report: Report): void;
};

let client: Promise<RawClient>;
let measuring: Promise<number[]>;
let isOver = false;

/** The database and the model are opened with their first use; that is no attack. */
async function warmUp(client: RawClient): Promise<RawClient> {
  await client.call("search_tools", { query: "say it back", server: "good" });
  await client.call("run_workflow", { tasks: [{ id: "a", tool: "good:echo", arguments: { text: "warm" } }] });
  for (let i = 0; i < 100; i++) await client.use("good:echo", { text: "warm" });
  await sleep(1_000);
  return client;
}

async function measure(client: RawClient): Promise<number[]> {
  const times: number[] = [];
  for (; !isOver; await sleep(5)) {
    const began = performance.now();
    const answer = textOf(await client.use("good:echo", { text: "hello" }));
    if (answer !== "good: hello") throw new Error(`the innocent server's answer was ${answer}`);
    times.push(performance.now() - began);
  }
  return times;
}

async function follow(order: Order): Promise<void> {
  if (order === "measure") {
    measuring = client.then(measure);
    measuring.catch(() => {});
  } else if (order === "stop") {
    isOver = true;
    const times = await measuring;
    await (await client)[Symbol.asyncDispose]();
    port.postMessage({ times });
  } else {
    await (client = connectClient(order as TestHome).then(warmUp));
    port.postMessage("ready");
  }
}

port.onmessage = ({ data }) => void follow(data).catch((error) => port.postMessage({ error: String(error) }));
