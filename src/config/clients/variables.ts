import { basename } from "node:path";
import type { ClientId } from "./client.ts";

/** What the variables of one client mean in one file. */
export interface Dialect {
  readonly client: ClientId;
  readonly userHome: string;
  /** Only a project's file knows its folder. */
  readonly workspace?: string;
  /** VS Code's questions to the user: id → the reference that takes its place. */
  readonly inputs: ReadonlyMap<string, string>;
}

const OURS = /^[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?$/;

/** A client's text with our `${VAR}` references; what has no meaning outside of the client goes to `unresolved`. */
export function translate(text: string, dialect: Dialect, unresolved: Set<string>): string {
  switch (dialect.client) {
    case "gemini":
      return text.replace(/\$(?:\{([^}]+)\}|([A-Za-z_][A-Za-z0-9_]*))/g, (all, braced?: string, bare?: string) => {
        return bare ? `\${${bare}}` : OURS.test(braced!) ? all : unknown(all, unresolved);
      });
    case "cursor":
    case "vscode":
    case "windsurf":
    case "file":
      return text.replace(
        /\$\{([^}]*)\}/g,
        (all, inner: string) => editorVariable(inner, dialect) ?? unknown(all, unresolved),
      );
    default:
      return text;
  }
}

function editorVariable(inner: string, { userHome, workspace, inputs }: Dialect): string | undefined {
  if (inner.startsWith("env:")) return OURS.test(inner.slice(4)) ? `\${${inner.slice(4)}}` : undefined;
  if (inner.startsWith("input:")) return inputs.get(inner.slice(6));
  switch (inner) {
    // Written out rather than as ${HOME}: what comes out of a variable is treated as a secret.
    case "userHome":
      return userHome;
    case "workspaceFolder":
    case "workspaceRoot":
      return workspace;
    case "workspaceFolderBasename":
      return workspace && basename(workspace);
    case "pathSeparator":
    case "/":
      return "/";
    default:
      return OURS.test(inner) ? `\${${inner}}` : undefined;
  }
}

function unknown(all: string, unresolved: Set<string>): string {
  unresolved.add(all);
  return all;
}

/** A text as the name of a variable: `github-token` → `GITHUB_TOKEN`. */
export function variableName(text: string): string {
  const name = text.replace(/[^A-Za-z0-9]+/g, "_").replace(/^_+|_+$/g, "").toUpperCase() || "VALUE";
  return /^[0-9]/.test(name) ? `_${name}` : name;
}

/** VS Code's `inputs` as references, one name per id. */
export function inputReferences(inputs: unknown): ReadonlyMap<string, string> {
  const references = new Map<string, string>();
  const names = new Set<string>();
  for (const input of Array.isArray(inputs) ? inputs : []) {
    if (typeof input?.id !== "string" || references.has(input.id)) continue;
    const base = variableName(input.id);
    let name = base;
    for (let n = 2; names.has(name); n++) name = `${base}_${n}`;
    names.add(name);
    const fallback = input.password !== true && typeof input.default === "string" && !/[${}]/.test(input.default)
      ? `:-${input.default}`
      : "";
    references.set(input.id, `\${${name}${fallback}}`);
  }
  return references;
}
