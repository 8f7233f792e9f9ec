import { AgentCardsError, isObject, messageOf, sha256, within } from "../model/mod.ts";
import { parseDocument } from "yaml";
import { isPattern } from "./policy_schema.ts";

/** The part of a file that holds without trust: it forbids and asks more, and starts nothing. */
export interface Tightening {
  readonly deny: readonly string[];
  readonly approve: readonly string[];
  readonly tokenize: boolean;
  readonly minimumLevel: number;
  /** The parts that cannot be used, in words. */
  readonly problems: readonly string[];
}

/** A longer text is parsed in a Worker: nobody has vouched for it, and everybody would wait. */
const SHORT = 4_096;
const PARSE_MS = 5_000;
/** More patterns than these would slow every search down. */
export const MAX_UNTRUSTED_PATTERNS = 500;

/** The last readings, by the hashes of their texts. */
const known = new Map<string, Tightening>();
const MOST_KNOWN = 100;

/** Reads what holds without trust out of the text of a project's file; an error where that cannot be told in time. */
export async function readTightening(text: string, path: string): Promise<Tightening> {
  const hash = await sha256(text);
  const before = known.get(hash);
  if (before) return before;
  const found = text.length <= SHORT ? tighteningIn(text) : await parseElsewhere(text, path);
  if (known.size >= MOST_KNOWN) known.delete(known.keys().next().value!);
  known.set(hash, found);
  return found;
}

async function parseElsewhere(text: string, path: string): Promise<Tightening> {
  const worker = new Worker(new URL("./tighten_worker.ts", import.meta.url), { type: "module" });
  try {
    const answer = new Promise<Tightening>((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = (event) => (event.preventDefault(), reject(new Error(event.message)));
      worker.postMessage(text);
    });
    return await within(answer, PARSE_MS, `it could not be read within ${PARSE_MS / 1_000} s`);
  } catch (cause) {
    throw unusable(path, messageOf(cause));
  } finally {
    worker.terminate();
  }
}

/** The error of a project's file whose rules cannot be told: nothing is called where they may forbid it. */
export function unusable(path: string, why: string): AgentCardsError {
  return new AgentCardsError("CONFIG_INVALID", `Cannot use ${path}: ${why}`, {
    hint: "Its rules cannot be told, so nothing can be called from this folder. Make the file readable and smaller, " +
      "or remove it.",
  });
}

/** What holds without trust in a text. A text that is no YAML, or a part that is not as it should be, is a problem. */
export function tighteningIn(text: string): Tightening {
  const problems: string[] = [];
  const file = valueOf(text, problems);
  const { policy, sandbox } = isObject(file) ? file : {};
  const rules = isObject(policy) ? policy : {};
  const patterns = (name: "deny" | "approve"): string[] => {
    const given = rules[name];
    if (given === undefined || given === null) return [];
    const list = Array.isArray(given) ? given : [];
    const usable = list.filter((item) => typeof item === "string" && isPattern(item));
    if (!Array.isArray(given) || usable.length < list.length) problems.push(`policy.${name} is no list of patterns`);
    return usable;
  };
  const level = isObject(sandbox) ? sandbox.minimum_level : undefined;
  if (rules.pii !== undefined && rules.pii !== "off" && rules.pii !== false && rules.pii !== "tokenize") {
    problems.push("policy.pii is neither off nor tokenize");
  }
  return {
    deny: patterns("deny"),
    approve: patterns("approve"),
    tokenize: rules.pii === "tokenize",
    minimumLevel: typeof level === "number" && level > 0 ? Math.min(3, Math.ceil(level)) : 0,
    problems,
  };
}

function valueOf(text: string, problems: string[]): unknown {
  try {
    // Looking for keys that come twice takes time that grows with their square.
    const document = parseDocument(text, { uniqueKeys: false, prettyErrors: false });
    if (document.errors.length > 0) problems.push("it is not YAML");
    return document.errors.length > 0 ? undefined : document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    problems.push(messageOf(error));
  }
}
