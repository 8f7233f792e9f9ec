// Kills engines, and lets runners quarrel over one journal, and holds what the journal says against what really happened.
import type { Evaluation } from "./main.ts";

export const evaluation: Evaluation = {
  options: {
    trials: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
    mode: { type: "string", default: "kill" },
  },
  async run({ trials, seed, mode }) {
    const how = { trials: Number(trials), seed: Number(seed) };
    if (mode === "kill") return await (await import("./crash_kill.ts")).killTrials(how);
    if (mode === "rival") return await (await import("./crash_rival.ts")).rivalTrials(how);
    throw new Error(`--mode is kill or rival, not ${mode}`);
  },
};
