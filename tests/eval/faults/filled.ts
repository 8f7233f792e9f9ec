// Homes with a past: finished runs, a paused one, a backup.
import { seeded } from "../../model/random.ts";
import { type FaultHome, wordsOf } from "./home.ts";
import { ask, connect, drawWorkflow, type Ledger, note } from "./ledger.ts";
import { kindOf } from "../random_dag.ts";

/** Runs so many workflows to their end, and one that pauses. */
export async function addRuns(home: FaultHome, ledger: Ledger, { runs, prefix }: { runs: number; prefix: string }) {
  const random = seeded(runs);
  await using client = await connect(home);
  for (let n = 0; n <= runs; n++) {
    const { tasks } = drawWorkflow(random, `${prefix}${n}_`);
    const last = { ...tasks[0]!, id: `${prefix}${n}_last`, depends_on: tasks.map(({ id }) => id) };
    const all = n === runs ? [...tasks, { ...last, arguments: { ...last.arguments, task: last.id } }] : tasks;
    for (const task of all) ledger.tasks.set(task.id, kindOf(task));
    const options = n === runs ? { pause_after: tasks.map(({ id }) => id) } : {};
    const reply = await ask(client, "run_workflow", { tasks: all, options }, 30_000);
    const wanted = n === runs ? "paused" : "completed";
    if (note(ledger, reply)?.status !== wanted) throw new Error(`a home cannot be prepared: ${reply.text}`);
  }
}

/** Runs a command that must succeed for the preparation to make sense. */
export async function mustRun(home: FaultHome, ...args: string[]): Promise<void> {
  const outcome = await home.command(args, 60_000);
  if (outcome.code !== 0) throw new Error(`${args.join(" ")}: ${wordsOf(outcome)}`);
}

/** Makes a backup under a name that `restore --latest` looks for; returns its path. */
export async function makeLatestBackup(home: FaultHome): Promise<string> {
  const folder = `${home.dir}/backups`;
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  const file = `${folder}/daily-${new Date().toISOString().replace(/[:.]/g, "-")}.tar.gz`;
  await mustRun(home, "backup", file);
  return file;
}
