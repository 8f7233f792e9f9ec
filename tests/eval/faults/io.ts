// I/O errors, slow disks, and a database that hangs.
import { join } from "node:path";
import type { Random } from "../../model/random.ts";
import { between } from "../random_dag.ts";
import { filesUnder } from "./disk.ts";
import { endure } from "./endure.ts";
import { type FaultHome, faultHome } from "./home.ts";
import { copyFolder, filledFolder } from "./images.ts";
import type { Kind } from "./kind.ts";
import { createLedger } from "./ledger.ts";
import { inject, type Injection, whyNoStrace } from "./strace.ts";

interface Scene {
  readonly name: string;
  draw(home: FaultHome, random: Random): Injection;
}

const WRITES = ["pwrite64"];
const SYNCS = ["fsync", "fdatasync"];

/** Database files as strace wants them: one by one. */
const under = ({ dir }: FaultHome, folder: string) => [...filesUnder(join(dir, "data", folder))];

const ERRORS: readonly Scene[] = [
  { name: "EIO on every write", draw: () => ({ calls: WRITES, effect: "error=EIO" }) },
  {
    name: "EIO on tables",
    draw: (home) => ({ calls: WRITES, effect: "error=EIO", paths: under(home, "base") }),
  },
  { name: "ENOSPC on every write", draw: () => ({ calls: WRITES, effect: "error=ENOSPC" }) },
  {
    name: "EIO on the WAL",
    draw: (home) => ({ calls: WRITES, effect: "error=EIO", paths: under(home, "pg_wal") }),
  },
  { name: "EIO on sync", draw: () => ({ calls: SYNCS, effect: "error=EIO" }) },
  {
    name: "EIO on one write",
    draw: (_, random) => ({ calls: WRITES, effect: `error=EIO:when=${between(random, [1, 40])}` }),
  },
  {
    name: "slow writes",
    draw: (_, random) => ({
      calls: [...WRITES, ...SYNCS],
      effect: `delay_enter=${between(random, [5, 50])}000`,
    }),
  },
];

/** Longer than any deadline: what hangs does not come back by itself. */
const FOR_EVER = "delay_enter=600000000";
/** The files of the database only: Deno writes to its own cache in the same way, on the main thread. */
const HANGS: readonly Scene[] = [
  { name: "writes hang", draw: (home) => ({ calls: WRITES, effect: FOR_EVER, paths: under(home, "") }) },
  { name: "syncs hang", draw: (home) => ({ calls: SYNCS, effect: FOR_EVER, paths: under(home, "") }) },
  // Of every file of the home, too.
  { name: "all syncs hang", draw: () => ({ calls: SYNCS, effect: FOR_EVER }) },
];

function injected(scenes: readonly Scene[]): Kind {
  return {
    limitMs: 200_000,
    missing: whyNoStrace,
    async prepare(root) {
      const home = faultHome(root);
      const told = await filledFolder(home);
      return async ({ number, random, isHarmless }) => {
        const { name: scene, draw } = scenes[number % scenes.length]!;
        await copyFolder(home);
        const begin = async () => {
          const injection = isHarmless ? { calls: WRITES, effect: "delay_enter=1" } : draw(home, random);
          const pid = await home.enginePid();
          return pid === undefined ? () => {} : await inject(pid, injection);
        };
        const ledger = createLedger(told);
        return { scene, ...await endure(home, { ledger, random, isEarly: false, begin }) };
      };
    },
  };
}

export const io = injected(ERRORS);
export const hung = injected(HANGS);
