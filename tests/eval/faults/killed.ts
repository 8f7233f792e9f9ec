// Processes killed in every combination: no other process outlives them.
import { fileURLToPath } from "node:url";
import { PROGRAM, sleep, testServer } from "../../fixtures/gateway.ts";
import { within } from "../../../src/model/time.ts";
import { type FaultHome, faultHome, makeHome, wordsOf } from "./home.ts";
import { copyFolder } from "./images.ts";
import { few, type Kind, line, PATIENCE_MS, pick } from "./kind.ts";
import {
  isEngine,
  isReaper,
  isServe,
  isStill,
  killAll,
  type Process,
  processesUnder,
  signal,
  whyNoProcesses,
} from "./processes.ts";

const READY_MS = 30_000;
const CLIENT = fileURLToPath(new URL("./client_process.ts", import.meta.url));
const STUBBORN = testServer("stubborn");
/** A launcher as npx is one: a shell that starts a program that starts another. */
const SERVERS = {
  stubborn: { command: "sh", args: ["-c", `${[STUBBORN.command, ...STUBBORN.args].join(" ")}; true`] },
};

const isClient = ({ command }: Process) => command.includes(CLIENT);
const ROLES: Readonly<Record<string, (one: Process) => boolean>> = {
  engine: isEngine,
  reaper: isReaper,
  serve: isServe,
  client: isClient,
};
const GAPS_MS = [0, 0, 20, 500, 2_000];

export const killed: Kind = {
  limitMs: 120_000,
  missing: whyNoProcesses,
  async prepare(root) {
    const home = faultHome(root);
    await makeHome(home, SERVERS);
    await Deno.rename(home.dir, `${root}/template`);
    return async ({ number, random, isHarmless }) => {
      // Every one of the 15 combinations in turn, each in a drawn order.
      const bits = 1 + number % 15;
      const chosen = Object.keys(ROLES).filter((_, i) => bits & (1 << i));
      const order = chosen.toSorted(() => random.below(2) - 0.5);
      const gaps = order.map(() => pick(random, GAPS_MS));
      await copyFolder(home);
      try {
        const violations = await tryKill(home, { order: isHarmless ? [] : order, gaps });
        return { scene: chosen.join(" + "), violations };
      } finally {
        await killAll(root);
      }
    };
  },
};

async function tryKill(home: FaultHome, { order, gaps }: { order: readonly string[]; gaps: readonly number[] }) {
  await using client = await startClient(home);
  const before = processesUnder(home.root);
  for (const [role, isOne] of Object.entries(ROLES)) {
    if (!before.some(isOne)) throw new Error(`there is no ${role}: ${before.map(({ command }) => command).join("; ")}`);
  }
  for (const [i, role] of order.entries()) {
    await sleep(gaps[i]!);
    for (const { pid } of before.filter(ROLES[role]!)) signal(pid, "SIGKILL");
  }
  const wrong: string[] = [];
  if (order.includes("engine")) {
    // All that the engine had started goes with it; clients that were not killed may start another one.
    const others = before.filter((one) => !isServe(one) && !isClient(one));
    wrong.push(...await left("after the kills", () => others.filter(isStill)));
  } else if (order.includes("client") || order.includes("serve")) {
    const servers = before.filter(({ command }) => /servers\/(kit|stubborn)\.ts|^sleep 1000$/.test(command));
    wrong.push(...await left("after the kills", () => servers.filter(isStill)));
  }
  client.leave();
  wrong.push(...await stopEngines(home));
  wrong.push(...await left("at the end", () => processesUnder(home.root)));
  return wrong.map((text) => `${order.map((role, i) => `${gaps[i]} ms, ${role}`).join(", ")}: ${text}`);
}

/** Stops the engine; one that `serve` was just starting when it ended comes up after it, and is stopped then. */
async function stopEngines(home: FaultHome): Promise<string[]> {
  const deadline = performance.now() + PATIENCE_MS;
  let failed: string[] = [];
  while (processesUnder(home.root).length > 0 && performance.now() < deadline) {
    if (processesUnder(home.root).some(isEngine)) {
      const stopped = await home.command(["engine", "stop"]);
      failed = stopped.code === 0 ? [] : [`engine stop: ${line(wordsOf(stopped))}`];
    }
    await sleep(100);
  }
  return failed;
}

/** Waits for the end of processes; those that do not end are violations. */
async function left(when: string, find: () => Process[]): Promise<string[]> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = find();
    if (found.length === 0) return [];
    if (performance.now() > deadline) {
      const shown = found.map(({ command }) => line(command.replace(PROGRAM[0]!, "deno").slice(-60)));
      return [`${found.length} processes are left 10 s ${when}: ${few(shown)}`];
    }
    await sleep(100);
  }
}

/** A client in a process of its own, with stubborn servers in use and code that never ends. */
async function startClient(home: FaultHome): Promise<AsyncDisposable & { leave(): void }> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--cached-only", CLIENT, home.dir, home.work],
    env: home.env,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.getReader();
  await within(reader.read(), READY_MS, "the client does not come up");
  return {
    leave: () => signal(child.pid, "SIGKILL"),
    async [Symbol.asyncDispose]() {
      signal(child.pid, "SIGKILL");
      await reader.cancel();
      await child.status;
    },
  };
}
