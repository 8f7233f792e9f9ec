import type { Reaper } from "../mcp/mod.ts";
import type { Sandbox, TypeChecker } from "../sandbox/mod.ts";
import { fs, installation } from "../platform/start.ts";
import { type CodeCache, createCodeCache } from "./cache.ts";
import { createSandboxLevel, type SandboxLevel } from "./sandbox_level.ts";

/** Runs the code of all sessions. Each part of it is started when it is first needed. */
export interface CodeRoom {
  /** The level of the cages that this engine can build. */
  readonly level: Pick<SandboxLevel, "report" | "accept">;
  sandbox(): Promise<Sandbox>;
  types(): Promise<TypeChecker>;
  readonly cache: CodeCache;
  close(): Promise<void>;
}

export interface CodeRoomOptions {
  reaper(): Reaper;
  /** The folder for compiled code. */
  readonly cacheDirectory: string;
  /** The file that records how strong the cages were. */
  readonly levelFile: string;
}

export function createCodeRoom({ reaper, cacheDirectory, levelFile }: CodeRoomOptions): CodeRoom {
  const level = createSandboxLevel(levelFile);
  let sandboxing: Promise<Sandbox> | undefined;
  let typing: Promise<TypeChecker> | undefined;

  /** As strong a cage as this machine can build. */
  async function openSandbox(): Promise<Sandbox> {
    await installation.unchanged();
    const { watch, forget } = reaper();
    const { createSandbox } = await (import("../sandbox/sandbox.ts" as string) as Promise<
      typeof import("../sandbox/sandbox.ts")
    >);
    const { level: strength, groups, setpriv } = await level.require();
    // One engine works in a home: what lies there was left by one that was killed.
    const folder = `${cacheDirectory}/cages`;
    await fs.remove(folder, { recursive: true }).catch(() => {});
    await fs.mkdir(folder, { recursive: true, mode: 0o700 });
    return createSandbox({ level: strength, groups, setpriv, folder, watch, forget });
  }

  async function openTypes(): Promise<TypeChecker> {
    await installation.unchanged();
    const { watch, forget } = reaper();
    const { createTypeChecker } = await (import("../sandbox/typecheck.ts" as string) as Promise<
      typeof import("../sandbox/typecheck.ts")
    >);
    const { setpriv } = await level.available();
    return createTypeChecker({ watch, forget, setpriv, cache: cacheDirectory });
  }

  return {
    level,
    // One that did not open is opened anew when somebody asks again.
    sandbox: () => sandboxing ??= openSandbox().catch((error) => (sandboxing = undefined, Promise.reject(error))),
    types: () => typing ??= openTypes().catch((error) => (typing = undefined, Promise.reject(error))),
    cache: createCodeCache(),
    async close() {
      await (await sandboxing?.catch(() => undefined))?.close();
      await (await typing?.catch(() => undefined))?.close();
    },
  };
}
