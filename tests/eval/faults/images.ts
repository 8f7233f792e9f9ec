// Homes that are prepared once and copied for every trial: as files with file systems, or as folders.
import { copyImage, makeImage, mountImage, must, unmount } from "./disk.ts";
import { addRuns, mustRun } from "./filled.ts";
import { clearStage, type FaultHome, makeHome } from "./home.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { killAll } from "./processes.ts";

/** A prepared home, and what clients were told about its runs. */
export interface Prepared {
  readonly image: string;
  readonly ledger: Ledger;
}

export const mountOf = ({ root }: FaultHome) => `${root}/mnt`;

/** A file system with a home that has nothing but its configuration. The home lies in the folder `mountOf`. */
export async function emptyImage(home: FaultHome, mb: number): Promise<Prepared> {
  const image = `${home.root}/empty.img`;
  await makeImage(image, mb);
  await mountImage(image, mountOf(home));
  await makeHome(home);
  await unmount(mountOf(home));
  return { image, ledger: createLedger() };
}

/** The same with finished runs, a backup of them in `saved.tgz` beside the home, and further runs. */
export async function filledImage(home: FaultHome, { image: empty }: Prepared): Promise<Prepared & { saved: Ledger }> {
  const image = `${home.root}/filled.img`;
  const mnt = mountOf(home);
  await copyImage(empty, image);
  await mountImage(image, mnt);
  const saved = createLedger();
  await addRuns(home, saved, { runs: 8, prefix: "a" });
  await mustRun(home, "backup", `${mnt}/saved.tgz`);
  const ledger = createLedger(saved);
  await addRuns(home, ledger, { runs: 8, prefix: "b" });
  await mustRun(home, "engine", "stop");
  await killAll(home.root);
  await unmount(mnt);
  return { image, ledger, saved };
}

/** Mounts a copy of a prepared home; returns the function that removes it with everything that runs in it. */
export async function mountCopy(home: FaultHome, { image }: Prepared): Promise<AsyncDisposable & { image: string }> {
  const copy = `${home.root}/trial.img`;
  await copyImage(image, copy);
  await mountImage(copy, mountOf(home));
  await clearStage(home);
  return {
    image: copy,
    async [Symbol.asyncDispose]() {
      await killAll(home.root);
      await unmount(mountOf(home));
      await Deno.remove(copy);
    },
  };
}

/** A folder with a home that has a past, to be copied by `copyFolder`, and a backup of it in `saved.tgz`. */
export async function filledFolder(home: FaultHome, servers: Record<string, unknown> = {}): Promise<Ledger> {
  await makeHome(home, servers);
  const ledger = createLedger();
  await addRuns(home, ledger, { runs: 12, prefix: "a" });
  await mustRun(home, "backup", `${home.root}/saved.tgz`);
  await mustRun(home, "engine", "stop");
  await killAll(home.root);
  await Deno.rename(home.dir, `${home.root}/template`);
  return ledger;
}

/** Puts a copy of the prepared folder in the home's place, and removes whatever runs and lies there. */
export async function copyFolder(home: FaultHome, from = `${home.root}/template`): Promise<void> {
  await killAll(home.root);
  await Deno.remove(home.dir, { recursive: true }).catch(() => {});
  await must("cp", "-a", from, home.dir);
  await clearStage(home);
}
