import { fs } from "../../platform/start.ts";
import { dirname, isAbsolute, join } from "node:path";

/** The address of the repository that a folder belongs to, without user and password; null where there is none. */
export async function repositoryOf(folder: string): Promise<string | null> {
  for (let at = folder; at !== dirname(at); at = dirname(at)) {
    const config = await configIn(join(at, ".git"));
    if (config !== undefined) return addressIn(config);
  }
  return null;
}

async function configIn(git: string): Promise<string | undefined> {
  const direct = await readSmall(join(git, "config"));
  if (direct !== undefined) return direct;
  // A worktree has a file that leads to a part of the repository.
  const link = /^gitdir: (.+)$/m.exec(await readSmall(git) ?? "")?.[1];
  if (link === undefined) return undefined;
  const part = isAbsolute(link) ? link : join(dirname(git), link);
  const common = (await readSmall(join(part, "commondir")))?.trim();
  return await readSmall(join(part, common ?? ".", "config"));
}

const LARGEST = 256 * 1024;

async function readSmall(path: string): Promise<string | undefined> {
  const info = await fs.stat(path).catch(() => undefined);
  if (!info?.isFile || info.size > LARGEST) return undefined;
  return await fs.readTextFile(path).catch(() => undefined);
}

/** The address of `origin`, the same for all spellings of one repository: `HOST/PATH`, or a path of this machine. */
function addressIn(config: string): string | null {
  const section = /^\[remote "origin"\]\s*\n((?:(?!\[).*\n?)*)/m.exec(config)?.[1];
  const url = /^\s*url\s*=\s*(\S.*?)\s*$/m.exec(section ?? "")?.[1];
  return url === undefined ? null : repositoryAddress(url);
}

export function repositoryAddress(url: string): string {
  const [, host, path] = /^[a-z][\w+.-]*:\/\/(?:[^@/]*@)?([^/]+)\/(.+)$/i.exec(url) ??
    /^(?:[^@/]+@)?([^:/]+):(?!\/\/)(.+)$/.exec(url) ??
    [];
  const address = host === undefined ? url : `${host.toLowerCase()}/${path!.replace(/^\/+/, "")}`;
  return address.replace(/\/+$/, "").replace(/\.git$/, "");
}
