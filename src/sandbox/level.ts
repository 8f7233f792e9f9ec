import { type Cgroups, findCgroups } from "./cgroup.ts";
import { ENTER, type Level } from "./command.ts";
import { systemProgram } from "../platform/start.ts";

export interface Available {
  readonly level: Level;
  readonly why: string;
  /** The way to a stronger level; undefined if there is none. */
  readonly stronger?: string | undefined;
  /** The means to make cages of level 3. */
  readonly groups?: Cgroups;
  /** The program that makes a process die with the one that started it, where there is one that can. */
  readonly setpriv?: string | undefined;
}

/** The strongest cage that this machine can build: each level needs the programs of those below it, too. */
export async function availableLevel(): Promise<Available> {
  const [found, setpriv] = await Promise.all([strongest(), findSetpriv()]);
  return { ...found, setpriv };
}

async function strongest(): Promise<Available> {
  if (Deno.build.os !== "linux") return { level: 0, why: "Deno's own permissions" };
  if (!await works(systemProgram("prlimit"), ["--data=1073741824", systemProgram("true")])) {
    return { level: 0, why: "no prlimit here", stronger: "install util-linux for prlimit" };
  }
  const isolated = await works(systemProgram("bwrap"), [
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    "--ro-bind",
    "/",
    "/",
    "true",
  ]);
  if (!isolated) {
    const stronger = await works(systemProgram("bwrap"), ["--version"])
      ? "allow user namespaces for bubblewrap (the sysctl user.max_user_namespaces above 0; on Ubuntu an AppArmor " +
        "profile with userns for bwrap; in a container, its own setting)"
      : "install bubblewrap";
    return { level: 1, why: "prlimit; no usable bubblewrap", stronger };
  }
  const groups = await findCgroups(async ({ directory }) =>
    await works(systemProgram("sh"), ["-c", ENTER, directory, "true"])
  );
  if (!groups) {
    const stronger = "run the engine where it may make control groups with a memory limit";
    return { level: 2, why: "prlimit and bubblewrap; no control group of our own", stronger };
  }
  return { level: 3, why: "prlimit, bubblewrap and a control group", groups };
}

/** The path of `setpriv`, where it can make a process die with the one that started it. */
async function findSetpriv(): Promise<string | undefined> {
  if (Deno.build.os !== "linux") return undefined;
  const program = systemProgram("setpriv");
  return await works(program, ["--pdeathsig", "KILL", systemProgram("true")]) ? program : undefined;
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
