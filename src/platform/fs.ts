/** The file system of the runtime. */
export const fs = {
  chmod: Deno.chmod,
  lstat: Deno.lstat,
  lstatSync: Deno.lstatSync,
  makeTempDir: Deno.makeTempDir,
  makeTempDirSync: Deno.makeTempDirSync,
  makeTempFile: Deno.makeTempFile,
  mkdir: Deno.mkdir,
  mkdirSync: Deno.mkdirSync,
  open: Deno.open,
  openSync: Deno.openSync,
  readDir: Deno.readDir,
  readDirSync: Deno.readDirSync,
  readFile: Deno.readFile,
  readFileSync: Deno.readFileSync,
  readTextFile: Deno.readTextFile,
  readTextFileSync: Deno.readTextFileSync,
  realPath: Deno.realPath,
  realPathSync: Deno.realPathSync,
  remove: Deno.remove,
  removeSync: Deno.removeSync,
  rename: Deno.rename,
  renameSync: Deno.renameSync,
  stat: Deno.stat,
  statSync: Deno.statSync,
  writeFile: Deno.writeFile,
  writeFileSync: Deno.writeFileSync,
  writeTextFile: Deno.writeTextFile,
  writeTextFileSync: Deno.writeTextFileSync,
  /** The error of a file that is not there. */
  notFound: (): Error => new Deno.errors.NotFound(),
  isNotFound: (error: unknown): boolean => error instanceof Deno.errors.NotFound,
  isNotADirectory: (error: unknown): boolean => error instanceof Deno.errors.NotADirectory,
  isWouldBlock: (error: unknown): boolean => error instanceof Deno.errors.WouldBlock,
} as const;

export const SEEK_START = Deno.SeekMode.Start;

export type FileInfo = Deno.FileInfo;
export type FsFile = Deno.FsFile;
export type OpenOptions = Deno.OpenOptions;
