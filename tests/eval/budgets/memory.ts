// The resident memory of an engine that has searched, called and run a workflow, with and without the model.
import { connectClient } from "../../fixtures/client.ts";
import { createTestHome, sleep, testServer } from "../../fixtures/gateway.ts";
import { endHome, rssMb } from "../startup.ts";
import type { Figure } from "./figure.ts";

const BOUNDS = { full: 200, minimal: 50 } as const;

export async function memoryByProfile(restMs: number): Promise<Figure[]> {
  return [await memoryOf("full", restMs), await memoryOf("minimal", restMs)];
}

async function memoryOf(profile: keyof typeof BOUNDS, restMs: number): Promise<Figure> {
  const home = await createTestHome({ profile, servers: { shop: testServer("shop") } }, {
    isNew: true,
    hasModel: profile === "full",
  });
  try {
    await home.run(["index"]);
    await using client = await connectClient(home);
    await client.call("search_tools", { query: "the orders of a customer" });
    await client.use("shop:list_orders", { customer: "ann" });
    const tasks = [{ id: "a", tool: "shop:list_orders", arguments: { customer: "ben" } }];
    await client.call("run_workflow", { tasks });
    const pid = (await home.enginePid())!;
    const after = await rssMb(pid);
    await sleep(restMs);
    const measured = await rssMb(pid);
    const note = `${after} right after the work`;
    return { name: `engine, profile ${profile}`, measured, bound: BOUNDS[profile], unit: "MB", note };
  } finally {
    await endHome(home);
  }
}
