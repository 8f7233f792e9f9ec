import type { Database } from "../../src/db/database.ts";
import { endProcess, ROOT, sleep } from "../fixtures/gateway.ts";
import { createRpc, type Rpc } from "./line_rpc.ts";
import { databaseHandlers } from "./remote_database.ts";

/** One execution of a task, under which epoch and by whom. */
export interface RivalBegin {
  readonly task: string;
  readonly attempt: number;
  readonly epoch: number;
  readonly runner: string;
}

export type Rivals = Awaited<ReturnType<typeof startRivals>>;

const PATIENCE_MS = 300;

/** Starts two runners over one database, which stays with us. */
export async function startRivals({ db, dir, leaseMs }: { db: Database; dir: string; leaseMs: number }) {
  const path = `${dir}/database.sock`;
  const log = `${dir}/oracle`;
  await Deno.writeTextFile(log, "", { append: true });
  await Deno.remove(path).catch(() => {});
  const listener = Deno.listen({ transport: "unix", path });
  const arrived = new Map<string, PromiseWithResolvers<Rpc>>();
  const arrival = (name: string) => arrived.getOrInsertComputed(name, () => Promise.withResolvers<Rpc>());
  void (async () => {
    for await (const conn of listener) {
      const rpc = createRpc(conn, {
        ...databaseHandlers(db),
        hello: ({ name }: { name: string }) => arrival(name).resolve(rpc),
      });
    }
  })().catch(() => {});

  const runners = await Promise.all(["one", "two"].map(async (name) => {
    const program = ["run", "-A", "--quiet", "--cached-only", `--config=${ROOT}deno.json`];
    const child = new Deno.Command(Deno.execPath(), {
      args: [...program, `${ROOT}tests/eval/rival_runner.ts`, path, log, name, String(leaseMs)],
      stdin: "null",
      stdout: "null",
    }).spawn();
    return { name, pid: child.pid, child, rpc: await arrival(name).promise };
  }));

  const linesOf = (run: string) =>
    Deno.readTextFileSync(log).split("\n").map((line) => line.split(" ")).filter((words) => words[1] === run);

  return {
    runners,
    /** The executions of a run's tasks. */
    begins: (run: string): RivalBegin[] =>
      linesOf(run).filter(([kind]) => kind === "begin").map(([, , task, attempt, epoch, runner]) => ({
        task: task!,
        attempt: Number(attempt),
        epoch: Number(epoch),
        runner: runner!,
      })),
    /** Waits until a run's calls have left so many lines, or leave no more. */
    async waitForLines(run: string, count: number): Promise<void> {
      let [seen, since] = [0, performance.now()];
      for (;;) {
        const now = linesOf(run).length;
        if (now !== seen) [seen, since] = [now, performance.now()];
        if (now >= count || performance.now() - since > PATIENCE_MS) return;
        await sleep(1);
      }
    },
    /** Forgets what was written so far, so that reading it stays short. */
    clear: () => Deno.truncateSync(log),
    async end() {
      listener.close();
      for (const { rpc, pid, child } of runners) {
        rpc.close();
        await endProcess(pid, "SIGKILL");
        await child.status;
      }
    },
  };
}
