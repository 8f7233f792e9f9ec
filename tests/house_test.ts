// The rules of the house, checked on every run. There is no exemption list: when a rule is wrong, change the rule here,
// in one commit, with the reason.
import assert from "node:assert/strict";

/** Each folder may import itself and any folder on an earlier line, never its neighbours. */
const LAYERS = [
  ["model"],
  ["platform"],
  ["config", "telemetry"],
  ["db"],
  ["vector", "graphrag", "mcp", "policy", "sandbox", "dag"],
  ["gateway"],
  ["cli", "web"],
];
const MAX_LINES = 400;
/** Packages that are slow to load, and the only folder that may import each. */
const HEAVY: Readonly<Record<string, readonly string[]>> = {
  "@electric-sql/pglite": ["db"],
  "@huggingface/transformers": ["vector"],
  "@electric-sql/pglite-pgvector": ["db"],
  "@modelcontextprotocol/client": ["mcp"],
  "@modelcontextprotocol/server": ["gateway"],
  "typescript": ["sandbox"],
  "graphology": ["graphrag"],
  "graphology-communities-louvain": ["graphrag"],
  "graphology-shortest-path": ["graphrag"],
};

const SRC = new URL("../src/", import.meta.url);
const IMPORT =
  /^\s*(?:import|export)\b[^;"']*?\bfrom\s+"([^"]+)"|\bimport\s*\(?\s*"([^"]+)"|new URL\("(\.[^"]+\.ts)"/gm;
const rank = new Map(LAYERS.flatMap((folders, i) => folders.map((name) => [name, i])));

interface Module {
  readonly path: string;
  readonly text: string;
  readonly packages: readonly string[];
  readonly imports: readonly string[];
}

function* modules(dir = SRC): Generator<Module> {
  for (const entry of Deno.readDirSync(dir)) {
    const url = new URL(entry.name + (entry.isDirectory ? "/" : ""), dir);
    if (entry.isDirectory) yield* modules(url);
    else if (/\.tsx?$/.test(entry.name)) {
      const text = Deno.readTextFileSync(url);
      const specifiers = [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3]!);
      yield {
        path: url.href.slice(SRC.href.length),
        text,
        packages: specifiers.filter((specifier) => !specifier.startsWith(".")),
        imports: specifiers.filter((specifier) => specifier.startsWith("."))
          .map((specifier) => new URL(specifier, url).href)
          .filter((href) => href.startsWith(SRC.href))
          .map((href) => href.slice(SRC.href.length)),
      };
    }
  }
}

const house = new Map([...modules()].map((module) => [module.path, module]));
const folder = (path: string) => path.split("/")[0]!;

/** Every file that a file needs, itself included. */
function reach(path: string, seen = new Set<string>()): Set<string> {
  if (!seen.has(path)) {
    seen.add(path);
    house.get(path)?.imports.forEach((next) => reach(next, seen));
  }
  return seen;
}

Deno.test("every folder under src has a place in the layers", () => {
  assert.deepEqual([...house.keys()].filter((path) => !rank.has(folder(path))), []);
});

Deno.test("imports only point down the layers, types included", () => {
  const bad = [...house.values()].flatMap(({ path, imports }) =>
    imports
      .filter((to) => folder(to) !== folder(path) && !(rank.get(folder(to))! < rank.get(folder(path))!))
      .map((to) => `${path} -> ${to}`)
  );
  assert.deepEqual(bad, []);
});

Deno.test("every relative import exists", () => {
  const bad = [...house.values()].flatMap(({ path, imports }) =>
    imports.filter((to) => to.endsWith(".ts") && !house.has(to)).map((to) => `${path} -> ${to}`)
  );
  assert.deepEqual(bad, []);
});

Deno.test("_files are imported only from their own folder", () => {
  const bad = [...house.values()].flatMap(({ path, imports }) =>
    imports
      .filter((to) => /(^|\/)_/.test(to) && to.replace(/[^/]*$/, "") !== path.replace(/[^/]*$/, ""))
      .map((to) => `${path} -> ${to}`)
  );
  assert.deepEqual(bad, []);
});

Deno.test(`no file is longer than ${MAX_LINES} lines`, () => {
  const long = [...house.values()].filter(({ text }) => text.trimEnd().split("\n").length > MAX_LINES);
  assert.deepEqual(long.map(({ path }) => path), []);
});

Deno.test("no file or folder is a junk drawer", () => {
  const junk = /(^|\/)(utils?|helpers?|common|shared|misc|types|index)(\.tsx?|\/)/;
  assert.deepEqual([...house.keys()].filter((path) => junk.test(path)), []);
});

Deno.test("interfaces carry no I prefix and classes keep state in #fields", () => {
  const habit = /\binterface I[A-Z][a-z]|^\s+private\s/m;
  assert.deepEqual([...house.values()].filter(({ text }) => habit.test(text)).map(({ path }) => path), []);
});

Deno.test("a heavy package is imported in its own folder only", () => {
  const bad = [...house.values()].flatMap(({ path, packages }) =>
    packages
      .filter((name) => {
        const owner = Object.entries(HEAVY).find(([heavy]) => name === heavy || name.startsWith(`${heavy}/`));
        return owner && !owner[1].includes(folder(path));
      })
      .map((name) => `${path} -> ${name}`)
  );
  assert.deepEqual(bad, []);
});

Deno.test("serve stands on neither the SDK nor the database nor any other package", () => {
  const packages = [...reach("cli/serve.ts")].flatMap((path) => house.get(path)?.packages ?? []);
  assert.deepEqual([...new Set(packages)].filter((name) => !name.startsWith("node:")), []);
});
