import { type PlacedServer, scriptOf } from "../config/mod.ts";
import { type FileInfo, fs, system } from "../platform/start.ts";
import { delimiter, isAbsolute, join } from "node:path";
import { childEnvironment } from "./process.ts";

/** Endings of files that an interpreter is given to run. */
const SCRIPT = /\.(?:[cm]?[jt]s|py|rb|sh|jar)$/;

/** The folder and environment that a server's program would be started with. */
export interface ProgramContext {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The folder, program or script that is missing for a server to start, by a look at the disk; undefined where none is. */
export async function missingProgram(server: PlacedServer, context: ProgramContext): Promise<string | undefined> {
  const { command, args = [] } = server;
  if (command === undefined) return undefined;
  const cwd = server.cwd ?? context.cwd;
  if (!server.isNeutral && !(await info(cwd))?.isDirectory) return `there is no folder ${cwd}`;
  const found = await programFiles(command, { cwd, env: childEnvironment(context, server) });
  if (found.length === 0) return `there is no program "${command}"`;
  if (!found.some(isExecutable)) return `"${command}" is not executable`;
  const script = server.isNeutral || server.cwd === undefined ? undefined : scriptOf({ command, args, cwd });
  for (const file of new Set([...args, ...script === undefined ? [] : [script]])) {
    if (isAbsolute(file) && SCRIPT.test(file) && !await info(file)) return `there is no file ${file}`;
  }
  return undefined;
}

/** The files that a command may mean: its own path, or those of its name on the path. */
async function programFiles(command: string, { cwd, env }: ProgramContext): Promise<FileInfo[]> {
  const endings = system.os === "windows" ? (env.PATHEXT ?? ".EXE;.CMD;.BAT").split(";") : [""];
  const paths = /[\\/]/.test(command)
    ? [isAbsolute(command) ? command : join(cwd, command)]
    : (env.PATH ?? "").split(delimiter).flatMap((folder) =>
      endings.map((ending) => join(folder || cwd, command + ending))
    );
  const found = await Promise.all(paths.map(info));
  return found.filter((file) => file !== undefined && file.isFile) as FileInfo[];
}

function isExecutable({ mode }: FileInfo): boolean {
  return typeof mode !== "number" || system.os === "windows" || (mode & 0o111) !== 0;
}

async function info(path: string): Promise<FileInfo | undefined> {
  try {
    return await fs.stat(path);
  } catch (error) {
    // A folder that may not be read says nothing about what is in it.
    if (fs.isNotFound(error) || fs.isNotADirectory(error)) return undefined;
    return { isFile: true, isDirectory: true } as FileInfo;
  }
}
