// A fault that lasts for a while and then ends: a full disk, I/O errors, a database that hangs. Everything that needs no
// database goes on meanwhile, everything goes on afterwards.
import type { RawClient } from "../../fixtures/client.ts";
import { sleep } from "../../fixtures/gateway.ts";
import type { Random } from "../../model/random.ts";
import { type FaultHome, type Outcome, wordsOf } from "./home.ts";
import { judge, tryWorkflow } from "./judge.ts";
import { few, line, PATIENCE_MS, type TrialResult } from "./kind.ts";
import { ask, connectWell, keepBusy, type Ledger, type Reply, untilWorking } from "./ledger.ts";
import { killAll } from "./processes.ts";

const RECOVERED_MS = 60_000;

export interface Lasting {
  readonly ledger: Ledger;
  readonly random: Random;
  /** The fault begins before the engine starts. */
  readonly isEarly: boolean;
  /** There may be no room for the folders of a new home: then the refusal of a client names the reason, in time. */
  readonly mayRefuse?: boolean;
  /** Begins the fault and returns the function that ends it. */
  begin(): Promise<() => void | Promise<void>>;
}

export async function endure(home: FaultHome, lasting: Lasting): Promise<Omit<TrialResult, "scene">> {
  const { ledger, random, isEarly, mayRefuse = false, begin } = lasting;
  let isOver = false;
  const early = isEarly ? await begin() : undefined;
  const violations: string[] = [];
  let end = early;
  const began = performance.now();
  try {
    const client = await connectWell(home);
    try {
      const busy = keepBusy(client, { ledger, random, prefix: "u", isOver: () => isOver });
      if (!isEarly) {
        await ask(client, "call_tool", { tool: "kit:echo", arguments: { text: "before" } });
        // The next process for code is started now: a disk that hangs would keep it from starting.
        await ask(client, "execute_code", { code: "return 1" });
        await untilWorking(ledger);
      }
      await sleep(random.below(1_500));
      end ??= await begin();
      await sleep(random.below(1_500));
      violations.push(...await probe(home, client));
      await end();
      const missing = await recovered(home, client);
      isOver = true;
      if (missing) {
        violations.push(missing);
        // Acknowledged runs must be there all the same, after the restart that a person would make.
        await killAll(home.root);
      }
      await busy;
    } finally {
      isOver = true;
      await client[Symbol.asyncDispose]();
    }
  } catch (error) {
    const { message } = error as Error;
    const isTold = mayRefuse && /no space left/i.test(message) && performance.now() - began < PATIENCE_MS;
    if (!isTold) violations.push(`during the fault: ${line(message)}`);
  } finally {
    await end?.();
  }
  if (ledger.late.length > 0) violations.push(`${ledger.late.length} times ${ledger.late[0]} during the fault`);
  violations.push(...await judge(home, ledger, { mayRest: true }));
  const stopped = await home.command(["engine", "stop"]);
  if (stopped.code !== 0) violations.push(`engine stop: ${line(wordsOf(stopped))}`);
  return { violations, counts: { acknowledged: ledger.told.size } };
}

/** Everything that a person or an agent does while the fault lasts, all at once. */
async function probe(home: FaultHome, client: RawClient): Promise<string[]> {
  const call = (tool: string, args: Record<string, unknown>) => ask(client, "call_tool", { tool, arguments: args });
  const [direct, unused, large, search, code, window, workflow, runs] = await Promise.all([
    call("kit:echo", { text: "direct" }),
    call("other:echo", { text: "unused" }),
    call("kit:big", { characters: 200_000 }),
    ask(client, "search_tools", { query: "send something away" }),
    ask(client, "execute_code", { code: "return 6 * 7" }),
    newWindow(home),
    tryWorkflow(client),
    home.command(["runs"]),
  ]);
  const status = await home.command(["status"]);
  return [
    ...works("a direct call", direct),
    ...works("a call of a server that was not used before", unused),
    ...works("a call with a large answer", large),
    ...works("search", search),
    // Code needs a folder of its own; without room for it the reason must be named.
    ...code.kind === "refused" && /no space|no room/i.test(code.text) ? [] : works("code", code),
    ...works("a call in a new window", window),
    ...inTime("status", status),
    ...inTime("runs", runs),
    ...workflow.kind === "late" ? [`a workflow: ${workflow.text}`] : [],
    ...workflow.kind === "refused" && isMurky(workflow.text) ? [`a workflow: ${line(workflow.text)}`] : [],
    ...!workflow.isDone && status.code === 0 ? ["workflows do not work, and status says that all is well"] : [],
  ].map((text) => `during the fault: ${text}`);
}

function works(name: string, reply: Reply): string[] {
  return reply.kind === "answer" ? [] : [`${name}: ${line(reply.text)}`];
}

function inTime(name: string, outcome: Outcome): string[] {
  return outcome.code === undefined ? [`${name}: ${wordsOf(outcome)}`] : [];
}

/** Text that tells a person nothing. */
export function isMurky(text: string): boolean {
  return /\[object Object\]|Aborted\(\)|RuntimeError|unreachable/.test(text);
}

async function newWindow(home: FaultHome): Promise<Reply> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => timer = setTimeout(() => resolve(undefined), PATIENCE_MS));
  const connecting = connectWell(home);
  connecting.catch(() => {});
  try {
    const client = await Promise.race([connecting, late]);
    if (!client) {
      void connecting.then((one) => one[Symbol.asyncDispose](), () => {});
      return { kind: "late", text: `no handshake within ${PATIENCE_MS / 1000} s` };
    }
    const reply = await ask(client, "call_tool", { tool: "kit:echo", arguments: { text: "window" } });
    await client[Symbol.asyncDispose]();
    return reply;
  } catch (error) {
    return { kind: "refused", text: String((error as Error).message) };
  } finally {
    clearTimeout(timer);
  }
}

/** Waits until everything works again, without a restart by hand; returns what does not. */
async function recovered(home: FaultHome, client: RawClient): Promise<string | undefined> {
  const deadline = performance.now() + RECOVERED_MS;
  for (;;) {
    const [workflow, search, status] = await Promise.all([
      tryWorkflow(client),
      ask(client, "search_tools", { query: "send something away" }),
      home.command(["status"]),
    ]);
    const wrong = [
      ...workflow.isDone ? [] : [`a workflow: ${line(workflow.text)}`],
      ...works("search", search),
      ...status.code === 0 ? [] : [`status: ${line(wordsOf(status).slice(-300), 300)}`],
    ];
    if (wrong.length === 0) return undefined;
    if (performance.now() > deadline) return `${RECOVERED_MS / 1000} s after the fault: ${few(wrong)}`;
    await sleep(500);
  }
}
