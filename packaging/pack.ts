// deno-lint-ignore-file no-console -- printing is what this file is for
// deno task pack [--platform NAME…] [--all] [--registry] [--out FOLDER]: makes agentcards-VERSION-OS-CPU.tgz, with everything
// inside but Deno; --registry makes what npm's registry takes: the launcher, and a package for each platform.
// --into FOLDER puts the program for this machine into a folder, as `deno task setup` does.
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { join, resolve } from "node:path";
import { assemble, platformFields } from "./assemble.ts";
import { DENO_VERSION, type Platform, platformNamed, PLATFORMS, thisPlatform, whyNot } from "./platforms.ts";

const CHECKOUT = fileURLToPath(new URL("..", import.meta.url));
const MB = 1024 * 1024;
/** Beside Deno's own program. */
const MOST_MB = 200;

interface Options {
  readonly out: string;
  readonly isForRegistry: boolean;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      platform: { type: "string", multiple: true },
      all: { type: "boolean", default: false },
      registry: { type: "boolean", default: false },
      out: { type: "string", default: join(CHECKOUT, "dist") },
      into: { type: "string" },
    },
  });
  if (Deno.version.deno !== DENO_VERSION) {
    throw new Error(`This is Deno ${Deno.version.deno}; a package is made and tried with ${DENO_VERSION}`);
  }
  if (values.into !== undefined) {
    await assemble(CHECKOUT, resolve(values.into), thisPlatform());
    return 0;
  }
  const named = values.platform?.map(platformNamed) ?? [thisPlatform()];
  const options = { out: resolve(values.out), isForRegistry: values.registry };
  await Deno.mkdir(options.out, { recursive: true });
  const refusals: string[] = [];
  const made: Platform[] = [];
  for (const platform of values.all ? PLATFORMS : named) {
    const reason = await whyNot(platform);
    if (reason !== undefined) refusals.push(`No package for ${platform.name}: ${reason}.`);
    else {
      await packFor(platform, options);
      made.push(platform);
    }
  }
  if (values.registry && made.length > 0) await packLauncher(made, options.out);
  for (const refusal of refusals) console.error(refusal);
  return refusals.length > 0 ? 1 : 0;
}

async function packFor(platform: Platform, { out, isForRegistry }: Options): Promise<void> {
  const work = await Deno.makeTempDir({ prefix: "agentcards-pack-" });
  try {
    const folder = join(work, "package");
    const { version, bundled } = await assemble(CHECKOUT, folder, platform);
    if (isForRegistry) await rename(folder, platform);
    // The registry's package has its platform in its name, as npm builds a file's name from it.
    const name = isForRegistry
      ? `agentcards-${platform.name}-${version}.tgz`
      : `agentcards-${version}-${platform.name}.tgz`;
    const file = join(out, name);
    await archive(work, file);
    const unpacked = await sizeOf(folder);
    const packed = (await Deno.stat(file)).size;
    console.log(`${file}: ${inMb(packed)} MB, ${inMb(unpacked)} MB unpacked, ${bundled.length} packages inside`);
    if (unpacked > MOST_MB * MB) throw new Error(`It is larger than ${MOST_MB} MB`);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

/** A platform's package has no command of its own: the launcher's package has it. */
async function rename(folder: string, { name }: Platform): Promise<void> {
  const path = join(folder, "package.json");
  const { bin: _, ...facts } = JSON.parse(await Deno.readTextFile(path));
  await Deno.writeTextFile(path, `${JSON.stringify({ ...facts, name: `agentcards-${name}` }, null, 2)}\n`);
}

const LAUNCHER = [
  "bin/agentcards.cjs",
  "bin/program.cjs",
  "bin/library.mjs",
  "LICENSE",
  "README.md",
  "CHANGELOG.md",
  "workflow.schema.json",
];

/** The package `agentcards` of the registry: npm installs the one of its platforms that fits. */
async function packLauncher(platforms: readonly Platform[], out: string): Promise<void> {
  const work = await Deno.makeTempDir({ prefix: "agentcards-pack-" });
  try {
    const folder = join(work, "package");
    await Deno.mkdir(join(folder, "bin"), { recursive: true });
    for (const path of LAUNCHER) {
      await Deno.copyFile(join(CHECKOUT, path), join(folder, path));
    }
    await Deno.chmod(join(folder, "bin/agentcards.cjs"), 0o755);
    const { private: _, ...whole } = JSON.parse(await Deno.readTextFile(join(CHECKOUT, "package.json")));
    const facts = {
      ...whole,
      exports: {
        ".": "./bin/library.mjs",
        "./workflow.schema.json": "./workflow.schema.json",
        "./package.json": "./package.json",
      },
    };
    const fields = platforms.map(platformFields);
    const manifest = {
      ...facts,
      os: [...new Set(fields.flatMap(({ os }) => os!))],
      cpu: [...new Set(fields.flatMap(({ cpu }) => cpu!))],
      optionalDependencies: Object.fromEntries(platforms.map(({ name }) => [`agentcards-${name}`, facts.version])),
    };
    await Deno.writeTextFile(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    const file = join(out, `agentcards-${facts.version}.tgz`);
    await archive(work, file);
    console.log(`${file}: the launcher, for ${platforms.map(({ name }) => name).join(", ")}`);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

/** npm unpacks the folder `package` of an archive. The same files make the same archive where `tar` is GNU's. */
async function archive(work: string, file: string): Promise<void> {
  const { stdout } = await new Deno.Command("tar", { args: ["--version"] }).output();
  const isGnu = new TextDecoder().decode(stdout).includes("GNU tar");
  const same = isGnu ? ["--sort=name", "--mtime=@499162500", "--owner=0", "--group=0", "--numeric-owner"] : [];
  const { success, stderr } = await new Deno.Command("tar", {
    args: [...same, "-C", work, "-czf", file, "package"],
    env: { COPYFILE_DISABLE: "1" },
  }).output();
  if (!success) throw new Error(`tar failed: ${new TextDecoder().decode(stderr)}`);
}

async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    bytes += isDirectory ? await sizeOf(path) : (await Deno.stat(path)).size;
  }
  return bytes;
}

const inMb = (bytes: number) => (bytes / MB).toFixed(1);

try {
  Deno.exit(await main());
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  Deno.exit(1);
}
