/** This process and its machine. */
export const system = {
  addSignalListener: Deno.addSignalListener,
  arch: Deno.build.arch,
  args: Deno.args,
  cwd: Deno.cwd,
  /** The environment variables of this process. */
  env: (): Record<string, string> => Deno.env.toObject(),
  execPath: Deno.execPath,
  exit: (code: number): never => Deno.exit(code),
  kill: Deno.kill,
  memoryUsage: Deno.memoryUsage,
  noColor: Deno.noColor,
  os: Deno.build.os,
  pid: Deno.pid,
  removeSignalListener: Deno.removeSignalListener,
  runtimeVersion: Deno.version.deno,
  uid: Deno.uid,
  umask: Deno.umask,
  /** One environment variable. */
  variable: (name: string): string | undefined => Deno.env.get(name),
} as const;

/** Lets the process end although the timer has not fired. */
export const unrefTimer = Deno.unrefTimer;

export type Signal = Deno.Signal;
