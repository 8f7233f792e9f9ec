/** Folders that only the machine's administrator can write. */
const FOLDERS: readonly string[] = [
  "/usr/bin",
  "/bin",
  "/usr/sbin",
  "/sbin",
  "/run/current-system/sw/bin",
  "/usr/local/bin",
];

/** The folders of the system; the variable is for tests of machines that lack a program. */
function folders(): readonly string[] {
  return Deno.env.get("AGENTCARDS_SYSTEM_PATH")?.split(":") ?? FOLDERS;
}

/** The search path of programs of ours that start others. */
export const SYSTEM_PATH: string = folders().join(":");

/**
 * The path of a program that comes with the system. It is not looked for in the PATH: that of the session that happened to
 * start the engine may begin with a folder of a project.
 */
export function systemProgram(name: string): string {
  if (Deno.build.os === "windows") return name;
  const all = folders().map((folder) => `${folder}/${name}`);
  return all.find(isFile) ?? all[0]!;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
