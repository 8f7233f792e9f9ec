// The engine dies under requests: `eval answers`, one trial at a time, each on a home of its own.
import { answerTrials } from "../answers.ts";
import type { Kind } from "./kind.ts";
import { whyNoProcesses } from "./processes.ts";

export const answers: Kind = {
  limitMs: 150_000,
  missing: whyNoProcesses,
  prepare: () =>
    Promise.resolve(async ({ random, isHarmless }) => {
      const figures = await answerTrials({ trials: 1, seed: random.below(1_000_000), isHarmless });
      const { effects_twice, effects_lost, unfinished, errors, requests_hit, real_answers } = figures;
      const violations = [
        ...effects_twice > 0 ? [`${effects_twice} effects were made twice`] : [],
        ...effects_lost > 0 ? [`${effects_lost} effects were never made`] : [],
        ...unfinished > 0 ? ["the workflow did not come to its end"] : [],
        ...errors,
      ];
      const counts = { hit: requests_hit, real: requests_hit * real_answers };
      return { scene: "run_workflow", violations, counts };
    }),
};
