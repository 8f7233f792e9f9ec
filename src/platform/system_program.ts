/** Folders that only the machine's administrator can write. The variable is for tests of machines without a program. */
const FOLDERS: readonly string[] = Deno.env.get("AGENTCARDS_SYSTEM_PATH")?.split(":") ??
  ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/run/current-system/sw/bin", "/usr/local/bin"];

/** The search path of programs of ours that start others. */
export const SYSTEM_PATH: string = FOLDERS.join(":");

/**
 * The path of a program that comes with the system. It is not looked for in the PATH: that of the session that happened to
 * start the engine may begin with a folder of a project.
 */
export function systemProgram(name: string): string {
  if (Deno.build.os === "windows") return name;
  return FOLDERS.map((folder) => `${folder}/${name}`).find(isFile) ?? `${FOLDERS[0]}/${name}`;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
