// A program that runs a workflow and reads its events as they happen: `deno run -A docs/examples/program.ts FOLDER`.
import { openGateway } from "../../mod.ts";

/** Counts the words of a folder by the workflow `fan_out`; tells each task as it ends. */
export async function countWords(folder: string, tell: (line: string) => void, home?: string): Promise<unknown> {
  await using gateway = await openGateway({
    ...home !== undefined && { home },
    // Nothing in this program may write.
    guardrails: [({ tool, effect }) => effect === "effectful" ? { deny: `${tool} may act on the world` } : undefined],
  });
  const run = gateway.runWorkflow({ workflow: "fan_out", input: { folder } });
  for (let step = await run.next();; step = await run.next()) {
    if (step.done) return step.value.results.counts;
    if (step.value.kind === "done") tell(`${step.value.task}: ${step.value.ms} ms`);
  }
}

// deno-lint-ignore no-console -- a program prints
if (import.meta.main) console.log(await countWords(Deno.args[0]!, (line) => console.error(line)));
