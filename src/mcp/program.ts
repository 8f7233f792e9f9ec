import { delimiter, isAbsolute, join } from "node:path";
import type { ResolvedServer } from "../config/expand.ts";
import { childEnvironment } from "./process.ts";

/** Endings of files that an interpreter is given to run. */
const SCRIPT = /\.(?:[cm]?[jt]s|py|rb|sh|jar)$/;

/** The folder and environment that a server's program would be started with. */
export interface ProgramContext {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The folder, program or script that is missing for a server to start, by a look at the disk; undefined where none is. */
export async function missingProgram(server: ResolvedServer, context: ProgramContext): Promise<string | undefined> {
  const { command, args = [] } = server;
  if (command === undefined) return undefined;
  const cwd = server.cwd ? join(isAbsolute(server.cwd) ? "" : context.cwd, server.cwd) : context.cwd;
  if (!(await info(cwd))?.isDirectory) return `there is no folder ${cwd}`;
  if (!await isProgram(command, { cwd, env: childEnvironment(context.env, server.env) })) {
    return `there is no program "${command}"`;
  }
  for (const arg of args) {
    if (isAbsolute(arg) && SCRIPT.test(arg) && !await info(arg)) return `there is no file ${arg}`;
  }
  return undefined;
}

async function isProgram(command: string, { cwd, env }: ProgramContext): Promise<boolean> {
  if (/[\\/]/.test(command)) return (await info(isAbsolute(command) ? command : join(cwd, command)))?.isFile === true;
  const endings = Deno.build.os === "windows" ? (env.PATHEXT ?? ".EXE;.CMD;.BAT").split(";") : [""];
  for (const folder of (env.PATH ?? "").split(delimiter)) {
    for (const ending of endings) if ((await info(join(folder || cwd, command + ending)))?.isFile) return true;
  }
  return false;
}

async function info(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    // A folder that may not be read says nothing about what is in it.
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    return { isFile: true, isDirectory: true } as Deno.FileInfo;
  }
}
