// A disk that has no room, and later has some again.
import { fill, whyNoDisk } from "./disk.ts";
import { endure } from "./endure.ts";
import { faultHome } from "./home.ts";
import { emptyImage, filledImage, mountCopy, mountOf } from "./images.ts";
import { type Kind, pick } from "./kind.ts";
import { createLedger } from "./ledger.ts";

const IMAGE_MB = 192;
const MB = 1024 * 1024;

/** In turns: the disk becomes full while the engine runs, is full when it starts, is full when a home is new. */
const SCENES = [
  { name: "while it runs", on: "filled", isEarly: false },
  { name: "before it starts", on: "filled", isEarly: true },
  { name: "while it runs", on: "filled", isEarly: false },
  { name: "first start", on: "empty", isEarly: true },
] as const;

export const full: Kind = {
  limitMs: 200_000,
  missing: whyNoDisk,
  async prepare(root) {
    const home = faultHome(root, { dir: `${root}/mnt/home` });
    const empty = await emptyImage(home, IMAGE_MB);
    const prepared = { empty, filled: await filledImage(home, empty) };
    return async ({ number, random, isHarmless }) => {
      const { name: scene, on, isEarly } = SCENES[number % SCENES.length]!;
      await using _copy = await mountCopy(home, prepared[on]);
      const rooms = on === "empty" ? [0, 8 * MB, 20 * MB, 30 * MB, 40 * MB] : [0, 0, 16_384, MB, 4 * MB];
      const leave = pick(random, rooms) + random.below(65_536);
      const begin = () => Promise.resolve(isHarmless ? () => {} : fill(mountOf(home), leave));
      const ledger = createLedger(prepared[on].ledger);
      return { scene, ...await endure(home, { ledger, random, isEarly, mayRefuse: on === "empty", begin }) };
    };
  },
};
