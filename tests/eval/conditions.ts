// Random workflows with `when`, `until`, approvals, failures and kills against the independent model of docs/WORKFLOWS.md.
import { compareRuns } from "../dag/condition_runs.ts";
import type { Evaluation } from "./main.ts";

const SHOWN = 5;

export const evaluation: Evaluation = {
  options: { runs: { type: "string", default: "300" }, seed: { type: "string", default: "1" } },
  async run({ runs, seed }) {
    const { disagreements, ...figures } = await compareRuns({ runs: Number(runs), seed: Number(seed) });
    return { ...figures, disagreements: disagreements.length, examples: disagreements.slice(0, SHOWN) };
  },
};
