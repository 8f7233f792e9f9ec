import { dlopen, system } from "../../platform/start.ts";
/** `ioctl` with this request needs no third argument, which a foreign call could not pass everywhere. */
const FIOCLEX: Readonly<Record<string, bigint>> = { linux: 0x5451n, darwin: 0x20006601n };
const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  linux: ["libc.so.6", `libc.musl-${system.arch}.so.1`],
  darwin: ["libSystem.B.dylib"],
};

/**
 * Keeps a file descriptor from the programs that this process starts; false where that cannot be done. Sockets that
 * `node:net` listens on are open in all of them: a server could answer in the engine's place, and one that outlives the
 * engine would keep the socket alive, so that clients wait on it for nobody.
 */
export function closeOnExec(fd: number): boolean {
  const request = FIOCLEX[system.os];
  if (request === undefined) return false;
  for (const name of LIBRARIES[system.os]!) {
    try {
      const library = dlopen(name, { ioctl: { parameters: ["i32", "u64"], result: "i32" } });
      const isDone = library.symbols.ioctl(fd, request) === 0;
      library.close();
      return isDone;
    } catch {
      // Another C library.
    }
  }
  return false;
}
