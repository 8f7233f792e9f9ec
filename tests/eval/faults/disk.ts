// Small file systems of our own: an ext4 in a file, mounted by a loop device, which can lose its power or be full.
import { sleep } from "../../fixtures/gateway.ts";

/** `_IOR('X', 125, __u32)`: the file system takes nothing more and writes nothing more. */
const FS_IOC_SHUTDOWN = 0x8004587dn;
/** Without this flag the journal would be written first. */
const NO_LOG_FLUSH = 2;

/** Runs a program to its end; fails with its words. */
export async function must(program: string, ...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args, stdin: "null" }).output();
  if (!success) throw new Error(`${program} ${args.join(" ")}: ${new TextDecoder().decode(stderr).trim()}`);
  return new TextDecoder().decode(stdout);
}

/** Makes a file with an empty file system; the file takes only the room that is used. */
export async function makeImage(image: string, mb: number): Promise<void> {
  await must("truncate", "-s", `${mb}M`, image);
  await must("mkfs.ext4", "-q", "-F", "-m", "0", image);
}

export async function copyImage(from: string, to: string): Promise<void> {
  await must("cp", "--sparse=always", from, to);
}

export async function mountImage(image: string, folder: string): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  await must("mount", "-o", "loop", image, folder);
}

/** Unmounts a folder whose processes are gone; the kernel may need a moment for their files. */
export async function unmount(folder: string): Promise<void> {
  for (let i = 0;; i++) {
    try {
      return void await must("umount", folder);
    } catch (error) {
      if (i === 100) throw error;
      await sleep(50);
    }
  }
}

/** Unmounts whatever is mounted under a folder, the innermost first. */
export async function unmountAll(root: string): Promise<void> {
  const mounts = (await Deno.readTextFile("/proc/mounts")).split("\n").map((row) => row.split(" ")[1] ?? "");
  for (const folder of mounts.filter((path) => path.startsWith(`${root}/`)).toReversed()) await unmount(folder);
}

/** Drops everything that was not synced, as a power cut does. Open files give I/O errors from then on. */
export function cutPower(folder: string): void {
  using libc = libcOf();
  const { open, ioctl, close } = libc.symbols;
  const fd = open(new TextEncoder().encode(`${folder}\0`), 0);
  const flag = new Uint32Array([NO_LOG_FLUSH]);
  const failed = fd < 0 || ioctl(fd, FS_IOC_SHUTDOWN, flag) !== 0;
  close(fd);
  if (failed) throw new Error(`cannot shut down the file system at ${folder}`);
}

function libcOf() {
  const libc = Deno.dlopen("libc.so.6", {
    open: { parameters: ["buffer", "i32"], result: "i32" },
    ioctl: { parameters: ["i32", "u64", "buffer"], result: "i32" },
    close: { parameters: ["i32"], result: "i32" },
  });
  return { symbols: libc.symbols, [Symbol.dispose]: () => libc.close() };
}

/** Syncs one file and nothing else: a kernel writes back in any order. */
export function syncFile(path: string): void {
  try {
    using file = Deno.openSync(path);
    file.syncDataSync();
  } catch {
    // It went away meanwhile.
  }
}

/** Every file under a folder. */
export function* filesUnder(folder: string): Generator<string> {
  let entries: Deno.DirEntry[];
  try {
    entries = [...Deno.readDirSync(folder)];
  } catch {
    return;
  }
  for (const { name, isDirectory, isFile } of entries) {
    if (isDirectory) yield* filesUnder(`${folder}/${name}`);
    else if (isFile) yield `${folder}/${name}`;
  }
}

/** Takes all the room of a file system but `leave` bytes; returns the function that gives it back. */
export function fill(folder: string, leave: number): () => void {
  const path = `${folder}/filler`;
  const file = Deno.openSync(path, { create: true, write: true, truncate: true });
  let size = 0;
  for (let chunk = 262_144; chunk >= 4_096; chunk /= 4) {
    const zeros = new Uint8Array(chunk);
    try {
      for (;;) size += file.writeSync(zeros);
    } catch {
      // Full, as far as such a chunk goes.
    }
  }
  try {
    file.truncateSync(Math.max(0, size - leave));
    file.syncSync();
  } catch {
    // A file system without any room may refuse to note the length; then nothing is left.
  }
  file.close();
  return () => {
    try {
      Deno.removeSync(path);
    } catch {
      // It was given back before.
    }
  };
}

/** The reason why no file system of our own can be mounted, if there is one. */
export async function whyNoDisk(): Promise<string | undefined> {
  if (Deno.build.os !== "linux") return "loop mounts need Linux";
  if (Deno.uid() !== 0) return "loop mounts need root";
  const dir = await Deno.makeTempDir({ prefix: "ac-disk-" });
  try {
    await makeImage(`${dir}/image`, 8);
    await mountImage(`${dir}/image`, `${dir}/mount`);
    cutPower(`${dir}/mount`);
    await unmount(`${dir}/mount`);
    return undefined;
  } catch (error) {
    return `no file system in a file: ${(error as Error).message}`;
  } finally {
    await unmountAll(dir).catch(() => {});
    await Deno.remove(dir, { recursive: true }).catch(() => {});
  }
}
