/**
 * What code finds in a cage besides the language itself, as far as its types are of use. Every other global of Deno is
 * known to the checker by name and is `any`.
 */
export const GLOBALS = `
declare const context: any;
declare const deps: Record<string, { readonly status: string; readonly output: any; readonly error: string | null }>;
declare const tools: Record<string, (input?: object) => Promise<any>>;
declare const results: { get(handle: string, path?: readonly (string | number)[]): Promise<any> };
declare class ToolError extends Error {
  constructor(message: string, tool: string, ...rest: any[]);
  readonly tool: string;
}

declare module "node:*";
declare module "data:*";
interface ImportMeta { [name: string]: any }
interface ErrorConstructor { captureStackTrace(target: object, from?: Function): void; stackTraceLimit: number }

interface Console extends
  Readonly<
    Record<
      | "log" | "info" | "debug" | "warn" | "error" | "trace" | "dir" | "table" | "assert" | "clear" | "count"
      | "countReset" | "dirxml" | "group" | "groupCollapsed" | "groupEnd" | "time" | "timeEnd" | "timeLog",
      (...data: any[]) => void
    >
  > {}
declare const console: Console;
declare function setTimeout(work: (...args: any[]) => void, ms?: number, ...args: any[]): any;
declare function setInterval(work: (...args: any[]) => void, ms?: number, ...args: any[]): any;
declare function clearTimeout(id?: any): void;
declare function clearInterval(id?: any): void;
declare function queueMicrotask(work: () => void): void;
declare function structuredClone<T>(value: T, options?: object): T;
declare function atob(text: string): string;
declare function btoa(text: string): string;
/** There is no network in a cage. */
declare function fetch(input: \`data:\${string}\` | \`blob:\${string}\`, init?: object): Promise<any>;

declare class TextEncoder {
  readonly encoding: string;
  encode(text?: string): Uint8Array<ArrayBuffer>;
  encodeInto(text: string, into: Uint8Array): { read: number; written: number };
}
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  decode(bytes?: ArrayBufferLike | ArrayBufferView, options?: { stream?: boolean }): string;
}
declare class URLSearchParams {
  constructor(init?: string | Iterable<readonly string[]> | Record<string, any> | URLSearchParams);
  readonly size: number;
  append(name: string, value: any): void;
  delete(name: string, value?: any): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: any): boolean;
  set(name: string, value: any): void;
  sort(): void;
  forEach(work: (value: string, name: string, all: URLSearchParams) => void, self?: any): void;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  entries(): IterableIterator<[string, string]>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}
declare class URL {
  constructor(url: string | URL, base?: string | URL);
  static canParse(url: string | URL, base?: string | URL): boolean;
  static parse(url: string | URL, base?: string | URL): URL | null;
  static createObjectURL(blob: any): string;
  static revokeObjectURL(url: string): void;
  href: string;
  readonly origin: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  hash: string;
  readonly searchParams: URLSearchParams;
  toJSON(): string;
}
`;
