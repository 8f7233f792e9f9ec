import type { Level } from "./command.ts";

/** How strong a cage this machine can build: 0 Deno alone, 1 with resource limits, 2 with namespaces. */
export async function availableLevel(): Promise<{ level: Level; why: string }> {
  if (Deno.build.os !== "linux") return { level: 0, why: "Deno's own permissions" };
  if (!await works("prlimit", ["--data=1073741824", "true"])) return { level: 0, why: "no prlimit here" };
  const isolated = await works("bwrap", [
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    "--ro-bind",
    "/",
    "/",
    "true",
  ]);
  return isolated ? { level: 2, why: "prlimit and bubblewrap" } : { level: 1, why: "prlimit; no usable bubblewrap" };
}

async function works(command: string, args: string[]): Promise<boolean> {
  try {
    const { success } = await new Deno.Command(command, { args, stdin: "null", stdout: "null", stderr: "null" })
      .output();
    return success;
  } catch {
    return false;
  }
}
