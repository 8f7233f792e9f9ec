// The main module of a cage: trusted, alone in its process, with no permission at all. It imports no file, since in the
// strictest cage no other file is there. The code it runs arrives as the first line of stdin and is imported as a `data:`
// module: as a main module it could read any file through static imports, whatever the permissions.

type Json = unknown;

interface First {
  readonly nonce: string;
  readonly code: string;
  readonly context: Json;
  readonly deps: Json;
  /** Names of variables and the servers they stand for. */
  readonly servers: Readonly<Record<string, string>>;
}

// Taken before the code can change them.
const { parse, stringify } = JSON;
const { Error: PlainError, Promise: PlainPromise, Map: PlainMap, Object: PlainObject, String: PlainString } =
  globalThis;
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const encode = encoder.encode.bind(encoder);
const decode = decoder.decode.bind(decoder);
const { stdin, stdout, inspect } = Deno;
const read = stdin.read.bind(stdin);
const writeSync = stdout.writeSync.bind(stdout);
const fromBase64 = Uint8Array.fromBase64.bind(Uint8Array);
// Bytes that code returns or gives to a tool: as MCP has them.
const toBase64 = PlainFunction(Uint8Array.prototype.toBase64);
PlainObject.defineProperty(Uint8Array.prototype, "toJSON", {
  // `node:buffer` sets its own.
  writable: true,
  value(this: Uint8Array) {
    return toBase64(this);
  },
});
// An error that code returns, out of Promise.allSettled for example, says what went wrong.
PlainObject.defineProperty(PlainError.prototype, "toJSON", {
  writable: true,
  value(this: Error & { tool?: string }) {
    return { name: this.name, message: this.message, ...this.tool !== undefined && { tool: this.tool } };
  },
});
const NotCapable = Deno.errors.NotCapable;
// No flag helps here. The constructor sets the name last, when message and stack are there.
const withoutFlag = (text: string) =>
  PlainString(text).replace(/, run again with the --allow-[\w-]+ flag/, ", which code in the sandbox does not have");
PlainObject.defineProperty(NotCapable.prototype, "name", {
  get: () => "NotCapable",
  set(this: Error) {
    this.message = withoutFlag(this.message);
    this.stack = withoutFlag(this.stack ?? "");
  },
});
const slice = PlainFunction(PlainString.prototype.slice);
const bytesPrototype = PlainObject.getPrototypeOf(Uint8Array.prototype);
const subarray = PlainFunction(bytesPrototype.subarray);
const lengthOf = PlainFunction(PlainObject.getOwnPropertyDescriptor(bytesPrototype, "length")!.get!);
const mapGet = PlainFunction(PlainMap.prototype.get);
const mapSet = PlainFunction(PlainMap.prototype.set);
const mapDelete = PlainFunction(PlainMap.prototype.delete);

// deno-lint-ignore no-explicit-any -- a method made a function, whatever it is
function PlainFunction(method: (...args: any[]) => any): (self: unknown, ...args: unknown[]) => any {
  return Function.prototype.call.bind(method);
}

/** The most characters of one line; longer values go in parts. */
const PART = 256 * 1024;
const LONGEST_LOG = 8 * 1024;

let buffered = "";
const chunk = new Uint8Array(64 * 1024);

function buffer(count: number | null): void {
  if (count === null) Deno.exit(0);
  buffered += decode(chunk.subarray(0, count), { stream: true });
}

/** The next line, if a whole one was read. */
function nextLine(): string | undefined {
  const end = buffered.indexOf("\n");
  if (end < 0) return undefined;
  const found = buffered.slice(0, end);
  buffered = buffered.slice(end + 1);
  return found;
}

async function line(): Promise<string> {
  for (let found = nextLine();; found = nextLine()) {
    if (found !== undefined) return found;
    buffer(await read(chunk));
  }
}

/** As long as there is nothing else to do, waiting in the system itself is quicker. */
function lineAtOnce(): string {
  for (let found = nextLine();; found = nextLine()) {
    if (found !== undefined) return found;
    buffer(stdin.readSync(chunk));
  }
}

let nonce = "";

/** A frame, or an object in it. Without a prototype: the code may add properties to `Object.prototype`. */
interface Fields {
  readonly __proto__: null;
  readonly [name: string]: string | number | boolean | undefined | null | Fields;
}

/** JSON of a frame. `JSON.stringify` of an object would call a `toJSON` that the code put on `Object.prototype`. */
function written(fields: Fields): string {
  let text = "";
  for (const name in fields) {
    const value = fields[name];
    if (value === undefined || value === null) continue;
    text += `${text && ","}"${name}":${typeof value === "object" ? written(value) : stringify(value)}`;
  }
  return `{${text}}`;
}

function send(frame: Fields): void {
  const bytes = encode(`${written({ ...frame, __proto__: null, n: nonce })}\n`);
  const length = lengthOf(bytes);
  for (let sent = 0; sent < length;) sent += writeSync(subarray(bytes, sent));
}

/** A value of any size, as JSON in parts, each a frame of its own. */
function sendValue(frame: Fields, value: unknown): void {
  const text: string | undefined = stringify(value);
  const json = text ?? "null";
  let at = 0;
  for (; json.length - at > PART; at += PART) send({ ...frame, __proto__: null, part: slice(json, at, at + PART) });
  send({ ...frame, __proto__: null, last: slice(json, at), none: text === undefined ? true : undefined });
}

interface Waiter {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  text: string;
  /** The line of the call in the code. */
  readonly place: string;
}
const waiting = new PlainMap<number, Waiter>();
let calls = 0;

class ToolError extends PlainError {
  override readonly name = "ToolError";
  constructor(message: string, readonly tool: string, place: string) {
    super(message);
    this.stack = place;
  }
}

function ask(method: "call" | "result", what: string, args: unknown): Promise<unknown> {
  const id = ++calls;
  const place = PlainString(new PlainError().stack);
  return new PlainPromise((resolve, reject) => {
    mapSet(waiting, id, { resolve, reject, text: "", place });
    sendValue({ __proto__: null, t: method, id, what }, args);
  });
}

/** A value as JSON has it, except that what a tool gave as bytes is bytes. */
function revived(json: string): unknown {
  if (json.indexOf('"$bytes"') < 0) return parse(json);
  return parse(json, (_key, value) => {
    if (typeof value?.$bytes !== "string") return value;
    try {
      return PlainObject.assign(fromBase64(value.$bytes), { mimeType: value.mimeType });
    } catch {
      return value;
    }
  });
}

async function takeReplies(): Promise<never> {
  for (;;) {
    const { id, part, last, error, tool } = parse(await line());
    const waiter = mapGet(waiting, id) as Waiter | undefined;
    if (!waiter) continue;
    if (part !== undefined) {
      waiter.text += part;
      continue;
    }
    mapDelete(waiting, id);
    if (error !== undefined) waiter.reject(new ToolError(error, tool, waiter.place));
    else waiter.resolve(revived(waiter.text + last));
  }
}

const call = (tool: string) => (args: unknown = {}) => ask("call", tool, args);
const byName = (server: string) =>
  new Proxy(PlainObject.create(null), {
    get: (_, name) => typeof name === "string" && name !== "then" ? call(`${server}:${name}`) : undefined,
  });
const tools = new Proxy(PlainObject.create(null), {
  get: (_, id) => typeof id === "string" && id !== "then" ? call(id) : undefined,
});
const results = PlainObject.freeze({
  get: (handle: string, path?: unknown) => ask("result", PlainString(handle), path),
});

function log(level: string) {
  return (...values: unknown[]) => {
    const text = values.map((value) => typeof value === "string" ? value : inspect(value, { depth: 4 })).join(" ");
    send({ __proto__: null, t: "log", level, text: slice(text, 0, LONGEST_LOG) });
  };
}
const quiet = () => {};
const levels = {
  log: "info",
  info: "info",
  debug: "debug",
  warn: "warning",
  error: "error",
  trace: "debug",
  dir: "info",
  table: "info",
};
globalThis.console = new Proxy({} as Console, {
  get: (_, name) => typeof name === "string" && name in levels ? log(levels[name as keyof typeof levels]) : quiet,
});

// A thread has all the globals that are removed below, and is not bound by anything that this file does.
class NoWorker {
  constructor() {
    throw new NotCapable("Code in the sandbox may not start threads");
  }
}
// The ES module copies its exports from this object when it is first imported. The first such call makes the global
// function `nodeBootstrap`, which is removed below.
PlainObject.assign(process.getBuiltinModule("node:worker_threads"), { Worker: NoWorker });
const { Worker: imported } = await import("node:worker_threads");
if (imported as unknown !== NoWorker) throw new PlainError("Worker threads cannot be closed in this version of Deno");

// Not a boundary, only tidy: what would keep something for another run, start another thread, or talk past the runner.
const TAKEN_AWAY =
  "Worker localStorage sessionStorage caches BroadcastChannel EventSource WebSocket prompt alert confirm nodeBootstrap";
for (const name of TAKEN_AWAY.split(" ")) delete (globalThis as Record<string, unknown>)[name];
// It would load the drivers of the machine.
delete (Navigator.prototype as unknown as { gpu?: unknown }).gpu;
delete (Deno as unknown as Record<symbol, unknown>)[(Deno as unknown as { internal: symbol }).internal];
for (const name of ["stdin", "stdout", "stderr"]) PlainObject.defineProperty(Deno, name, { value: undefined });
// Nothing new can pass itself off as something that was given.
PlainObject.preventExtensions(globalThis);

/**
 * Static imports cannot stand in a function: those that the code begins with go to the front, and an empty place stays
 * where they were. Further down they are left alone: what looks like one may be part of a text.
 */
// deno-fmt-ignore -- in one line, as typecheck_runner.ts has it
const IMPORT = /((?:\s|\/\/[^\n]*\n|\/\*[\s\S]*?\*\/)*)(import\s*(?:[\w*{][^'";]*?\sfrom\s*)?["'][^"'\n]+["'](?:\s*with\s*\{[^}]*\})?[ \t]*;?)/gy;

interface Wrapped {
  /** The text before the code, on its first line, so that every line keeps its number. */
  readonly head: string;
  readonly url: string;
  readonly lines: number;
}

/** The code as the body of a function that is given everything it may use. */
function wrap(code: string, variables: readonly string[]): Wrapped {
  const imports: string[] = [];
  const body = code.replace(IMPORT, (found, _before: string, statement: string) => {
    imports.push(statement.replace(/\s+/g, " ").trim().replace(/;?$/, ";"));
    return found.replace(/[^\n]/g, "");
  });
  const names = ["context", "deps", "tools", "results", "ToolError", ...variables];
  const head = `${imports.join("")}export default async (${
    names.map((name) => `${name}: any`).join(", ")
  }) => await (async () => {`;
  const source = `${head}${body}\n})();\n`;
  const url = `data:application/typescript;base64,${toBase64(encode(source))}`;
  return { head, url, lines: code.split("\n").length };
}

// A cage waits before it is used: what everything costs the first time is paid then.
const { default: warmUp } = await import(wrap("const a: number = 1; return a", ["server"]).url);
parse(stringify({ n: "", value: await warmUp() }));

globalThis.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  send({ __proto__: null, t: "error", error: failureOf(event.reason, false) });
});
// The first line wakes us up, the second is the code.
lineAtOnce();
send({ __proto__: null, t: "up" });
const first = parse(lineAtOnce()) as First;
nonce = first.nonce;
const { head, url, lines } = wrap(first.code, PlainObject.keys(first.servers));

interface Failure extends Fields {
  readonly type: string;
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
  readonly tool?: string;
}

/** The error, with the line and column in its author's text. */
function failureOf(thrown: unknown, isLoading: boolean): Failure {
  const error = thrown instanceof PlainError ? thrown : new PlainError(`${PlainString(thrown)} was thrown`);
  let message = PlainString(error.message).slice(0, 4_000);
  const stack = PlainString(error.stack ?? "").slice(0, 20_000);
  const place = /data:application\/typescript;base64,[\w+/=.]+:(\d+):(\d+)/.exec(isLoading ? message : stack);
  message = message.replace(/data:application\/typescript;base64,[\w+/=.]+/g, "code");
  // The lines of a parser show our own frame around the code; the place says enough.
  if (isLoading) message = message.split("\n")[0]!.replace(/^SyntaxError: /, "").replace(/ at code:\d+:\d+$/, "");
  const type = isLoading && (error instanceof SyntaxError || /could not be parsed|SyntaxError/.test(error.message))
    ? "SyntaxError"
    : error instanceof NotCapable || /permission|Requires .* access/i.test(message)
    ? "PermissionError"
    : error instanceof RangeError && /allocation|length|memory/i.test(message)
    ? "MemoryError"
    : error instanceof ToolError
    ? "ToolError"
    : "RuntimeError";
  const isPastEnd = place && Number(place[1]) > lines;
  if (isPastEnd) message = `The code ends too early: ${message}`;
  const where = place && {
    line: Math.min(Number(place[1]), lines),
    ...!isPastEnd && {
      column: Number(place[1]) === 1 ? Math.max(1, Number(place[2]) - head.length) : Number(place[2]),
    },
  };
  return {
    __proto__: null,
    type,
    message: error.name === "Error" || type !== "RuntimeError" ? message : `${error.name}: ${message}`,
    ...where,
    ...error instanceof ToolError && { tool: error.tool },
  };
}

void takeReplies();
let isLoading = true;
try {
  const module = await import(url);
  isLoading = false;
  const servers = PlainObject.values(first.servers).map(byName);
  const value = await module.default(first.context, first.deps, tools, results, ToolError, ...servers);
  sendValue({ __proto__: null, t: "value" }, value);
} catch (error) {
  send({ __proto__: null, t: "error", error: failureOf(error, isLoading) });
}
