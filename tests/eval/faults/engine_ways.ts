// The ways in which a second engine comes to a home.
import type { RawClient } from "../../fixtures/client.ts";
import { PROGRAM } from "../../fixtures/gateway.ts";
import { must } from "./disk.ts";
import type { FaultHome } from "./home.ts";
import { createLedger, isOver, type Ledger } from "./ledger.ts";
import { isEngine, processesUnder, signal } from "./processes.ts";

export interface WayStage {
  readonly home: FaultHome;
  readonly ledger: Ledger;
  /** Opens one more client that works; its answers go into the trial's ledger unless another one is given. */
  open(prefix: string, env?: Record<string, string>, ledger?: Ledger): Promise<RawClient>;
}

export interface Way {
  readonly name: string;
  /** The path of the home is too long for a socket in it. */
  readonly isLong?: boolean;
  /** No client is there before. */
  readonly isFirst?: boolean;
  /** The second client may get an error, in time. */
  readonly mayRefuse?: boolean;
  /** Forces a second engine; returns variables for the second client. */
  force?(stage: WayStage): Promise<Record<string, string> | void>;
  /** Comes after the second client has worked for a while. */
  after?(stage: WayStage): Promise<void>;
}

const remove = (path: string) => Deno.remove(path, { recursive: true }).catch(() => {});

async function removeLockAndSocket({ home: { dir } }: WayStage): Promise<void> {
  await remove(`${dir}/engine.lock`);
  await remove(`${dir}/engine.sock`);
}

async function moveAndCopy({ home: { root } }: WayStage, path: string): Promise<void> {
  await Deno.rename(path, `${root}/moved`);
  await must("cp", "-a", `${root}/moved`, path);
}

async function link({ home: { root, dir } }: WayStage): Promise<Record<string, string>> {
  await Deno.symlink(dir, `${root}/link`);
  return { AGENTCARDS_HOME: `${root}/link` };
}

function signalEngines({ home: { root } }: WayStage, name: Deno.Signal): void {
  for (const { pid } of processesUnder(root).filter(isEngine)) signal(pid, name);
}

/** Engines that are started by hand, all at once. */
function spawnEngines({ home: { env } }: WayStage, count: number): void {
  for (let i = 0; i < count; i++) {
    const command = new Deno.Command(PROGRAM[0]!, {
      args: [...PROGRAM.slice(1), "engine", "run"],
      env,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    });
    void command.spawn().status;
  }
}

export const WAYS: readonly Way[] = [
  { name: "lock and socket removed", force: removeLockAndSocket },
  { name: "home moved and copied back", force: (stage) => moveAndCopy(stage, stage.home.dir) },
  { name: "lock removed", force: ({ home: { dir } }) => remove(`${dir}/engine.lock`) },
  { name: "socket removed", force: ({ home: { dir } }) => remove(`${dir}/engine.sock`) },
  {
    name: "lock replaced by a copy",
    async force({ home: { root, dir } }) {
      await must("cp", "-a", `${dir}/engine.lock`, `${root}/copy`);
      await Deno.rename(`${root}/copy`, `${dir}/engine.lock`);
      await remove(`${dir}/engine.sock`);
    },
  },
  { name: "data folder moved and copied back", force: (stage) => moveAndCopy(stage, `${stage.home.dir}/data`) },
  { name: "home reached by a link", force: link },
  { name: "long home reached by a link", isLong: true, force: link },
  {
    name: "long home with another runtime directory",
    isLong: true,
    async force({ home: { root } }) {
      await Deno.mkdir(`${root}/tmp/runtime`, { recursive: true, mode: 0o700 });
      return { XDG_RUNTIME_DIR: `${root}/tmp/runtime` };
    },
  },
  {
    name: "first engine stopped and continued",
    mayRefuse: true,
    force: (stage) => Promise.resolve(signalEngines(stage, "SIGSTOP")),
    after: (stage) => Promise.resolve(signalEngines(stage, "SIGCONT")),
  },
  {
    name: "first engine stopped, its files removed, continued",
    mayRefuse: true,
    async force(stage) {
      signalEngines(stage, "SIGSTOP");
      await removeLockAndSocket(stage);
    },
    after: (stage) => Promise.resolve(signalEngines(stage, "SIGCONT")),
  },
  {
    name: "many started at once",
    isFirst: true,
    async force(stage) {
      spawnEngines(stage, 4);
      await Promise.all(["a2", "a3", "a4"].map((prefix) => stage.open(prefix)));
    },
  },
  { name: "restore while an engine starts", isFirst: true, force: restoreMeanwhile },
];

/** `restore` against an engine that starts at the same moment. */
async function restoreMeanwhile({ home, ledger, open }: WayStage): Promise<void> {
  const meanwhile = createLedger();
  const restoring = home.command(["restore", `${home.root}/saved.tgz`], 60_000);
  await open("w", {}, meanwhile);
  const { code } = await restoring;
  if (code === 0) {
    // What came before the restored database took its place is gone with right; open runs wait for a decision.
    for (const [id, told] of ledger.told) if (!isOver(told.status)) ledger.told.set(id, { ...told, isGoingOn: true });
  } else {
    for (const [id, told] of meanwhile.told) ledger.told.set(id, told);
    for (const [id, kind] of meanwhile.tasks) ledger.tasks.set(id, kind);
  }
}
