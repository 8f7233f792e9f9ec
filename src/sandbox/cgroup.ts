/** Control groups that this user may make: the only bound that holds for everything a process and its children use. */
export interface Cgroups {
  /** Makes a group for one cage; whoever writes itself into `DIRECTORY/cgroup.procs` is bound by it. */
  make(limits: { memoryMb: number; threads: number }): Promise<Cgroup>;
}

export interface Cgroup {
  readonly directory: string;
  /** Once nobody is in it any more. */
  remove(): Promise<void>;
}

const ROOT = "/sys/fs/cgroup";
const PREFIX = "agentcards-cage-";
/** The memory of a program without data: its own code counts, too. */
const OWN_MB = 128;
const REMOVE_TRIES = 50;
const REMOVE_EVERY_MS = 20;
const OLD_MS = 60_000;

/** The folder in which groups can be made: below our own, in the unified hierarchy or in the older one for memory. */
export async function findCgroups(works: (group: Cgroup) => Promise<boolean>): Promise<Cgroups | undefined> {
  if (Deno.build.os !== "linux") return undefined;
  const lines = (await Deno.readTextFile("/proc/self/cgroup").catch(() => "")).split("\n");
  for (const line of lines) {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (controllers !== "" && controllers !== "memory") continue;
    const base = controllers === "" ? `${ROOT}${path}` : `${ROOT}/memory${path}`;
    const groups = below(base.replace(/\/$/, ""));
    try {
      await sweep(base);
      const group = await groups.make({ memoryMb: 64, threads: 16 });
      const isUsable = await works(group);
      await group.remove();
      if (isUsable) return groups;
    } catch {
      // Not ours to make here.
    }
  }
  return undefined;
}

function below(base: string): Cgroups {
  return {
    async make({ memoryMb, threads }) {
      const directory = `${base}/${PREFIX}${crypto.randomUUID()}`;
      const remove = () => removeWhenEmpty(directory);
      await Deno.mkdir(directory);
      try {
        const bytes = String((memoryMb + OWN_MB) * 1_048_576);
        const isUnified = await set(`${directory}/memory.max`, bytes);
        if (!isUnified && !await set(`${directory}/memory.limit_in_bytes`, bytes)) {
          throw new Error("no bound on memory");
        }
        // Where there are any: without swap the bound is what it says, and threads are bounded, too.
        await set(`${directory}/memory.swap.max`, "0");
        await set(`${directory}/pids.max`, String(threads));
        return { directory, remove };
      } catch (error) {
        await remove();
        throw error;
      }
    },
  };
}

async function set(file: string, value: string): Promise<boolean> {
  try {
    await Deno.writeTextFile(file, value, { create: false });
    return true;
  } catch {
    return false;
  }
}

/** The kernel keeps a group for a moment after its last process. */
async function removeWhenEmpty(directory: string): Promise<void> {
  for (let i = 0; i < REMOVE_TRIES; i++) {
    try {
      return await Deno.remove(directory);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return;
      await new Promise((resolve) => setTimeout(resolve, REMOVE_EVERY_MS));
    }
  }
}

/** Groups that a killed engine left behind. A group in use cannot be removed; a new one is about to be used. */
async function sweep(base: string): Promise<void> {
  for await (const { name } of Deno.readDir(base)) {
    if (!name.startsWith(PREFIX)) continue;
    const { mtime } = await Deno.stat(`${base}/${name}`);
    if (Date.now() - Number(mtime) > OLD_MS) await Deno.remove(`${base}/${name}`).catch(() => {});
  }
}
