// The moments of a home's life in which the power is cut.
import type { RawClient } from "../../fixtures/client.ts";
import type { Random } from "../../model/random.ts";
import { type FaultHome, type Outcome, wordsOf } from "./home.ts";
import { judge, listRuns } from "./judge.ts";
import { line } from "./kind.ts";
import { connect, createLedger, keepBusy, type Ledger, untilWorking } from "./ledger.ts";

export interface Stage {
  readonly home: FaultHome;
  /** Of this trial; answers that come after the cut are not in it. */
  readonly ledger: Ledger;
  readonly random: Random;
  isCut(): boolean;
  /** The runs that are in the backup of the filled home. */
  readonly saved: Ledger;
}

export interface Acted {
  /** Milliseconds from now to the cut. */
  readonly momentMs: number;
  /** Lets go of what the harness itself holds. */
  leave(): Promise<void>;
  /** For scenes after which something else than the ledger holds. */
  judge?(): Promise<string[]>;
}

export interface Scene {
  readonly name: string;
  readonly on: "filled" | "empty" | "older";
  act(stage: Stage): Promise<Acted>;
}

/** Two clients that run workflows until the cut. */
async function work({ home, ledger, random, isCut }: Stage, isOver = isCut): Promise<() => Promise<void>> {
  const clients: RawClient[] = [];
  const loops: Promise<void>[] = [];
  for (const name of ["u", "v"]) {
    const client = await connect(home);
    clients.push(client);
    loops.push(keepBusy(client, { ledger, random, prefix: name, isOver }));
  }
  return async () => {
    await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
    await Promise.all(loops);
  };
}

const workflows: Scene = {
  name: "workflows",
  on: "filled",
  async act(stage) {
    const leave = await work(stage);
    // Mostly in the middle of work, sometimes while the engine still starts.
    if (stage.random.below(4) > 0) await untilWorking(stage.ledger);
    return { momentMs: stage.random.below(3_000), leave };
  },
};

const firstStart: Scene = {
  name: "first start",
  on: "empty",
  act(stage) {
    // Not awaited: the cut may come before the first answer.
    const working = work(stage).catch(() => async () => {});
    return Promise.resolve({ momentMs: stage.random.below(4_000), leave: async () => await (await working)() });
  },
};

const upgrade: Scene = { ...firstStart, name: "upgrade", on: "older" };

/** Starts a command; the cut falls while it runs, or up to `after` ms after its end. */
function during(stage: Stage, args: readonly string[], { within, after }: { within: number; after: number }) {
  let outcome: Outcome | undefined;
  const running = stage.home.command(args, 60_000).then((result) => {
    // Only what ended before the cut said that it was done.
    if (!stage.isCut()) outcome = result;
  });
  const isAfter = stage.random.below(2) === 0;
  const momentMs = isAfter ? stage.random.below(after) : stage.random.below(within);
  return { ended: () => outcome, running, ready: isAfter ? running : Promise.resolve(), momentMs };
}

/** Some work, whose clients leave before the command comes. */
async function workBefore(stage: Stage): Promise<void> {
  let isOver = false;
  const leave = await work(stage, () => isOver || stage.isCut());
  await untilWorking(stage.ledger);
  await new Promise((resolve) => setTimeout(resolve, stage.random.below(1_000)));
  isOver = true;
  await leave();
}

const stop: Scene = {
  name: "engine stop",
  on: "filled",
  async act(stage) {
    await workBefore(stage);
    const { ready, running, momentMs } = during(stage, ["engine", "stop"], { within: 500, after: 3_000 });
    await ready;
    return { momentMs, leave: () => running };
  },
};

const backup: Scene = {
  name: "backup",
  on: "filled",
  async act(stage) {
    const { home, ledger } = stage;
    await workBefore(stage);
    const file = `${home.root}/mnt/new.tgz`;
    const before = createLedger(ledger);
    const { ended, ready, running, momentMs } = during(stage, ["backup", file], { within: 600, after: 2_000 });
    await ready;
    const check = async () => {
      const wrong = await judge(home, ledger);
      if (ended()?.code !== 0) return wrong;
      const restored = await home.command(["restore", file], 60_000);
      if (restored.code !== 0) return [...wrong, `a backup that was done is not usable: ${line(wordsOf(restored))}`];
      return [...wrong, ...await knownAfterRestore(home, before)];
    };
    return { momentMs, leave: () => running, judge: check };
  },
};

const restore: Scene = {
  name: "restore",
  on: "filled",
  async act(stage) {
    const { home, ledger, saved } = stage;
    const file = `${home.root}/mnt/saved.tgz`;
    const { ended, ready, running, momentMs } = during(stage, ["restore", file], { within: 2_000, after: 2_000 });
    await ready;
    const check = async () => {
      const wrong = await judge(home, createLedger());
      const listed = await listRuns(home);
      if (typeof listed === "string") return [...wrong, listed];
      const known = new Set(listed.map(({ id }) => id));
      const hasAll = ({ told }: Ledger) => [...told.keys()].every((id) => known.has(id));
      const isOld = hasAll(ledger);
      const isNew = !isOld && hasAll(saved);
      if (!isOld && !isNew) wrong.push("neither the database of before nor the restored one is whole");
      if (isOld && ended()?.code === 0) wrong.push("a restore that was done is lost");
      return [...wrong, ...await leftovers(home)];
    };
    return { momentMs, leave: () => running, judge: check };
  },
};

/** Ids only: a run that was open in a backup waits for a decision now. */
async function knownAfterRestore(home: FaultHome, { told }: Ledger): Promise<string[]> {
  const listed = await listRuns(home);
  if (typeof listed === "string") return [listed];
  const known = new Set(listed.map(({ id }) => id));
  const gone = [...told.keys()].filter((id) => !known.has(id));
  return gone.length === 0 ? [] : [`${gone.length} of ${told.size} acknowledged runs are not in the backup`];
}

/** Half-made folders that nobody removes. */
async function leftovers({ dir }: FaultHome): Promise<string[]> {
  const names = (await Array.fromAsync(Deno.readDir(dir))).map(({ name }) => name);
  const left = names.filter((name) => name.startsWith("data."));
  return left.length === 0 ? [] : [`left behind after a restore: ${left.join(", ")}`];
}

/** In the order in which trials take their turns; workflows twice, because most of a home's life is that. */
export const SCENES: readonly Scene[] = [workflows, firstStart, stop, workflows, backup, restore, upgrade];
