// Engines that share one PostgreSQL: killed, stopped, cut off, all of it at once; and how fast they are together.
// `deno task test:postgres eval cluster` brings the server along.
import type { Evaluation } from "./main.ts";

export const evaluation: Evaluation = {
  options: {
    mode: { type: "string", default: "faults" },
    engines: { type: "string", default: "4" },
    trials: { type: "string", default: "20" },
    runs: { type: "string", default: "400" },
    seed: { type: "string", default: "1" },
  },
  async run({ mode, engines, trials, runs, seed }) {
    if (Deno.env.get("AGENTCARDS_TEST_POSTGRES") === undefined) {
      throw new Error("AGENTCARDS_TEST_POSTGRES names no server; `deno task test:postgres eval cluster` starts one");
    }
    const count = Number(engines);
    if (mode === "faults") {
      const { clusterFaults } = await import("./cluster_faults.ts");
      return await clusterFaults({ engines: count, trials: Number(trials), seed: Number(seed) });
    }
    const { claimCurve, taskRate } = await import("./cluster_speed.ts");
    if (mode === "claims") return await claimCurve({ runs: Number(runs) });
    if (mode === "tasks") return await taskRate({ engines: count, runs: Number(runs) });
    throw new Error(`--mode is faults, claims or tasks, not ${mode}`);
  },
};
