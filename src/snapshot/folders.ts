import { exactStats } from "../platform/mod.ts";

/**
 * Tells of paths below a root if all folders above them are folders: behind a link in their place lies something that is no
 * file of this repository. Each folder is looked at once.
 */
export function realFolders(root: string): (path: string) => boolean {
  const { look } = exactStats();
  const known = new Map<string, boolean>([["", true]]);
  const isFolder = (folder: string): boolean => {
    const found = known.get(folder);
    if (found !== undefined) return found;
    const is = isFolder(parentOf(folder)) && look(`${root}/${folder}`)?.kind === "folder";
    known.set(folder, is);
    return is;
  };
  return (path) => isFolder(parentOf(path));
}

/** The folder of a path below the root; "" for the root itself. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** The folders above a path below the root, the outermost first. */
export function foldersOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, i) => parts.slice(0, i + 1).join("/"));
}
