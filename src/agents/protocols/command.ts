import { AgentCardsError } from "../../model/mod.ts";
import type { Protocol } from "../job.ts";
import { MAX_ANSWER, startProgram } from "../program.ts";

/** A program that reads its prompt from stdin and prints its answer. It has no session that it could go on with. */
export const command: Protocol = async (job, host) => {
  await host.onSession("", false);
  await using running = await startProgram(job, [], host);
  const { process } = running;
  const writing = running.write(job.prompt).then(running.finish);
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of process.stdout) {
    size += chunk.length;
    if (size > MAX_ANSWER) throw new AgentCardsError("TOOL_FAILED", `It printed more than ${MAX_ANSWER} bytes`);
    parts.push(chunk);
  }
  await writing;
  const { success } = await process.exited;
  if (!success) throw await running.ended();
  return await new Blob(parts as BlobPart[]).text();
};
