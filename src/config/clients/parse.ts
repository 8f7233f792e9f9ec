import { jsonDepth, messageOf } from "../../model/mod.ts";
import { parse as parseJsonc, type ParseError, printParseErrorCode } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { parse as parseYaml } from "yaml";

const MAX_DEPTH = 200;

/** A client's file as data. Errors name the place and never quote the text, which may hold credentials. */
export function parseFile(text: string, format: "json" | "toml" | "yaml"): unknown {
  if (format === "toml") return readToml(text);
  if (format === "yaml") return readYaml(text);
  return readJson(text);
}

function readJson(text: string): unknown {
  const { body } = splitBom(text);
  if (body.trim() === "") return {};
  if (jsonDepth(new TextEncoder().encode(body), MAX_DEPTH) > MAX_DEPTH) throw new Error("it nests too deeply");
  const errors: ParseError[] = [];
  const data: unknown = parseJsonc(body, errors, { allowTrailingComma: true });
  const first = errors[0];
  if (first) throw new Error(`line ${lineAt(body, first.offset)}: ${words(printParseErrorCode(first.error))}`);
  return data;
}

/** `InvalidSymbol` → `invalid symbol`. */
function words(code: string): string {
  return code.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}

function readToml(text: string): unknown {
  try {
    return parseToml(splitBom(text).body);
  } catch (error) {
    // The rest of the message quotes the lines around the error.
    const line = (error as { line?: number }).line;
    throw new Error(`${line ? `line ${line}: ` : ""}${messageOf(error).split("\n")[0]}`);
  }
}

function readYaml(text: string): unknown {
  try {
    return parseYaml(text, { prettyErrors: false, maxAliasCount: 100 }) ?? {};
  } catch (error) {
    const at = (error as { pos?: [number, number] }).pos?.[0];
    throw new Error(at === undefined ? "it is not YAML" : `line ${lineAt(text, at)}: it is not YAML`);
  }
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

/** Editors on Windows put a byte order mark in front, which no parser here takes. */
export function splitBom(text: string): { bom: string; body: string } {
  return text.startsWith("\ufeff") ? { bom: "\ufeff", body: text.slice(1) } : { bom: "", body: text };
}
