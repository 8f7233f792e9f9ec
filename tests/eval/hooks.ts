// Events of hooks at a steady rate: how long the client waits for each answer, and how many events become rows. Rounds:
// with an engine, with one that hangs (stopped by a signal) and with none that could be started.
import { locateHome } from "../../src/config/home.ts";
import { askEngine } from "../../src/control/mod.ts";
import { HOOK_TOOL } from "../../src/model/client/hook.ts";
import { connectClient, type RawClient } from "../fixtures/client.ts";
import { createTestHome, endProcess, PROGRAM, sleep, type TestHome, until } from "../fixtures/gateway.ts";
import type { Evaluation } from "./main.ts";

/** What a turn of a client reports: a prompt, tools before and after their use, its end. */
const TURN = ["UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUse", "PostToolUseFailure", "Stop"];
const TEXT = "x".repeat(2_000);
const GONE_WITHIN_MS = 60_000;

export const evaluation: Evaluation = {
  options: { events: { type: "string", default: "10000" }, rate: { type: "string", default: "200" } },
  async run({ events, rate }) {
    await using home = await createTestHome({});
    const user = `${home.dir}/user`;
    const { code, stderr } = await home.run(["hook", "install"], { env: { HOME: user, CLAUDE_CONFIG_DIR: "" } });
    if (code !== 0) throw new Error(stderr);
    const key = /"key": "(\w+)"/.exec(await Deno.readTextFile(`${user}/.claude/settings.json`))![1]!;
    const [count, each] = [Number(events), Number(rate)];
    const few = Math.max(60, Math.ceil(count / 10));

    await using client = await connectClient(home);
    const engine = await waits(client, { key, count, rate: each });
    const kept = async () => (await askHooks(home)).figures.total;
    await until("every event is a row", async () => await kept() >= engine.told, GONE_WITHIN_MS).catch(() => {});
    const first = await kept();

    const pid = (await home.enginePid())!;
    Deno.kill(pid, "SIGSTOP");
    const hung = await waits(client, { key, count: few, rate: each });
    await endProcess(pid, "SIGKILL");
    await until("the hung ones are rows", async () => await kept() >= first + hung.told, GONE_WITHIN_MS).catch(
      () => {},
    );
    const second = await kept();

    await client.close();
    await endProcess((await home.enginePid())!, "SIGKILL");
    await using alone = await connectClient({ ...home, env: { ...home.env, AGENTCARDS_SYSTEM_PATH: "/nowhere" } }, {
      handshake: false,
    });
    const none = await waits(alone, { key, count: few, rate: each });
    await alone.close();
    await until("the spooled ones are rows", async () => await kept() >= second + none.told, GONE_WITHIN_MS)
      .catch(() => {});
    const last = await kept();
    return {
      events: engine.told + hung.told + none.told,
      lost: engine.told + hung.told + none.told - last,
      engine: { n: count, told: engine.told, rows: first, ...engine.ms },
      hung: { n: few, told: hung.told, rows: second - first, ...hung.ms },
      none: { n: few, told: none.told, rows: last - second, ...none.ms },
    };
  },
};

interface Load {
  readonly key: string;
  readonly count: number;
  readonly rate: number;
}

/** Sends events at a rate, whatever becomes of those before, and measures each answer. */
async function waits(client: RawClient, { key, count, rate }: Load) {
  const times: number[] = [];
  const open: Promise<void>[] = [];
  const began = performance.now();
  for (let i = 0; i < count; i++) {
    const due = began + i * 1_000 / rate;
    if (due > performance.now()) await sleep(due - performance.now());
    const event = TURN[i % TURN.length]!;
    const arguments_ = { key, client: "claude-code", event, session: "s", tool: "Bash", prompt: TEXT, input: TEXT };
    const sent = performance.now();
    open.push(
      client.request("tools/call", { name: HOOK_TOOL, arguments: arguments_ })
        .then(() => void times.push(performance.now() - sent)),
    );
  }
  await Promise.all(open);
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)]! * 100) / 100;
  const told = Array.from({ length: count }, (_, i) => TURN[i % TURN.length]).filter((one) => one !== "PreToolUse");
  return { told: told.length, ms: { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) } };
}

async function askHooks(home: TestHome) {
  const place = { home: locateHome(home.env), cwd: home.dir, env: home.env, program: PROGRAM };
  return await askEngine(place, { method: "hooks", params: { limit: 1 } });
}
