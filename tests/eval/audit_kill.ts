// Engines that are killed under load: every call that was acknowledged has its row, and the chain is whole.
import { readRows, verifyAudit } from "../../src/policy/mod.ts";
import { connectClient, type RawClient } from "../fixtures/client.ts";
import { createTestHome, endProcess, sleep, testServer } from "../fixtures/gateway.ts";
import type { Random } from "../model/random.ts";

const AT_ONCE = 8;
const LONGEST_LOAD_MS = 400;
const PATIENCE_MS = 30_000;

/** Calls an acting tool without a pause, kills the engine at random moments, and compares the answers with the rows. */
export async function killUnderLoad(kills: number, random: Random) {
  await using home = await createTestHome({
    servers: { kit: { ...testServer("kit"), shared: true } },
    policy: { effects: { "kit:echo": "effectful" }, allow: ["kit:*"] },
    audit: { content: "full" },
  });
  const acknowledged: string[] = [];
  await using client = await connectClient(home);
  for (let kill = 0; kill < kills; kill++) {
    await answering(client, `up-${kill}`);
    let isOver = false;
    const load = Array.from({ length: AT_ONCE }, async (_, worker) => {
      for (let i = 0; !isOver; i++) {
        const text = `call-${kill}-${worker}-${i}.`;
        const result = await client.use("kit:echo", { text }).catch(() => undefined);
        if (result && result.isError !== true) acknowledged.push(text);
      }
    });
    await sleep(random.below(LONGEST_LOAD_MS));
    await endProcess((await home.enginePid())!, "SIGKILL");
    isOver = true;
    await Promise.all(load);
  }
  await answering(client, "last");
  await home.run(["engine", "stop"]);
  const folder = `${home.dir}/audit`;
  const recorded = new Set<string>();
  for (const { kind, values, outcome } of readRows(folder)) {
    if (kind === "call" && outcome === "ok") recorded.add(JSON.parse(String(values)).text);
  }
  const lost = acknowledged.filter((text) => !recorded.has(text));
  return { kills, acknowledged: acknowledged.length, lost: lost.length, findings: verifyAudit(folder).findings.length };
}

/** Waits until an engine answers again. */
async function answering(client: RawClient, text: string): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  while (performance.now() < until) {
    const result = await client.use("kit:echo", { text }).catch(() => undefined);
    if (result && result.isError !== true) return;
    await sleep(20);
  }
  throw new Error("no engine answers");
}
