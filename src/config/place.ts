import { AgentCardsError } from "../model/mod.ts";
import { isAbsolute, join, normalize } from "node:path";
import type { ResolvedServer } from "./expand.ts";
import type { Home } from "./home.ts";
import { argumentsIn, isPackageRunner, isRelativeCommand, relativeWord } from "./runner.ts";
import { isPlaceWord, type ServerConfig } from "./schema.ts";
import type { SessionFolder } from "./trust.ts";

interface Folders {
  readonly folder: SessionFolder | undefined;
  /** The folder of the project's own file, where there is one. */
  readonly root: string | undefined;
}

/**
 * The trusted folder that a server is started in, or that its relative paths begin at: the project's for a server of a
 * project's trusted file, the session's for any other. It is a part of what a server is: another folder may hold another
 * program, and another list of tools.
 */
export function startFolder(server: ServerConfig, { folder, root }: Folders): string | undefined {
  const { command, cwd, origin, shared } = server;
  if (command === undefined || shared || cwd === "neutral" || cwd !== undefined && isAbsolute(cwd)) return undefined;
  const session = folder?.trustedBy && folder.path;
  const base = origin === "project" && cwd !== "session" ? root : session;
  // A package runner is the same in every folder unless it is given a path.
  return isPackageRunner(server) && relativeWord(server) === undefined && isPlaceWord(cwd) ? undefined : base;
}

/** A server with the folder and the arguments that its program is started with. */
export interface PlacedServer extends ResolvedServer {
  /** True where it is started in a folder of the home, which is made for it. */
  readonly isNeutral: boolean;
  /** The untrusted folder that it would have been started in otherwise. */
  readonly avoided?: string;
}

interface Where {
  readonly home: Home;
  readonly folder: SessionFolder | undefined;
}

/**
 * Decides where a server's program is started. Programs that look for packages or modules by name never start in a
 * project's folder, trusted or not, where they would find the project's own first; only an absolute `cwd` puts them
 * elsewhere. A path that would be looked for in an untrusted folder is an error.
 */
export function placeServer(server: ResolvedServer, { home, folder }: Where): PlacedServer {
  const { name, command, args, cwd, origin, folder: trusted } = server;
  if (command === undefined) return { ...server, isNeutral: false };
  const neutral = { ...server, cwd: join(home.run, name), isNeutral: true };
  const isRunner = isPackageRunner(server);
  if (cwd !== undefined && !isPlaceWord(cwd)) return inPath(server, cwd, { folder, isRunner });
  if (cwd === "neutral") return neutral;
  if (isRelativeCommand(command) && (origin === "global" || !trusted)) {
    throw refused(server, `its command "${command}" is a path in the folder of the session`, {
      hint: `Name the program by its whole path, or set servers.${name}.cwd to the folder it is in.`,
    });
  }
  if (!trusted) {
    const untrusted = folder && !folder.trustedBy ? folder.path : undefined;
    if (cwd === "session" && !isTrusted(folder)) {
      throw refused(server, folder ? `${folder.path} is not trusted` : "this session has no folder", trustHint(server));
    }
    const word = relativeWord(server);
    if (word !== undefined) throw refused(server, pathProblem(word, { server, folder }), trustHint(server));
    return { ...neutral, ...untrusted !== undefined && !isRunner && { avoided: untrusted } };
  }
  if (!isRunner) return { ...server, cwd: trusted, isNeutral: false };
  const placed = argumentsIn(trusted, { command, args });
  if (!placed) {
    throw refused(server, `"${relativeWord(server)}" is a package in the folder of the session`, {
      hint: `Set servers.${name}.cwd to an absolute path if packages are to be found there.`,
    });
  }
  return { ...neutral, args: placed };
}

function isTrusted(folder: SessionFolder | undefined): boolean {
  return folder?.trustedBy !== undefined;
}

/** A path of the configuration: absolute, or below a trusted folder. */
function inPath(
  server: ResolvedServer,
  cwd: string,
  { folder, isRunner }: { folder: SessionFolder | undefined; isRunner: boolean },
): PlacedServer {
  const { name, folder: trusted } = server;
  if (isAbsolute(cwd)) {
    // A variable may lead into the session's folder without a word about it.
    const isGuessed = folder !== undefined && !folder.trustedBy && server.hasVariableCwd &&
      `${normalize(cwd)}/`.startsWith(join(folder.path, "/"));
    if (isGuessed) throw refused(server, `${folder.path} is not trusted`, trustHint(server));
    return { ...server, cwd, isNeutral: false };
  }
  if (!trusted || isRunner) {
    throw refused(server, `its cwd "${cwd}" is a path in the folder of the session`, {
      hint: isRunner
        ? `Set servers.${name}.cwd to an absolute path.`
        : `Run \`agentcards trust\` in that folder, or set servers.${name}.cwd to an absolute path.`,
    });
  }
  return { ...server, cwd: join(trusted, cwd), isNeutral: false };
}

function pathProblem(word: string, { server, folder }: { server: ResolvedServer; folder: SessionFolder | undefined }) {
  if (server.shared) return `"${word}" is a relative path, and a shared server belongs to no folder`;
  if (!folder) return `"${word}" is a relative path, and this session has no folder`;
  if (folder.trustedBy) return `"${word}" is a relative path that came out of a variable`;
  return `"${word}" is a path in ${folder.path}, which is not trusted`;
}

function trustHint({ name, shared }: ResolvedServer): { hint: string } {
  const own = `set servers.${name}.cwd to the folder it belongs to`;
  return { hint: shared ? `Use an absolute path, or ${own}.` : `Run \`agentcards trust\` in that folder, or ${own}.` };
}

function refused({ name }: ResolvedServer, why: string, details: { hint: string }): AgentCardsError {
  return new AgentCardsError("SERVER_UNREACHABLE", `Cannot start server "${name}": ${why}`, details);
}
