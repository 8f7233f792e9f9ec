// Makes JavaScript of our own sources: Deno runs no TypeScript below `node_modules`.
import ts from "typescript";
import { dirname, join, relative } from "node:path";

/** The files that make up the program, and the packages that it imports. */
export interface Compiled {
  /** Bare package names: `zod`, `@clack/prompts`. */
  readonly packages: ReadonlySet<string>;
}

const ENTRIES = ["main.ts", "mod.ts", "deps.ts"];
/** Made by hand when the database's version changes; no part of the program. */
const LEFT_OUT = new Set(["src/db/pglite/make_template.ts"]);

/** Writes the program as JavaScript, with the data files that lie beside its modules, from a checkout into a folder. */
export async function compileSources(checkout: string, target: string): Promise<Compiled> {
  const files = [...ENTRIES, ...await filesBelow(checkout, "src")].filter((path) => !LEFT_OUT.has(path));
  const modules = new Set(files.filter((path) => path.endsWith(".ts")));
  const packages = new Set<string>();
  for (const path of files) {
    const to = join(target, modules.has(path) ? asJavaScript(path) : path);
    await Deno.mkdir(dirname(to), { recursive: true });
    if (!modules.has(path)) {
      await Deno.copyFile(join(checkout, path), to);
      continue;
    }
    const text = await Deno.readTextFile(join(checkout, path));
    await Deno.writeTextFile(to, compile(text, path, { modules, packages }));
  }
  return { packages };
}

const asJavaScript = (path: string) => path.replace(/\.ts$/, ".js");

async function filesBelow(root: string, folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(root, folder))) {
    const path = `${folder}/${name}`;
    if (isDirectory) found.push(...await filesBelow(root, path));
    else found.push(path);
  }
  return found.sort();
}

interface Known {
  readonly modules: ReadonlySet<string>;
  readonly packages: Set<string>;
}

function compile(text: string, path: string, { modules, packages }: Known): string {
  /** Any text that names one of our modules: imports, Workers, programs of their own. */
  const rename = (literal: string): string | undefined => {
    if (!/^\.{1,2}\/.*\.ts$/.test(literal)) return undefined;
    const named = relative(".", join(dirname(path), literal)).replaceAll("\\", "/");
    return modules.has(named) ? asJavaScript(literal) : undefined;
  };
  const transformer: ts.TransformerFactory<ts.SourceFile> = (context) => (source) => {
    const visit = (node: ts.Node): ts.Node => {
      if (ts.isTypeNode(node)) return node;
      if (ts.isStringLiteral(node)) {
        const renamed = rename(node.text);
        if (renamed !== undefined) return context.factory.createStringLiteral(renamed);
      }
      return ts.visitEachChild(node, visit, context);
    };
    return ts.visitNode(source, visit) as ts.SourceFile;
  };
  const { outputText, diagnostics = [] } = ts.transpileModule(text, {
    fileName: path,
    reportDiagnostics: true,
    transformers: { before: [transformer] },
    compilerOptions: { target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext },
  });
  const [problem] = diagnostics;
  if (problem) throw new Error(`Cannot compile ${path}: ${ts.flattenDiagnosticMessageText(problem.messageText, " ")}`);
  for (const name of packagesIn(outputText)) packages.add(name);
  return outputText;
}

const RESOLVED = /\bimport\.meta\.resolve\("([^"]+)"\)/g;

/** The packages that a compiled module imports: types are gone from it. */
function packagesIn(text: string): string[] {
  const imported = ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
  const resolved = [...text.matchAll(RESOLVED)].map(([, specifier]) => specifier!);
  return [...imported, ...resolved]
    .filter((specifier) => /^@?[\w-]/.test(specifier) && !specifier.startsWith("node:"))
    .map((specifier) => specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/"));
}
