import { DENO, installedPath } from "./own_program.ts";

/** Written last when a program is put together; a checkout has none and is never taken for replaced. */
const STAMP = installedPath("stamp");
const own = stampNow();
let leave: (() => void) | undefined;

/** The files that this process was started from. An update puts others into their place while it runs. */
export const installation = {
  /** Whether another program lies there now, whole enough to be started. */
  isReplaced(): boolean {
    const now = own === undefined ? undefined : stampNow();
    return now !== undefined && now !== own && isThere();
  },
  /** Whether there is a program at all: npm removes the old one before it has unpacked the new one. */
  isThere,
  /** Names what makes room for the program that took our place. */
  onNeeded(given: () => void): void {
    leave = given;
  },
  /**
   * Waited for before code is loaded or started that was not until now: beside ours, that of another version would run.
   * Where that is so, an engine makes room and this never resolves; the next engine is sent the request again.
   */
  async unchanged(): Promise<void> {
    if (leave === undefined || !installation.isReplaced()) return;
    leave();
    await new Promise<never>(() => {});
  },
} as const;

function stampNow(): string | undefined {
  try {
    return Deno.readTextFileSync(STAMP);
  } catch {
    return undefined;
  }
}

function isThere(): boolean {
  return [DENO, installedPath("main.ts")].every((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
}
