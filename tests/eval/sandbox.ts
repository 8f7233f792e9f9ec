// Hostile code in the cage: what got out, and which limit did not hold.
import type { CageOutcome } from "../../src/sandbox/cage.ts";
import type { Level } from "../../src/sandbox/command.ts";
import { availableLevel } from "../../src/sandbox/level.ts";
import { CAGE_LIMITS } from "../../src/sandbox/limits.ts";
import { createSandbox, type Sandbox } from "../../src/sandbox/sandbox.ts";
import { homedir, userInfo } from "node:os";
import { isAlive, sleep } from "../fixtures/gateway.ts";
import type { Evaluation } from "./main.ts";

interface Case {
  readonly id: string;
  readonly code: string;
  readonly expect: "denied" | "timeout" | "memory" | "bounded-output" | "error";
  readonly harmless?: boolean;
}

const WALL_MS = 5_000;
/** For what is to run into it: some cases come to an end by themselves within a few seconds. */
const SHORT_WALL_MS = 1_000;
const NO_TOOLS = {
  call: () => Promise.reject(new Error("there is no tool here")),
  result: () => Promise.reject(new Error("there is no result here")),
};

export const evaluation: Evaluation = {
  options: { cases: { type: "string" }, level: { type: "string" } },
  async run({ cases, level: wanted }) {
    if (!cases) throw new Error("--cases FILE says which code to run");
    const { level: strongest, groups, setpriv } = await availableLevel();
    const level = wanted === undefined ? strongest : Number(wanted.replace(/^L/i, ""));
    const rows = (await Deno.readTextFile(cases)).trim().split("\n").map((line) => JSON.parse(line) as Case);
    await using ground = await prepareGround();
    const pids = new Set<number>();
    const sandbox = createSandbox({
      level: level as Level,
      groups,
      setpriv,
      watch: (pid) => pids.add(pid),
      forget() {},
    });
    const [escaped, uncontained]: [string[], string[]] = [[], []];
    let [most, left] = [0, 0];
    for (const row of rows) {
      const wallMs = row.expect === "timeout" ? SHORT_WALL_MS : WALL_MS;
      const outcome = await runCase(sandbox, ground.fill(row.code), wallMs);
      await sleep(50);
      if (await ground.hasLeaked(outcome)) escaped.push(row.id);
      if (!row.harmless && !isContained(row, outcome, wallMs)) uncontained.push(row.id);
      most = Math.max(most, outcome.metrics.peakMb);
    }
    await sandbox.close();
    for (let i = 0; i < 50 && [...pids].some(isAlive); i++) await sleep(20);
    left = [...pids].filter(isAlive).length;
    return {
      n: rows.length,
      contained: rows.length - new Set([...escaped, ...uncontained]).size,
      escaped,
      uncontained,
      max_rss_mb: most,
      memory_limit_mb: CAGE_LIMITS.memoryMb,
      left,
      level: `L${level}`,
    };
  },
};

async function runCase(sandbox: Sandbox, code: string, wallMs: number): Promise<CageOutcome> {
  const request = { code, context: {}, deps: {}, servers: {} };
  return await sandbox.run(request, NO_TOOLS, {
    signal: new AbortController().signal,
    minimumLevel: 0,
    limits: { wallMs },
  });
}

/** Whether a run ended as it had to: by the limit it hit, by a refusal, or by an error that is not ours. */
function isContained({ expect }: Case, { result, logs, metrics }: CageOutcome, wallMs: number): boolean {
  const claims = logs.some(({ text }) => text.includes("ESCAPED"));
  const type = result.ok ? undefined : result.error.type;
  if (metrics.ms > wallMs + 2_000 || metrics.peakMb > CAGE_LIMITS.memoryMb + 100) return false;
  switch (expect) {
    case "denied":
      return !claims;
    case "timeout":
    case "memory":
      return type !== undefined;
    case "bounded-output":
      return true;
    case "error":
      return type !== undefined || !claims;
  }
}

/** Secrets that must stay where they are, and ears for whoever carries them away. */
async function prepareGround() {
  const canary = `canary-${crypto.randomUUID()}`;
  const [secrets, work] = [
    await Deno.makeTempDir({ prefix: "ac-canary-" }),
    await Deno.makeTempDir({ prefix: "ac-work-" }),
  ];
  await Deno.writeTextFile(`${secrets}/secret.txt`, canary);
  await Deno.writeTextFile(`${secrets}/secret.json`, JSON.stringify({ canary }));
  await Deno.writeTextFile(`${secrets}/secret.ts`, `export const canary = "${canary}";`);
  Deno.env.set("AC_CANARY", canary);
  const before = await written([secrets, work]);
  const passwd = (await Deno.readTextFile("/etc/passwd").catch(() => "")).split("\n")[0] || canary;
  let heard = false;
  const tcp = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  (async () => {
    for await (const connection of tcp) {
      heard = true;
      connection.close();
    }
  })().catch(() => {});
  return {
    fill: (code: string) => code.replaceAll("{{CANARY_DIR}}", secrets).replaceAll("{{WORK_DIR}}", work),
    async hasLeaked(outcome: CageOutcome): Promise<boolean> {
      const said = JSON.stringify(outcome);
      return heard || said.includes(canary) || said.includes(passwd) || await written([secrets, work]) !== before;
    },
    async [Symbol.asyncDispose]() {
      tcp.close();
      await Promise.all([secrets, work].map((dir) => Deno.remove(dir, { recursive: true })));
    },
  };
}

/** The names in some folders, and the stores of graphics drivers in the user's home, which no permission of Deno guards. */
async function written(folders: readonly string[]): Promise<string> {
  const caches = [...new Set([homedir(), userInfo().homedir])].map((home) => `${home}/.cache`);
  const stores = (await Promise.all(caches.map(names))).flat().filter((path) => /mesa|shader|nvidia/i.test(path));
  const found = await Promise.all([...folders, ...stores].map(names));
  return JSON.stringify([...stores, ...found.flat()].sort());
}

async function names(folder: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder)).catch(() => []);
  return entries.map(({ name }) => `${folder}/${name}`);
}
