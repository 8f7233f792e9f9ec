// The rules of the house, checked on every run. There is no exemption list: when a rule is wrong, change the rule here,
// in one commit, with the reason.
import assert from "node:assert/strict";
import ts from "typescript";

/** Each room may import itself and any room on an earlier line, never its neighbours. */
const LAYERS = [
  ["model"],
  ["platform"],
  ["config", "telemetry"],
  ["db"],
  ["mcp", "vector", "graphrag", "policy", "sandbox", "dag", "notify", "snapshot", "stats"],
  ["call"],
  ["code", "suggest", "agents"],
  ["workflow"],
  ["serve"],
  ["control"],
  ["engine"],
  ["web"],
  ["cli"],
];
/** The files of a room that other rooms may import: what is public, and what pulls in no package. */
const DOORS = ["mod.ts", "start.ts"];
const MAX_LINES = 400;
const MAX_FILES = 25;
/** Lines of a function's own, those of nested functions not counted. */
const MAX_FUNCTION = 80;
/** Packages that are slow to load, and the only room that may import each. */
const HEAVY: Readonly<Record<string, string>> = {
  "@electric-sql/pglite": "db",
  "@electric-sql/pglite-pgvector": "db",
  "@huggingface/transformers": "vector",
  "@modelcontextprotocol/client": "mcp",
  "@modelcontextprotocol/server": "serve",
  "typescript": "sandbox",
  "graphology": "graphrag",
  "graphology-communities-louvain": "graphrag",
  "graphology-shortest-path": "graphrag",
  "postgres": "db",
};
/** A statement, or the beginning of one. */
const SQL =
  /\b(?:select\s[^]+?\sfrom|insert\s+into|update\s+\w+(?:\s+\w+)?\s+set|delete\s+from|(?:create|alter|drop)\s+(?:table|index|extension)|lock\s+table)\s/i;
/** The rooms that know the runtime. */
const RUNTIME_ROOMS = ["platform", "sandbox"];

const SRC = new URL("../src/", import.meta.url);
const STATIC = /^\s*(?:import|export)\b[^;"']*?\bfrom\s+"([^"]+)"|^\s*import\s+"([^"]+)"/gm;
const DYNAMIC = /\bimport\(\s*"([^"]+)"|new URL\("(\.[^"]+\.ts)"/gm;
const rank = new Map(LAYERS.flatMap((rooms, i) => rooms.map((room) => [room, i])));

interface Module {
  readonly path: string;
  readonly text: string;
  readonly packages: readonly string[];
  /** Files of `src` that are imported at the top, types included. */
  readonly imports: readonly string[];
  /** The same without types: what is loaded with the file. */
  readonly values: readonly string[];
  /** Files that are loaded or started when they are needed. */
  readonly loads: readonly string[];
}

function* modules(dir = SRC): Generator<Module> {
  for (const entry of Deno.readDirSync(dir)) {
    const url = new URL(entry.name + (entry.isDirectory ? "/" : ""), dir);
    if (entry.isDirectory) yield* modules(url);
    else if (/\.tsx?$/.test(entry.name)) {
      const text = Deno.readTextFileSync(url);
      const found = (pattern: RegExp, within = text) =>
        [...within.matchAll(pattern)].map((match) => match[1] ?? match[2]!);
      const inside = (specifiers: readonly string[]) =>
        specifiers.filter((specifier) => specifier.startsWith("."))
          .map((specifier) => new URL(specifier, url).href)
          .filter((href) => href.startsWith(SRC.href))
          .map((href) => href.slice(SRC.href.length));
      const all = [...found(STATIC), ...found(DYNAMIC)];
      yield {
        path: url.href.slice(SRC.href.length),
        text,
        packages: all.filter((specifier) => !specifier.startsWith(".")),
        imports: inside(found(STATIC)),
        values: inside(found(STATIC, withoutTypes(text))),
        loads: inside(found(DYNAMIC)),
      };
    }
  }
}

const house = new Map([...modules()].map((module) => [module.path, module]));
const all = [...house.values()];
const roomOf = (path: string) => path.split("/")[0]!;
const fileOf = (path: string) => path.split("/").slice(1).join("/");

/** Every file that a file needs to start, itself included. */
function reach(path: string, seen = new Set<string>()): Set<string> {
  if (!seen.has(path)) {
    seen.add(path);
    house.get(path)?.values.forEach((next) => reach(next, seen));
  }
  return seen;
}

/** Edges that break a rule, as text. */
function edges(pick: (module: Module) => readonly string[], isWrong: (from: string, to: string) => boolean): string[] {
  return all.flatMap((module) =>
    pick(module).filter((to) => isWrong(module.path, to)).map((to) => `${module.path} -> ${to}`)
  );
}

Deno.test("every room has a place in the layers", () => {
  assert.deepEqual([...house.keys()].filter((path) => !rank.has(roomOf(path))), []);
});

Deno.test("imports point down the layers, types and lazy ones included", () => {
  const both = ({ imports, loads }: Module) => [...imports, ...loads];
  const isUp = (from: string, to: string) =>
    roomOf(to) !== roomOf(from) && !(rank.get(roomOf(to))! < rank.get(roomOf(from))!);
  assert.deepEqual(edges(both, isUp), []);
});

Deno.test("every relative import exists", () => {
  const both = ({ imports, loads }: Module) => [...imports, ...loads];
  assert.deepEqual(edges(both, (_, to) => to.endsWith(".ts") && !house.has(to)), []);
});

Deno.test("a room imports the door of another room, never its files", () => {
  const isPastTheDoor = (from: string, to: string) => roomOf(to) !== roomOf(from) && !DOORS.includes(fileOf(to));
  assert.deepEqual(edges(({ imports }) => imports, isPastTheDoor), []);
});

Deno.test("no room imports its own door, and no door has code of its own", () => {
  assert.deepEqual(
    edges(({ imports }) => imports, (from, to) => roomOf(from) === roomOf(to) && fileOf(to) === "mod.ts"),
    [],
  );
  const busy = all.filter(({ path }) => DOORS.includes(fileOf(path)))
    .filter(({ text }) =>
      text.replace(/\/\/[^\n]*|\/\*[^]*?\*\//g, "").replace(/export (?:type )?\{[^}]*\} from "[^"]+";/g, "").trim()
    );
  assert.deepEqual(busy.map(({ path }) => path), []);
});

Deno.test("no file imports itself by way of others, types included", () => {
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (path: string, way: readonly string[]) => {
    const at = way.indexOf(path);
    if (at >= 0) circles.push([...way.slice(at), path].join(" -> "));
    if (at >= 0 || done.has(path)) return;
    for (const next of house.get(path)?.imports ?? []) visit(next, [...way, path]);
    done.add(path);
  };
  for (const path of house.keys()) visit(path, []);
  assert.deepEqual(circles, []);
});

Deno.test("the runtime's own API is used in its rooms only", () => {
  const bad = all.filter(({ path, text }) =>
    !RUNTIME_ROOMS.includes(roomOf(path)) && /\bDeno\./.test(withoutComments(text))
  );
  assert.deepEqual(bad.map(({ path }) => path), []);
});

Deno.test("SQL stands in stores and in the database's room only", () => {
  const bad = all.filter(({ path, text }) =>
    roomOf(path) !== "db" && !path.endsWith("_store.ts") && textsOf(path, text).some((part) => SQL.test(part))
  );
  assert.deepEqual(bad.map(({ path }) => path), []);
});

Deno.test(`no file is longer than ${MAX_LINES} lines, no folder has more than ${MAX_FILES} files`, () => {
  const long = all.filter(({ text }) => text.trimEnd().split("\n").length > MAX_LINES);
  assert.deepEqual(long.map(({ path }) => path), []);
  const folders = Map.groupBy(house.keys(), (path) => path.replace(/[^/]*$/, ""));
  assert.deepEqual([...folders].filter(([, files]) => files.length > MAX_FILES).map(([folder]) => folder), []);
});

Deno.test(`no function has more than ${MAX_FUNCTION} lines of its own`, () => {
  assert.deepEqual(all.flatMap(({ path, text }) => longFunctions(path, text)), []);
});

Deno.test("no file or folder is a junk drawer", () => {
  const junk = /(^|\/)(utils?|helpers?|common|shared|misc|types|index)(\.tsx?|\/)/;
  assert.deepEqual([...house.keys()].filter((path) => junk.test(path)), []);
});

Deno.test("interfaces carry no I prefix and classes keep state in #fields", () => {
  const habit = /\binterface I[A-Z][a-z]|^\s+private\s/m;
  assert.deepEqual(all.filter(({ text }) => habit.test(text)).map(({ path }) => path), []);
});

Deno.test("a heavy package is imported in its own room only", () => {
  const bad = all.flatMap(({ path, packages }) =>
    packages
      .filter((name) => {
        const owner = Object.entries(HEAVY).find(([heavy]) => name === heavy || name.startsWith(`${heavy}/`));
        return owner && owner[1] !== roomOf(path);
      })
      .map((name) => `${path} -> ${name}`)
  );
  assert.deepEqual(bad, []);
});

Deno.test("serve stands on neither the SDK nor the database nor any other package", () => {
  const packages = [...reach("cli/serve.ts")].flatMap((path) => house.get(path)?.packages ?? []);
  assert.deepEqual([...new Set(packages)].filter((name) => !name.startsWith("node:")), []);
});

/** The string literals of a file, and its templates with what is between their expressions. */
function textsOf(path: string, text: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node) => {
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) found.push(node.text);
    else if (ts.isTemplateExpression(node)) {
      found.push([node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join("x"));
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
  return found;
}

/** Without imports and exports of types alone. */
function withoutTypes(text: string): string {
  return text.replace(/^(?:import|export) type [^;]*;/gm, "")
    .replace(/^(?:import|export) \{(?:\s*type \w+(?: as \w+)?,?)+\s*\} from [^;]*;/gm, "");
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[^]*?\*\//g, "").replace(/(^|\s)\/\/[^\n]*/g, "$1");
}

/** Functions with too many lines of their own, unless a comment before them gives the reason. */
function longFunctions(path: string, text: string): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line;
  const visit = (node: ts.Node): number => {
    let nested = 0;
    ts.forEachChild(node, (child) => {
      nested += visit(child);
    });
    if (!ts.isFunctionLike(node) || !("body" in node) || !node.body) return nested;
    const lines = lineOf(node.getEnd()) - lineOf(node.getStart()) + 1;
    const hasReason = /\bLong:/.test(text.slice(node.getFullStart(), node.getStart()));
    if (lines - nested > MAX_FUNCTION && !hasReason) {
      found.push(`${path}:${lineOf(node.getStart()) + 1} has ${lines - nested} lines`);
    }
    return lines;
  };
  visit(source);
  return found;
}
