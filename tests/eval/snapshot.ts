// The time that a snapshot of a large repository takes: the first, the next, and with files that must be written.
import { createRecorder, type Kept } from "../../src/snapshot/recorder.ts";
import { createRepository, type TestRepository } from "../fixtures/repository.ts";
import process from "node:process";
import type { Evaluation } from "./main.ts";
import { quantiles } from "./quantiles.ts";

const WRITTEN = 200;

export const evaluation: Evaluation = {
  options: {
    files: { type: "string", default: "20000" },
    rounds: { type: "string", default: "5" },
  },
  async run({ files, rounds }) {
    await using repository = await createLarge(Number(files));
    let written = 0;
    const [first, second, processor]: [number[], number[], number[]] = [[], [], []];
    const each: number[] = [];
    for (let i = 0; i < Number(rounds); i++) {
      const home = await Deno.makeTempDir({ prefix: "ac-snap-" });
      const recorder = createRecorder(home);
      const take = async () => {
        const [began, used] = [performance.now(), cpuMicros()];
        const recording = await recorder.open(repository.dir);
        if (!("take" in recording)) throw new Error(recording.problem);
        const kept = await recording.take() as Kept;
        if (kept.taken.files.size !== Number(files)) throw new Error(`${kept.taken.files.size} files were recorded`);
        processor.push((cpuMicros() - used) / 1_000);
        return performance.now() - began;
      };
      const before = new Set(await gitState(repository));
      first.push(await take());
      second.push(await take());
      const plain = second.at(-1)!;
      for (let n = 0; n < WRITTEN; n++) {
        await repository.write(pathOf((n * 7) % Number(files)), `written in round ${i}: ${n}\n`);
      }
      each.push((await take() - plain) / WRITTEN);
      const after = await gitState(repository);
      written += after.filter((line) => !before.has(line)).length;
      await repository.git("checkout", "--quiet", "--", ".");
      await settled(repository);
      await Deno.remove(home, { recursive: true });
    }
    return {
      files: Number(files),
      first_ms: quantiles(first),
      second_ms: quantiles(second),
      ms_for_each_written: quantiles(each),
      // Of this process alone: what the clock says depends on what else the machine does.
      processor_ms: quantiles(processor),
      written_into_git: written,
    };
  },
};

function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

const pathOf = (n: number) => `src/package-${Math.floor(n / 100)}/lib/module_${n % 100}.ts`;

async function createLarge(count: number): Promise<TestRepository> {
  const repository = await createRepository();
  for (let n = 0; n < count; n++) await repository.write(pathOf(n), `export const value${n} = ${n};\n`.repeat(20));
  await repository.git("add", "--all");
  await repository.git("commit", "--quiet", "--message", "large");
  await settled(repository);
  return repository;
}

/** An index that is younger than all files, as it is everywhere but in the moment after a checkout. */
async function settled(repository: TestRepository): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 50));
  await repository.git("update-index", "--force-write-index", "--refresh");
}

/** Everything with its size and time below `.git`. */
async function gitState({ dir }: TestRepository): Promise<string[]> {
  const found: string[] = [];
  const walk = async (folder: string): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      const path = `${folder}/${name}`;
      if (isDirectory) await walk(path);
      else {
        const { size, mtime } = await Deno.lstat(path);
        found.push(`${path} ${size} ${mtime!.getTime()}`);
      }
    }
  };
  await walk(`${dir}/.git`);
  return found.toSorted();
}
