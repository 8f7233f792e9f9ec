// Engine, reaper, `serve` and client killed in every pair and all at once, with a server that ignores every word and code
// that never ends: nothing is left running.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { availableLevel } from "../../src/sandbox/level.ts";
import { createTestHome, endProcess, isAlive, PROGRAM, type TestHome, testServer, until } from "../fixtures/gateway.ts";
import { commandOf, descendantsOf, ticksOf } from "../fixtures/processes.ts";

const CLIENT = fileURLToPath(new URL("../fixtures/client_process.ts", import.meta.url));
const STUBBORN = testServer("stubborn");
const CONFIG = {
  servers: {
    kit: testServer("kit"),
    // A launcher as npx is one: a shell that starts a program that starts another.
    stubborn: { command: "sh", args: ["-c", `${[STUBBORN.command, ...STUBBORN.args].join(" ")}; true`] },
  },
};
const REAPERS = ["agentcards-reaper", "agentcards-second"] as const;
const PARTS = ["engine", "reaper", "serve", "client"] as const;
type Part = typeof PARTS[number] | "second";

interface Scene extends AsyncDisposable {
  readonly pids: Readonly<Record<Part, number>>;
  /** The servers, their children, and the process in which code never ends. */
  readonly works: readonly number[];
}

const reaperOf = (engine: number, name: string) => descendantsOf(engine).find((pid) => commandOf(pid).includes(name));

/** Starts a client that has everything running. */
async function begin(home: TestHome): Promise<Scene> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...PROGRAM.slice(1, -1), CLIENT],
    env: home.env,
    cwd: home.dir,
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  const { serve, servers } = JSON.parse(new TextDecoder().decode(value)) as { serve: number; servers: number[] };
  const engine = (await home.enginePid())!;
  const spinning = () => descendantsOf(engine).find((pid) => isRunner(pid) && ticksOf(pid) > 100);
  await until("code that never ends", () => spinning() !== undefined);
  await until("the second reaper", () => reaperOf(engine, REAPERS[1]) !== undefined);
  const [reaper, second] = REAPERS.map((name) => reaperOf(engine, name)!) as [number, number];
  const works = [...servers, spinning()!];
  assert.ok(works.every(isAlive));
  return {
    pids: { engine, reaper, second, serve, client: child.pid },
    works,
    async [Symbol.asyncDispose]() {
      for (const pid of [child.pid, serve]) await endProcess(pid, "SIGKILL");
      await child.status;
      await reader.cancel();
    },
  };
}

const isRunner = (pid: number) => commandOf(pid).some((word) => word.endsWith("/runner.ts"));

async function allGone(pids: readonly number[]): Promise<void> {
  await until("the end of all", () => !pids.some(isAlive))
    .catch(() => assert.fail(`left: ${pids.filter(isAlive).map((pid) => `${pid} ${commandOf(pid).join(" ")}`)}`));
}

/** Kills parts at the same moment, and waits for the end of all that must not outlive them. */
async function killed(parts: readonly Part[]): Promise<void> {
  await using home = await createTestHome(CONFIG);
  await using scene = await begin(home);
  const { pids, works } = scene;
  const below = descendantsOf(pids.engine);
  for (const part of parts) Deno.kill(pids[part], "SIGKILL");
  // An engine stays with its reapers and the processes that wait for code; what its client used does not.
  await allGone([...works, ...parts.map((part) => pids[part]), ...parts.includes("engine") ? below : []]);
  if (parts.includes("client")) await allGone([pids.serve]);
}

const PAIRS = PARTS.flatMap((one, i) => PARTS.slice(i + 1).map((other) => [one, other]));
for (const parts of [...PAIRS, ["engine", "second"], PARTS] as readonly (readonly Part[])[]) {
  Deno.test(`nothing is left when ${parts.join(" and ")} are killed at once`, () => killed(parts));
}

Deno.test("reapers that are killed are started anew and told everything", async () => {
  await using home = await createTestHome(CONFIG);
  await using scene = await begin(home);
  const { pids, works } = scene;
  for (const part of ["reaper", "second"] as const) Deno.kill(pids[part], "SIGKILL");
  const fresh = () =>
    REAPERS.map((name) => reaperOf(pids.engine, name)).filter((pid) => pid !== pids.reaper && pid !== pids.second);
  await until("new reapers", () => fresh().every((pid) => pid !== undefined && isAlive(pid)) && fresh().length === 2);
  assert.ok(works.every(isAlive), "the servers and the code go on");
  assert.match(await home.log(), /reaper_ended/);
  const below = descendantsOf(pids.engine);
  // The first of the new ones alone has to know all of them.
  for (const pid of [fresh()[1]!, pids.engine]) Deno.kill(pid, "SIGKILL");
  await allGone([...works, ...below]);
});

Deno.test("servers that outlive engine and both reapers are ended by the next engine, code at once", async () => {
  await using home = await createTestHome(CONFIG);
  await using scene = await begin(home);
  const { pids, works } = scene;
  for (const pid of Object.values(pids)) Deno.kill(pid, "SIGKILL");
  const hasSetpriv = (await availableLevel()).setpriv !== undefined;
  if (hasSetpriv) await allGone(works.slice(-1));
  const { code, stderr } = await home.run(["call", "kit:echo", '{"text":"up"}']);
  assert.equal(code, 0, stderr);
  await allGone(works.slice(0, -1));
});
