// Two engines forced onto one home: one wins, and nothing that either acknowledged is lost.
import type { RawClient } from "../../fixtures/client.ts";
import { sleep } from "../../fixtures/gateway.ts";
import type { Random } from "../../model/random.ts";
import { type FaultHome, faultHome } from "./home.ts";
import { copyFolder, filledFolder } from "./images.ts";
import { judge } from "./judge.ts";
import { type Kind, line, PATIENCE_MS } from "./kind.ts";
import { ask, connect, createLedger, keepBusy, type Ledger, untilWorking } from "./ledger.ts";
import { isEngine, killAll, processesUnder, whyNoProcesses } from "./processes.ts";
import { type Way, WAYS } from "./engine_ways.ts";

export const engines: Kind = {
  limitMs: 150_000,
  missing: whyNoProcesses,
  async prepare(root) {
    const plain = faultHome(root);
    const told = await filledFolder(plain);
    const long = faultHome(root, { dir: `${root}/${"x".repeat(110)}` });
    return async ({ number, random, isHarmless }) => {
      const way = WAYS[number % WAYS.length]!;
      const home = way.isLong ? long : plain;
      await copyFolder(home);
      try {
        const ledger = createLedger(told);
        const violations = await tryWay(home, { way: isHarmless ? { name: way.name } : way, random, ledger });
        return { scene: way.name, violations, counts: { acknowledged: ledger.told.size } };
      } finally {
        await killAll(root);
        for (const left of [`${root}/moved`, `${root}/link`, home.dir]) {
          await Deno.remove(left, { recursive: true }).catch(() => {});
        }
      }
    };
  },
};

interface Forced {
  readonly way: Way;
  readonly random: Random;
  readonly ledger: Ledger;
}

async function tryWay(home: FaultHome, { way, random, ledger }: Forced): Promise<string[]> {
  const wrong: string[] = [];
  let isOver = false;
  const clients: RawClient[] = [];
  const loops: Promise<void>[] = [];
  const open = async (prefix: string, env?: Record<string, string>, own = ledger) => {
    const client = await connect(home, env);
    clients.push(client);
    loops.push(keepBusy(client, { ledger: own, random, prefix, isOver: () => isOver }));
    return client;
  };
  const stage = { home, ledger, open };
  try {
    if (!way.isFirst) {
      await open("u");
      await untilWorking(ledger);
    }
    await sleep(300 + random.below(700));
    const env = await way.force?.(stage) ?? {};
    const began = performance.now();
    const second = await open("v", env);
    const took = performance.now() - began;
    if (took > PATIENCE_MS) wrong.push(`the second client waited ${Math.round(took)} ms for its handshake`);
    const reply = await ask(second, "call_tool", { tool: "kit:echo", arguments: { text: "second" } });
    if (reply.kind === "late") wrong.push(`the second client: ${reply.text}`);
    if (reply.kind === "refused" && !way.mayRefuse) wrong.push(`the second client: ${line(reply.text)}`);
    await sleep(1_000 + random.below(1_500));
    await way.after?.(stage);
    await sleep(500 + random.below(500));
    wrong.push(...await oneEngine(home));
    isOver = true;
  } catch (error) {
    wrong.push(`no handshake: ${line((error as Error).message)}`);
  } finally {
    isOver = true;
    await killAll(home.root);
    await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
    await Promise.all(loops);
  }
  return [...wrong, ...await judge(home, ledger)];
}

/** The number of engines that are left once the loser had the time to notice. */
async function oneEngine({ root }: FaultHome): Promise<string[]> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = processesUnder(root).filter(isEngine);
    if (found.length <= 1) return [];
    if (performance.now() > deadline) return [`${found.length} engines run ${PATIENCE_MS / 1000} s later`];
    await sleep(100);
  }
}
