// deno-lint-ignore-file no-console -- printing is what this file is for
// deno task setup [--bin FOLDER]: installs the program of this clone and the command `agentcards`. Run it again after
// `git pull`, which changes nothing that is installed. It imports no package, since it runs before there are any.
import { chmod, copyFile, link, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type CommandFiles, MARK, shellCommand, windowsCommand } from "./packaging/command_file.ts";

const CLONE = fileURLToPath(new URL(".", import.meta.url));
const OWN = join(CLONE, ".bin");
/** The program that runs: neither an edit nor a `git pull` reaches it. */
const PROGRAM = join(OWN, "agentcards");
const IS_WINDOWS = Deno.build.os === "windows";

class Refused extends Error {}

async function main(args: readonly string[]): Promise<void> {
  const bin = folderIn(args) ?? join(homeFolder(), ".local", "bin");
  const launcher = join(bin, IS_WINDOWS ? "agentcards.cmd" : "agentcards");
  await requireOurs(launcher);
  console.log("Installing the packages of deno.lock (their build scripts are not needed) …");
  await install();
  const deno = await keepDeno();
  await installProgram();
  await mkdir(bin, { recursive: true });
  const files: CommandFiles = { deno, config: join(PROGRAM, "deno.json"), main: join(PROGRAM, "main.js") };
  await writeAside(launcher, IS_WINDOWS ? windowsCommand(files) : shellCommand(files));
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

/** Puts the program beside the one that may be running, then into its place. */
async function installProgram(): Promise<void> {
  const [draft, before] = [`${PROGRAM}.${Deno.pid}.new`, `${PROGRAM}.${Deno.pid}.old`];
  const config = join(CLONE, "deno.json");
  await run(Deno.execPath(), ["run", "-A", "--quiet", "--config", config, "packaging/pack.ts", "--into", draft]);
  const had = await rename(PROGRAM, before).then(() => true, () => false);
  await rename(draft, PROGRAM);
  if (had) await rm(before, { recursive: true, force: true });
  for (const name of await readdir(OWN)) {
    // Left by a setup that was killed, and by older versions.
    if (/^agentcards\.\d+\.(?:new|old)$|^deno\.lock$/.test(name)) await rm(join(OWN, name), { recursive: true });
  }
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
