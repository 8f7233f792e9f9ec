// The main module of the type checker's process: reads code, never runs it. It may read one folder, that of the compiler,
// and gives even that up before the first code arrives; the compiler sees only files that are in memory.
import { createRequire } from "node:module";
import process from "node:process";
import type { CompilerHost, CompilerOptions, Diagnostic, Program, SourceFile } from "typescript";
import { GLOBALS } from "./typecheck_globals.ts";

interface Request {
  readonly id: number;
  readonly code: string;
  readonly declarations: string;
  readonly names: readonly string[];
}

interface Problem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly code: number;
}

const FOLDER = Deno.args[0]!;
const LIB = "lib.esnext.d.ts";
const MAX_PROBLEMS = 20;
const MAX_MESSAGE = 450;
const KEPT_END = 120;

// A browser has no files: with this the compiler does not even build the part of it that reads and writes some.
Object.defineProperty(process, "browser", { value: true });
const ts: typeof import("typescript") = createRequire(import.meta.url)(`${FOLDER}typescript.js`);

const CODE = "/code.ts";
const TOOLS = "/tools.d.ts";
const TOOLS_MODULE = "agentcards:tools";
const options: CompilerOptions = {
  target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  moduleDetection: ts.ModuleDetectionKind.Force,
  lib: [LIB],
  types: [],
  libReplacement: false,
  noEmit: true,
  skipLibCheck: true,
  strict: false,
  strictNullChecks: true,
  // Without it `const rows = []` would hold nothing, ever (never[]); its own complaints are left out below.
  noImplicitAny: true,
  useUnknownInCatchVariables: false,
  allowUnreachableCode: true,
  allowUnusedLabels: true,
  allowImportingTsExtensions: true,
};

/** Everything there is; what is not in here does not exist. */
const texts = new Map<string, string>([["/globals.d.ts", GLOBALS]]);
for (const { name } of Deno.readDirSync(FOLDER)) {
  // Of the libraries only the language: no DOM, no scripting host, and not the bundles that name those.
  if (/^lib\.(es|decorators)[\w.]*\.d\.ts$/.test(name) && !name.includes(".full.")) {
    texts.set(`/lib/${name}`, Deno.readTextFileSync(`${FOLDER}${name}`));
  }
}
Deno.permissions.revokeSync({ name: "read" });

/** Parsed once: files that are the same in every check, and the declarations of the last one. */
const parsed = new Map<string, SourceFile>();
const host: CompilerHost = {
  getSourceFile(name, version) {
    const known = parsed.get(name);
    const text = texts.get(name);
    if (text === undefined || known?.text === text) return known;
    const file = ts.createSourceFile(name, text, version);
    // A program takes over from the one before it what has the same version.
    Object.assign(file, { version: `${name} ${++made}` });
    parsed.set(name, file);
    return file;
  },
  fileExists: (name) => texts.has(name),
  readFile: (name) => texts.get(name),
  directoryExists: () => false,
  getDirectories: () => [],
  writeFile() {},
  getDefaultLibFileName: () => `/lib/${LIB}`,
  getDefaultLibLocation: () => "/lib",
  getCurrentDirectory: () => "/",
  getCanonicalFileName: (name) => name,
  useCaseSensitiveFileNames: () => true,
  getNewLine: () => "\n",
  resolveModuleNameLiterals: (literals) =>
    literals.map(({ text }) => ({
      resolvedModule: text === TOOLS_MODULE ? { resolvedFileName: TOOLS, extension: ts.Extension.Dts } : undefined,
    })),
  resolveTypeReferenceDirectiveReferences: (references) =>
    references.map(() => ({ resolvedTypeReferenceDirective: undefined })),
};
let made = 0;
let program: Program | undefined;

/** The same as in runner.ts, so that what is checked is what runs. */
// deno-fmt-ignore -- in one line, as runner.ts has it
const IMPORT = /((?:\s|\/\/[^\n]*\n|\/\*[\s\S]*?\*\/)*)(import\s*(?:[\w*{][^'";]*?\sfrom\s*)?["'][^"'\n]+["'](?:\s*with\s*\{[^}]*\})?[ \t]*;?)/gy;

interface Piece {
  /** Its place in the compiled text, and in the code. */
  readonly at: number;
  readonly from: number;
  readonly length: number;
}

/** The module that the runner would make of the code, with a way back for every place in it. */
function wrap(code: string, parameters: string): { source: string; placeOf(position: number): number } {
  const pieces: Piece[] = [];
  let source = "";
  const body = code.replace(IMPORT, (found, before: string, statement: string, from: number) => {
    pieces.push({ at: source.length, from: from + before.length, length: statement.length });
    source += `${statement}\n`;
    return found.replace(/[^\n]/g, " ");
  });
  source += `export default async (${parameters}) => await (async () => {`;
  pieces.push({ at: source.length, from: 0, length: code.length });
  source += `${body}\n})();\n`;
  return {
    source,
    placeOf(position) {
      const piece = pieces.find(({ at, length }) => position >= at && position < at + length);
      return piece ? piece.from + position - piece.at : code.length;
    },
  };
}

function check({ code, declarations, names }: Request): Problem[] {
  // The last line makes it a module; in a module of declarations all of them are exported.
  texts.set(TOOLS, `${declarations}\nexport declare const _: 0;\n`);
  const tools = host.getSourceFile(TOOLS, options.target!)!;
  const broken = syntaxOf(tools)[0];
  if (broken) throw new Error(`the declarations are not TypeScript: ${textOf(broken)}`);
  const declared = tools.statements.flatMap((statement) =>
    ts.isVariableStatement(statement) ? [...statement.declarationList.declarations] : []
  ).flatMap(({ name }) => ts.isIdentifier(name) && name.text !== "_" ? [name.text] : []);
  // Parameters, as in the runner: a server may be called as a global is (fetch), or as an import.
  const types = new Map([
    ...names.map((name) => [name, "any"] as const),
    ...declared.map((name) => [name, `typeof import("${TOOLS_MODULE}").${name}`] as const),
  ]);
  const { source, placeOf } = wrap(code, [...types].map(([name, type]) => `${name}: ${type}`).join(", "));
  texts.set(CODE, source);
  program = ts.createProgram({
    rootNames: ["/globals.d.ts", TOOLS, CODE],
    options,
    host,
    ...program && { oldProgram: program },
  });
  const file = program.getSourceFile(CODE)!;
  const syntax = program.getSyntacticDiagnostics(file);
  // What follows from broken syntax is noise.
  const found = syntax.length > 0 ? syntax : program.getSemanticDiagnostics(file).filter(matters);
  const placed = found.map((problem) => ({ problem, place: placeOf(problem.start ?? 0) }));
  const inside = placed.filter(({ place }) => place < code.length).sort((a, b) => a.place - b.place);
  const behind = placed.filter(({ place }) => place >= code.length);
  // Where the wrapping does not fit any more, each complaint about it is as puzzling as the next.
  const last = behind.length > 1 ? UNBALANCED : behind[0] && textOf(behind[0].problem);
  const at = (place: number) => {
    const before = code.slice(0, place);
    return { line: before.split("\n").length, column: before.length - before.lastIndexOf("\n") };
  };
  return [
    ...inside.slice(0, MAX_PROBLEMS - (last ? 1 : 0)).map(({ problem, place }) => ({
      ...at(place),
      message: textOf(problem),
      code: problem.code,
    })),
    ...last ? [{ ...at(code.length), message: last, code: behind[0]!.problem.code }] : [],
  ];
}

const UNBALANCED = "The brackets do not match: one is not closed, or closed twice.";

function syntaxOf(file: SourceFile): readonly Diagnostic[] {
  return (file as unknown as { parseDiagnostics: readonly Diagnostic[] }).parseDiagnostics;
}

const FORGOT_AWAIT = 2773;

/** Without advice that is meant for a project with settings and packages. */
function textOf({ code, messageText, relatedInformation }: Diagnostic): string {
  const text = code === 7053 && typeof messageText !== "string" ? messageText.next?.[0] ?? messageText : messageText;
  const advice = relatedInformation?.find((related) => related.code === FORGOT_AWAIT);
  return [text, ...advice ? [advice.messageText] : []]
    .map((part) => shorten(ts.flattenDiagnosticMessageText(part, " ").replace(/ Do you need to .*/s, "")))
    .join(" ");
}

/** Whole types stand in the middle; at the end is what was probably meant. */
function shorten(text: string): string {
  return text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE - KEPT_END)} … ${text.slice(-KEPT_END)}`;
}

/** The globals of Deno that the runner removes. */
const TAKEN_AWAY = new Set(
  "Worker localStorage sessionStorage caches BroadcastChannel EventSource WebSocket prompt alert confirm".split(" "),
);
const UNKNOWN_NAME = new Set([2304, 2503, 2552, 2580, 2581, 2582, 2583, 2584, 2591, 2592, 2593, 2867, 2868]);
const NO_PROPERTY = new Set([2339, 2551]);
const LEFT_OUT = new Set([
  // Arithmetic with what is no number: `new Date(a) - new Date(b)` is how everybody sorts.
  ...[2362, 2363],
  // Types of modules that nothing is known about.
  ...[2694, 2709],
  // What a result may lack: the code that reads it knows better than its schema.
  ...[2531, 2532, 2533, 18047, 18048, 18049],
]);

/** True if a problem would also be one at run time, not only a missing type. */
function matters({ code, file, start, length, messageText }: Diagnostic): boolean {
  const text = typeof messageText === "string" ? messageText : messageText.messageText;
  if (UNKNOWN_NAME.has(code)) {
    const name = file!.text.slice(start!, start! + length!);
    return !(name in globalThis) || TAKEN_AWAY.has(name);
  }
  // `const counts = {}` says nothing about what will be in there.
  if (NO_PROPERTY.has(code)) return !text.includes(" on type '{}'");
  // All of 7xxx is about an implicit `any`. That a thing has no part of a name that is written there is worth knowing.
  if (code === 7053) return text.includes(`expression of type '"`) && !text.includes(" index type '{}'");
  return !LEFT_OUT.has(code) && !(code >= 7_000 && code < 8_000);
}

const encoder = new TextEncoder();
function send(frame: Record<string, unknown>): void {
  const bytes = encoder.encode(`${JSON.stringify(frame)}\n`);
  for (let sent = 0; sent < bytes.length;) sent += Deno.stdout.writeSync(bytes.subarray(sent));
}

send({ ready: true });
let buffered = "";
for await (const chunk of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  buffered += chunk;
  if (!chunk.includes("\n")) continue;
  const lines = buffered.split("\n");
  buffered = lines.pop()!;
  for (const line of lines) {
    const request = JSON.parse(line) as Request;
    try {
      send({ id: request.id, problems: check(request) });
    } catch (error) {
      // Whatever state the compiler is in now, nobody asks it again.
      send({ id: request.id, ...error instanceof RangeError ? { tooDeep: true } : { failed: String(error) } });
      Deno.exit(1);
    }
  }
}
Deno.exit(0);
