import { hash } from "node:crypto";

/** The kinds of rows: calls and requests, what was decided about them, and what changed. */
export type AuditKind =
  /** An acting call, before it goes out. */
  | "sent"
  /** A call that has ended, refused ones too. */
  | "call"
  /** A verdict that is no plain permission, and the word of a human. */
  | "decision"
  /** What rates and budgets counted for a call; negative where it was not made. */
  | "counted"
  /** The end of a run. */
  | "run"
  /** A change of the configuration, a start or an end of the engine. */
  | "config"
  | "engine"
  /** A pinned definition or identity changed, was withheld, or was accepted by a person. */
  | "pin"
  /** A person had the files put back that a run or a client had changed, or took that back. */
  | "undo"
  /** The audit was read out. */
  | "export"
  /** Rows that could not be written. */
  | "gap"
  /** Segments that were removed because of their age. */
  | "pruned"
  /** A last line that a power cut left unfinished was taken off. */
  | "torn";

/** One event, as its author tells it. Every value is flat: text, a number or a truth value. */
export interface AuditEvent {
  readonly kind: AuditKind;
  readonly [field: string]: string | number | boolean | undefined;
}

/** The place of a row in the chain. */
export interface Link {
  readonly seq: number;
  readonly hash: string;
}

/** Before the first row. */
export const ORIGIN: Link = Object.freeze({ seq: 0, hash: "0".repeat(64) });

/** The longest value of a field; longer ones are cut, and say so. */
const LONGEST_FIELD = 8_192;
const PREFIX = '{"hash":"';
const BODY_AT = PREFIX.length + 64 + 2;

/** A row as it is stored, and its place: the hash is that of the canonical text (RFC 8785) of all other fields. */
export function seal(event: AuditEvent, previous: Link): { readonly line: string; readonly link: Link } {
  const seq = previous.seq + 1;
  const body = canonicalRow({ ...event, seq, prev: previous.hash });
  const digest = hash("sha256", body);
  return { line: `${PREFIX}${digest}",${body.slice(1)}`, link: { seq, hash: digest } };
}

/** Fields in the order of their names. They are flat, and their names need no escapes. */
function canonicalRow(fields: Readonly<Record<string, string | number | boolean | undefined>>): string {
  let text = "";
  for (const name of Object.keys(fields).sort()) {
    const value = fields[name];
    if (value === undefined) continue;
    const kept = typeof value === "string" && value.length > LONGEST_FIELD
      ? `${value.slice(0, LONGEST_FIELD).toWellFormed()}… (${value.length} characters)`
      : value;
    text += `${text === "" ? "{" : ","}"${name}":${JSON.stringify(kept)}`;
  }
  return `${text}}`;
}

// A quote inside a value is escaped, so that these match the fields themselves only.
const PLACE = /[{,]"prev":"([0-9a-f]{64})"(?:,"[a-z_]+":(?:"(?:[^"\\]|\\.)*"|[^",{}]+))*?,"seq":(\d+)[,}]/;

/** The place that a stored line claims, and the hash of the row before; undefined if the line was not written by `seal`. */
export function readLine(line: string): (Link & { readonly prev: string }) | undefined {
  if (!line.startsWith(PREFIX) || line[BODY_AT - 1] !== "," || line[BODY_AT - 2] !== '"') return undefined;
  const digest = line.slice(PREFIX.length, BODY_AT - 2);
  const body = `{${line.slice(BODY_AT)}`;
  const [, prev, seq] = PLACE.exec(body) ?? [];
  if (prev === undefined || hash("sha256", body) !== digest) return undefined;
  return { seq: Number(seq), hash: digest, prev };
}

/** The fields of a stored row. */
export type AuditRow = AuditEvent & Link & { readonly prev: string; readonly at: number };
