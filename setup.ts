// deno-lint-ignore-file no-console -- printing is what this file is for
// deno task setup [--bin FOLDER]: installs the packages of deno.lock and the command `agentcards`. Run it again after
// `git pull`. It imports no package, since it runs before there are any.
import { chmod, copyFile, link, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type LauncherFiles, MARK, shellLauncher, windowsLauncher } from "./src/cli/launcher.ts";

const CLONE = fileURLToPath(new URL(".", import.meta.url));
const OWN = join(CLONE, ".bin");
/** As the README has it: whoever has Node.js can type it. */
const SETUP = `npx -y deno@${Deno.version.deno} task setup`;
const IS_WINDOWS = Deno.build.os === "windows";

class Refused extends Error {}

async function main(args: readonly string[]): Promise<void> {
  const bin = folderIn(args) ?? join(homeFolder(), ".local", "bin");
  const launcher = join(bin, IS_WINDOWS ? "agentcards.cmd" : "agentcards");
  await requireOurs(launcher);
  console.log("Installing the packages of deno.lock (their build scripts are not needed) …");
  await install();
  const deno = await keepDeno();
  await copyFile(join(CLONE, "deno.lock"), join(OWN, "deno.lock"));
  await mkdir(bin, { recursive: true });
  const files: LauncherFiles = {
    deno,
    clone: CLONE,
    config: join(CLONE, "deno.json"),
    main: join(CLONE, "main.ts"),
    locks: [join(CLONE, "deno.lock"), join(OWN, "deno.lock")],
    setup: SETUP,
  };
  await writeAside(launcher, IS_WINDOWS ? windowsLauncher(files) : shellLauncher(files));
  await chmod(launcher, 0o755);
  const version = await run(launcher, ["--version"]);
  console.log(`agentcards ${version.trim()} is installed: ${launcher}`);
  await tellAboutPath(bin, launcher);
}

/** The folder that `--bin FOLDER` names; there is no other option. */
function folderIn(args: readonly string[]): string | undefined {
  const [flag, folder, ...rest] = args;
  if (flag === undefined) return undefined;
  if (flag !== "--bin" || !folder || rest.length > 0) throw new Refused("usage: deno task setup [--bin FOLDER]");
  return resolve(folder);
}

function homeFolder(): string {
  const home = Deno.env.get(IS_WINDOWS ? "USERPROFILE" : "HOME");
  if (!home) throw new Refused("HOME is not set; say where the command goes with --bin FOLDER");
  return home;
}

/** A file of that name that somebody else wrote is not replaced. */
async function requireOurs(launcher: string): Promise<void> {
  const text = await readFile(launcher, "utf8").catch(() => undefined);
  if (text !== undefined && !text.includes(MARK)) {
    throw new Refused(
      `${launcher} is there already and not ours. Remove it, or choose another folder with --bin FOLDER`,
    );
  }
}

/** The Deno that runs this, kept in the clone: the cache of `npx` may be emptied at any time. */
async function keepDeno(): Promise<string> {
  const kept = join(OWN, IS_WINDOWS ? "deno.exe" : "deno");
  if (Deno.execPath() === kept) return kept;
  await mkdir(OWN, { recursive: true });
  const draft = `${kept}.${Deno.pid}`;
  // Two names of one file would make the renaming do nothing.
  await rm(kept, { force: true });
  await link(Deno.execPath(), draft).catch(() => copyFile(Deno.execPath(), draft).then(() => chmod(draft, 0o755)));
  await rename(draft, kept);
  return kept;
}

async function writeAside(path: string, text: string): Promise<void> {
  const draft = `${path}.${Deno.pid}`;
  await writeFile(draft, text);
  await rename(draft, path).catch(async (error) => {
    await rm(draft, { force: true });
    throw error;
  });
}

/** Deno shows how far it is by itself. */
async function install(): Promise<void> {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["install", "--frozen"],
    cwd: CLONE,
    env: { DENO_NO_UPDATE_CHECK: "1" },
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).output();
  if (!success) throw new Refused("The packages could not be installed.");
}

async function run(command: string, args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    cwd: CLONE,
    env: { DENO_NO_UPDATE_CHECK: "1" },
    stdin: "null",
  }).output();
  const said = new TextDecoder().decode(stderr).trim();
  if (!success) throw new Refused(`${[command, ...args].join(" ")} failed:\n${said}`);
  return new TextDecoder().decode(stdout);
}

/** Tells how the shell finds the command, where it would find none or another one. */
async function tellAboutPath(bin: string, launcher: string): Promise<void> {
  const folders = (Deno.env.get("PATH") ?? "").split(delimiter);
  for (const folder of folders) {
    const found = join(folder, IS_WINDOWS ? "agentcards.cmd" : "agentcards");
    if (found === launcher) return console.log("Try: agentcards --help");
    if (await stat(found).catch(() => undefined)) {
      return console.log(`Your shell finds another one first: ${found}. Remove it, or call ${launcher}.`);
    }
  }
  console.log(`Your shell does not look there. Add this line to its profile:\n  export PATH="${bin}:$PATH"`);
}

try {
  await main(Deno.args);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  Deno.exit(error instanceof Refused ? 2 : 1);
}
