// What a row of the audit costs, how fast a chain is checked, and whether planted changes are found.
import { hash } from "node:crypto";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type AuditEvent, openAudit, verifyAudit } from "../../src/policy/mod.ts";
import { killUnderLoad } from "./audit_kill.ts";
import type { Evaluation } from "./main.ts";
import { type Random, seeded } from "../model/random.ts";

/** The changes are planted in a short chain of several files and heads: each is checked as a whole. */
const SHORT = { rows: 240, sessions: 6, segmentBytes: 16_000 };
const YEAR_MS = 365 * 86_400_000;

export const evaluation: Evaluation = {
  options: {
    rows: { type: "string", default: "100000" },
    mutations: { type: "string", default: "10000" },
    kills: { type: "string", default: "0" },
    seed: { type: "string", default: "1" },
  },
  async run({ rows = "100000", mutations = "10000", kills = "0", seed = "1" }) {
    const base = mkdtempSync("/tmp/agentcards-audit-");
    try {
      const whole = measure(join(base, "whole"), Number(rows));
      const planted = plant(base, Number(mutations), seeded(Number(seed)));
      const killed = Number(kills) > 0 ? await killUnderLoad(Number(kills), seeded(Number(seed))) : {};
      return { rows: Number(rows), ...whole, ...planted, ...killed };
    } finally {
      rmSync(base, { recursive: true });
    }
  },
};

const EVENT: AuditEvent = {
  kind: "call",
  tool: "github:list_commits",
  by: "agent",
  client: "claude-code",
  folder: "/home/user/project",
  call: "c_0",
  effect: "read",
  outcome: "ok",
  ms: 12.3,
  bytes: 1_234,
};

function measure(folder: string, rows: number) {
  const appendUs = (() => {
    using audit = openAudit({ folder, engine: "eval", keepMs: YEAR_MS });
    const times: number[] = [];
    for (let i = 0; i < rows; i++) {
      const began = performance.now();
      audit.append({ ...EVENT, call: `c_${i}`, args: audit.digest(`{"page":${i}}`) });
      times.push(performance.now() - began);
    }
    return times.reduce((sum, ms) => sum + ms, 0) / rows * 1_000;
  })();
  const began = performance.now();
  const { findings, rows: checked } = verifyAudit(folder);
  if (findings.length > 0 || checked !== rows) {
    throw new Error(`an honest chain is told as changed: ${JSON.stringify(findings[0])}`);
  }
  const seconds = (performance.now() - began) / 1_000;
  return { us_per_append: Math.round(appendUs * 10) / 10, rows_per_s: Math.round(rows / seconds) };
}

function plant(base: string, mutations: number, random: Random) {
  const honest = join(base, "honest");
  for (let i = 0; i < SHORT.sessions; i++) {
    using audit = openAudit({ folder: honest, engine: `eval-${i}`, keepMs: YEAR_MS, segmentBytes: SHORT.segmentBytes });
    for (let n = 0; n < SHORT.rows / SHORT.sessions; n++) audit.append({ ...EVENT, call: `c_${i}_${n}` });
  }
  if (verifyAudit(honest).findings.length > 0) throw new Error("an honest chain is told as changed");
  const kinds: Record<string, { planted: number; found: number }> = {};
  const names = Object.keys(MUTATIONS);
  const folder = join(base, "changed");
  for (let i = 0; i < mutations; i++) {
    const name = names[i % names.length]!;
    cpSync(honest, folder, { recursive: true });
    MUTATIONS[name]!(folder, random);
    const count = kinds[name] ??= { planted: 0, found: 0 };
    count.planted++;
    if (verifyAudit(folder).findings.length > 0) count.found++;
    rmSync(folder, { recursive: true });
  }
  const found = Object.values(kinds).reduce((sum, kind) => sum + kind.found, 0);
  return { mutations, found, kinds };
}

/** Rewrites one file of rows, picked at random; its lines are given and taken without their ends. */
function rewrite(folder: string, random: Random, change: (lines: string[]) => string[]): void {
  const files = readdirSync(folder).filter((name) => name.startsWith("rows-")).sort();
  const path = join(folder, pick(files, random));
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  writeFileSync(path, change(lines).map((line) => `${line}\n`).join(""));
}

/** The same change, with every hash from there to the end of the file made anew, as somebody would who knows the form. */
function reseal(lines: string[], from: number): string[] {
  let prev: string | undefined;
  return lines.map((line, i) => {
    if (i < from) return line;
    const { hash: _old, ...row } = JSON.parse(line);
    if (prev !== undefined) row.prev = prev;
    const body = JSON.stringify(row);
    prev = hash("sha256", body);
    return `{"hash":"${prev}",${body.slice(1)}`;
  });
}

const EDITS: readonly ((row: Record<string, unknown>) => void)[] = [
  (row) => row.tool = "github:get_file",
  (row) => row.outcome = "failed",
  (row) => row.at = Number(row.at) + 1,
  (row) => row.by = "human",
  (row) => delete row.folder,
  (row) => row.more = "x",
];

function edited(lines: string[], at: number, random: Random): string[] {
  const row = JSON.parse(lines[at]!);
  pick(EDITS, random)(row);
  return lines.with(at, JSON.stringify(row));
}

const MUTATIONS: Readonly<Record<string, (folder: string, random: Random) => void>> = {
  byte: (folder, random) =>
    rewrite(folder, random, (lines) => {
      const at = random.below(lines.length);
      const line = lines[at]!;
      const place = random.below(line.length);
      const other = line[place] === "a" ? "b" : "a";
      return lines.with(at, line.slice(0, place) + other + line.slice(place + 1));
    }),
  edit: (folder, random) => rewrite(folder, random, (lines) => edited(lines, random.below(lines.length), random)),
  edit_resealed: (folder, random) =>
    rewrite(folder, random, (lines) => {
      const at = random.below(lines.length);
      return reseal(edited(lines, at, random), at);
    }),
  insert: (folder, random) =>
    rewrite(folder, random, (lines) => {
      const at = random.below(lines.length);
      return lines.toSpliced(at, 0, edited(lines, random.below(lines.length), random)[at]!);
    }),
  remove: (folder, random) => rewrite(folder, random, (lines) => lines.toSpliced(random.below(lines.length), 1)),
  swap: (folder, random) =>
    rewrite(folder, random, (lines) => {
      const at = random.below(lines.length - 1);
      return lines.with(at, lines[at + 1]!).with(at + 1, lines[at]!);
    }),
  truncate: (folder, random) => rewrite(folder, random, (lines) => lines.slice(0, random.below(lines.length))),
  truncate_end: (folder, random) => {
    const last = readdirSync(folder).filter((name) => name.startsWith("rows-")).sort().at(-1)!;
    const lines = readFileSync(join(folder, last), "utf8").split("\n").slice(0, -1);
    writeFileSync(join(folder, last), lines.slice(0, random.below(lines.length)).map((line) => `${line}\n`).join(""));
  },
  remove_file: (folder, random) => {
    const files = readdirSync(folder).filter((name) => name.startsWith("rows-"));
    rmSync(join(folder, pick(files, random)));
  },
  head_edited: (folder, random) => changeHead(folder, random, (head) => ({ ...head, seq: head.seq - 1 })),
  head_removed: (folder, random) => {
    const lines = headLines(folder);
    // The last head and the rows behind the head before it prove nothing here: only a head elsewhere does.
    writeFileSync(
      join(folder, "heads"),
      lines.toSpliced(random.below(lines.length - 1), 1).map((line) => `${line}\n`).join(""),
    );
  },
};

function headLines(folder: string): string[] {
  return readFileSync(join(folder, "heads"), "utf8").split("\n").filter(Boolean);
}

function changeHead(folder: string, random: Random, change: (head: { seq: number }) => unknown): void {
  const lines = headLines(folder);
  const at = random.below(lines.length);
  writeFileSync(
    join(folder, "heads"),
    lines.with(at, JSON.stringify(change(JSON.parse(lines[at]!)))).map((line) => `${line}\n`).join(""),
  );
}

function pick<T>(values: readonly T[], random: Random): T {
  return values[random.below(values.length)]!;
}
