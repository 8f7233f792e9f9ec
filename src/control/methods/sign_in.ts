import type { RunRow } from "../../dag/mod.ts";
import { isObject, messageOf, splitToolId } from "../../model/mod.ts";
import { log } from "../../telemetry/mod.ts";
import type { WorkSession } from "../../workflow/mod.ts";
import type { Method } from "../context.ts";

/** Told after a person has signed in to a server: reads its tools, and goes on with the runs that wait for that. */
export const signedIn: Method<"signed_in"> = async ({ session }, { server: name }) => {
  const open = await session;
  const server = open.server(name);
  try {
    const { tools } = await server.catalogue();
    const waiting = (await open.workflows.journal.list({ status: ["paused"] }).catch(() => []))
      .filter((row) => waitsFor(row, name));
    const runs = await Promise.all(waiting.map((row) => goOn(open, row)));
    return { tools: tools.length, runs: runs.filter((id) => id !== undefined) };
  } finally {
    if (!open.config.servers[name]?.shared) await server.stop();
  }
};

function waitsFor({ summary: { pending } }: RunRow, server: string): boolean {
  return isObject(pending) && pending.reason === "sign_in" && typeof pending.tool === "string" &&
    splitToolId(pending.tool).server === server;
}

/** Makes a run go on, and gives its id once it does: its end is not waited for. */
async function goOn(session: WorkSession, { id }: RunRow): Promise<string | undefined> {
  const { workflows } = session;
  const begun = Promise.withResolvers<string>();
  const stop = workflows.observe((run, { kind }) => run === id && kind === "resumed" && begun.resolve(id));
  const nobodyWaits = new AbortController();
  const ended = workflows.resume({ workflow_id: id, action: "continue" }, {
    session,
    caller: { signal: nobodyWaits.signal, client: {}, human: { kind: "nobody" } },
    by: "human",
  }).then(() => id, (error) => {
    log("info", "run_waits_on", { run: id, reason: messageOf(error) });
    return undefined;
  });
  return await Promise.race([begun.promise, ended]).finally(stop);
}
