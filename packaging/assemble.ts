// Puts a program together in a folder: our modules as JavaScript, the packages that they need, words for people.
import { dirname, join } from "node:path";
import { type Bundled, closure, copyPackages } from "./packages.ts";
import { DENO_VERSION, type Platform } from "./platforms.ts";
import { compileSources } from "./sources.ts";

export interface Assembled {
  readonly version: string;
  readonly bundled: readonly Bundled[];
}

/** Files of a checkout that go along as they are. */
const AS_THEY_ARE = [
  "bin/agentcards.cjs",
  "bin/program.cjs",
  "bin/library.mjs",
  "LICENSE",
  "README.md",
  "CHANGELOG.md",
  "workflow.schema.json",
];

/** Makes the program of a checkout for a platform; the folder must not exist. */
export async function assemble(checkout: string, target: string, platform: Platform): Promise<Assembled> {
  const settings = JSON.parse(await Deno.readTextFile(join(checkout, "deno.json")));
  const lock = await Deno.readTextFile(join(checkout, "deno.lock"));
  await Deno.mkdir(target, { recursive: true });
  const { packages } = await compileSources(checkout, target);
  const wanted = closure(lock, packages);
  const bundled = await copyPackages(wanted, { checkout, target: join(target, "node_modules"), platform });
  for (const path of AS_THEY_ARE) {
    await Deno.mkdir(dirname(join(target, path)), { recursive: true });
    await Deno.copyFile(join(checkout, path), join(target, path));
  }
  await Deno.chmod(join(target, "bin/agentcards.cjs"), 0o755);
  const { name, version, unstable } = settings;
  // What is there is what is used: nothing is looked up, fetched or written down.
  await writeJson(join(target, "deno.json"), { name, version, unstable, nodeModulesDir: "manual", lock: false });
  await writeJson(join(target, "package.json"), await manifest(checkout, bundled, platform));
  await Deno.writeTextFile(join(target, "LICENSES.md"), licences(bundled));
  await Deno.writeTextFile(join(target, "help.txt"), await helpOf(checkout));
  // Last: a program with a stamp is whole.
  await Deno.writeTextFile(join(target, "stamp"), `${version} ${await digestOf(target)}\n`);
  return { version, bundled };
}

async function writeJson(path: string, value: unknown): Promise<void> {
  await Deno.writeTextFile(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** npm takes no package from anywhere but this one, except Deno itself. */
async function manifest(checkout: string, bundled: readonly Bundled[], platform: Platform) {
  const { private: _, ...facts } = JSON.parse(await Deno.readTextFile(join(checkout, "package.json")));
  return {
    ...facts,
    ...platformFields(platform),
    dependencies: {
      // Not `deno` itself, whose install script npm would warn about.
      [platform.deno]: DENO_VERSION,
      ...Object.fromEntries(bundled.map(({ name, version }) => [name, version])),
    },
    bundleDependencies: bundled.map(({ name }) => name),
  };
}

/** The fields by which npm knows where a package may be installed. */
export function platformFields({ os, cpu, libc }: Platform): Record<string, string[]> {
  return { os: [os], cpu: [cpu], ...libc && { libc: [libc] } };
}

function licences(bundled: readonly Bundled[]): string {
  const parts = bundled.map(({ name, version, licence, licenceText, homepage }) =>
    [
      `## ${name} ${version}`,
      `Licence: ${licence}${homepage ? `, from ${homepage}` : ""}`,
      licenceText ? "```text\n" + licenceText + "\n```" : "The package has no licence file of its own.",
    ].join("\n\n")
  );
  return `# Licences of the packages inside\n\nAgentCards itself: see LICENSE. Deno is installed by npm beside it.\n\n${
    parts.join("\n\n")
  }\n`;
}

/** The text of `--help`, which the launcher prints without starting Deno. */
async function helpOf(checkout: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--quiet",
      "--cached-only",
      "--config",
      join(checkout, "deno.json"),
      join(checkout, "main.ts"),
      "--help",
    ],
    env: { NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" },
    stdin: "null",
  }).output();
  if (!success) throw new Error(`agentcards --help failed: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}

/** SHA-256 of all that was put together. Packages count by name and version: deno.lock vouches for their content. */
async function digestOf(folder: string): Promise<string> {
  const lines: string[] = [];
  const visit = async (path: string): Promise<void> => {
    const entries = (await Array.fromAsync(Deno.readDir(join(folder, path)))).sort((a, b) => a.name < b.name ? -1 : 1);
    for (const { name, isDirectory } of entries) {
      const below = path ? `${path}/${name}` : name;
      if (below === "node_modules") continue;
      if (isDirectory) await visit(below);
      else lines.push(`${below} ${await sha256(await Deno.readFile(join(folder, below)))}`);
    }
  };
  await visit("");
  return await sha256(new TextEncoder().encode(lines.join("\n")));
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
