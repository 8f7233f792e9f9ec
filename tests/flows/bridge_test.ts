// A cage that says whatever it likes: nothing it says may crash or hang its parent, or call what policy refuses.
import assert from "node:assert/strict";
import { ensureHome, locateHome } from "../../src/config/home.ts";
import { callsAs } from "../../src/code/run_code.ts";
import { createGateway } from "../../src/engine/gateway.ts";
import { nobody } from "../../src/model/call.ts";
import { within } from "../../src/model/time.ts";
import { type CageTools, runInProcess } from "../../src/sandbox/cage.ts";
import type { CageListener, CageProcess } from "../../src/sandbox/cage_process.ts";
import { CAGE_LIMITS } from "../../src/sandbox/limits.ts";
import { createTestHome, testServer } from "../fixtures/gateway.ts";
import { type Random, seeded } from "../model/random.ts";

const FRAMES = 50_000;
const FORBIDDEN = [
  "kit:write",
  "write",
  "kit:append",
  "kit:write ",
  "Kit:write",
  "kit:write\\u0000",
  "other:write",
  "nobody:x",
  "agentcards:x",
  "",
  ":",
  "__proto__",
];

/** A process that is none: what it says is drawn, in lines and in pieces of lines. */
function liar(random: Random, onFrames: (count: number) => void): CageProcess {
  const gone = Promise.withResolvers<Deno.CommandStatus>();
  const encoder = new TextEncoder();
  let listener: CageListener | undefined;
  let nonce = "";
  let id = 0;
  const pick = <T>(list: readonly T[]): T => list[random.below(list.length)]!;
  const draw = (): string => {
    const args = pick([{ text: "hello" }, { file: "forbidden" }, [], null, "x", { __proto__: 1 }]);
    const call = {
      n: nonce,
      t: pick(["call", "call", "call", "result"]),
      id: ++id,
      what: pick(["kit:echo", "kit:add", ...FORBIDDEN]),
      last: JSON.stringify(args),
    };
    // A lie ends its run, so that most of what is said has to be true.
    if (random.below(12) > 0) return JSON.stringify(call);
    return pick<() => string>([
      () => JSON.stringify({ n: nonce, t: "log", level: "info", text: random.text("abc", 30) }),
      () => (id--, JSON.stringify({ ...call, id: pick([0, id, id + 2, -1, 1e300, "1", null]) })),
      () => (id--, JSON.stringify({ ...call, n: crypto.randomUUID() })),
      () => (id--, JSON.stringify({ ...call, last: random.text('{}[]",:01\\\\', 30) })),
      () => (id--, JSON.stringify({ n: nonce, t: "value", last: random.text('{}[]"1', 8) })),
      () => (id--, JSON.stringify({ n: nonce, t: "error", error: pick([null, [], { type: {}, message: [] }]) })),
      () => (id--, random.text('{}[]"n:t,call\\\\u0000', 60)),
      () => (id--, JSON.stringify({ ...call, part: "x".repeat(random.below(300_000)), last: undefined })),
      () => (id--, "x".repeat(random.below(20) === 0 ? 2_100_000 : random.below(10_000))),
    ])();
  };
  const talk = async () => {
    for (let i = 0; i < 200; i++) {
      const lines = Array.from({ length: 1 + random.below(10) }, draw);
      onFrames(lines.length);
      const bytes = encoder.encode(lines.join("\n") + (random.below(5) === 0 ? "" : "\n"));
      const middle = random.below(bytes.length);
      for (const chunk of [bytes.slice(0, middle), bytes.slice(middle)]) if (!listener!.out(chunk)) return;
      if (random.below(3) === 0 && !listener!.err(encoder.encode(random.text("ab\n", 50)))) return;
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  };
  return {
    pid: 2 ** 30,
    exited: gone.promise,
    isGone: () => false,
    silent: Promise.resolve(),
    send(frame) {
      if (!nonce) nonce = (frame as { nonce: string }).nonce;
      return Promise.resolve();
    },
    listen(heard) {
      listener = heard;
      talk().finally(() => gone.resolve({ success: true, code: 0, signal: null }));
    },
    kill: () => gone.resolve({ success: false, code: 137, signal: "SIGKILL" }),
  };
}

Deno.test("fifty thousand frames of a cage that lies: no crash, no hang, no call that policy would have refused", async () => {
  await using test = await createTestHome({
    servers: { kit: testServer("kit"), other: testServer("kit") },
    policy: { deny: ["*:write"], approve: ["kit:append"] },
  });
  const home = locateHome({ AGENTCARDS_HOME: test.dir });
  await ensureHome(home);
  await using gateway = await createGateway(home, { logToStderr: false });
  const session = await gateway.openSession({ cwd: test.dir, env: Deno.env.toObject() });
  // Up before it begins: what is fuzzed is the bridge, not how long a server takes to start on a busy machine.
  for (const name of ["kit", "other"]) await session.server(name).catalogue();
  const reached: string[] = [];
  const asked = new Set<string>();
  const request = session.server("kit").request;
  Object.assign(session.server("kit"), {
    request: (method: string, params: Record<string, unknown>, options: Parameters<typeof request>[2]) => {
      if (method === "tools/call") reached.push(String(params.name));
      return request(method, params, options);
    },
  });
  const call = callsAs(session, nobody(new AbortController().signal), () => () => {});
  const tools: CageTools = {
    call: (name, args, how) => (asked.add(name), call(name, args as never, how)),
    result: () => Promise.reject(new Error("there is none")),
  };
  const random = seeded(23);
  let [frames, runs] = [0, 0];
  while (frames < FRAMES) {
    const job = {
      request: { code: "", context: {}, deps: {}, servers: {} },
      tools,
      limits: { ...CAGE_LIMITS, wallMs: 20_000 },
      signal: new AbortController().signal,
    };
    const outcome = await within(runInProcess(liar(random, (more) => frames += more), job), 30_000, "a run hangs");
    assert.ok(!outcome.result.ok || outcome.result.value !== undefined);
    runs++;
  }
  assert.deepEqual([...new Set(reached)].sort(), ["add", "echo"], "only what policy lets through was called");
  assert.ok(reached.length > 500 && runs > 100, `${reached.length} calls in ${runs} runs`);
  assert.ok(FORBIDDEN.slice(0, 4).every((name) => asked.has(name)), "the others were asked for");
});
