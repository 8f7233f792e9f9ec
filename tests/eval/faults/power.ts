// Power cuts: the home lies on a file system that loses everything that was not synced.
import { sleep } from "../../fixtures/gateway.ts";
import type { Random } from "../../model/random.ts";
import { copyImage, cutPower, filesUnder, mountImage, must, syncFile, unmount, whyNoDisk } from "./disk.ts";
import { type FaultHome, faultHome } from "./home.ts";
import { emptyImage, filledImage, mountCopy, mountOf, type Prepared } from "./images.ts";
import { judge } from "./judge.ts";
import { type Kind, pick, type Trial, type TrialResult } from "./kind.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { makeOlder } from "./old_schema.ts";
import { type Scene, SCENES } from "./power_scenes.ts";
import { freeze, killAll } from "./processes.ts";

const IMAGE_MB = 384;

export interface Templates {
  /** Finished runs, a backup of them, and further runs. */
  readonly filled: Prepared & { readonly saved: Ledger };
  /** Nothing but a configuration. */
  readonly empty: Prepared;
  /** The filled one with the schema of the version before. */
  readonly older: Prepared;
}

export const power: Kind = {
  limitMs: 150_000,
  missing: whyNoDisk,
  async prepare(root) {
    const home = faultHome(root, { dir: `${root}/mnt/home` });
    const templates = await makeTemplates(home);
    return async ({ number, random, isHarmless }: Trial) => {
      // In turns, so that a few trials show every scene.
      const scene = SCENES[number % SCENES.length]!;
      return { scene: scene.name, ...await tryCut(home, { scene, templates, random, isHarmless }) };
    };
  },
};

async function makeTemplates(home: FaultHome): Promise<Templates> {
  const empty = await emptyImage(home, IMAGE_MB);
  const filled = await filledImage(home, empty);
  const older = { image: `${home.root}/older.img`, ledger: filled.ledger };
  await copyImage(filled.image, older.image);
  await mountImage(older.image, mountOf(home));
  // A version before knew no marker.
  for await (const { name } of Deno.readDir(home.dir)) {
    if (name.startsWith("database.marker")) await Deno.remove(`${home.dir}/${name}`);
  }
  await makeOlder(`${home.dir}/data`);
  await unmount(mountOf(home));
  return { filled, empty, older };
}

interface Cut {
  readonly scene: Scene;
  readonly templates: Templates;
  readonly random: Random;
  readonly isHarmless: boolean;
}

async function tryCut(
  home: FaultHome,
  { scene, templates, random, isHarmless }: Cut,
): Promise<Omit<TrialResult, "scene">> {
  const mnt = mountOf(home);
  const template = templates[scene.on];
  await using copy = await mountCopy(home, template);
  let isCut = false;
  const ledger = createLedger(template.ledger);
  const acted = await scene.act({ home, ledger, random, isCut: () => isCut, saved: templates.filled.saved });
  await sleep(acted.momentMs);
  isCut = true;
  freeze(home.root);
  for (const file of drawSynced(home, random)) syncFile(file);
  if (isHarmless) await must("sync", "-f", mnt);
  cutPower(mnt);
  await killAll(home.root);
  await acted.leave();
  await unmount(mnt);
  await mountImage(copy.image, mnt);
  const violations = await (acted.judge ?? (() => judge(home, ledger)))();
  return { violations, counts: { acknowledged: ledger.told.size } };
}

/** Files that the kernel wrote back by itself before the cut: often none, sometimes one that comes too early. */
function drawSynced(home: FaultHome, random: Random): string[] {
  const way = random.below(4);
  if (way < 2) return [];
  const control = `${home.dir}/data/global/pg_control`;
  if (way === 2) return [control];
  const all = [...filesUnder(`${home.dir}/data`)];
  return all.length === 0 ? [] : Array.from({ length: 1 + random.below(30) }, () => pick(random, all));
}
