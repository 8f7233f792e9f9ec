import assert from "node:assert/strict";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import {
  type Audit,
  type AuditOptions,
  type Head,
  openAudit,
  readHeads,
  readRows,
  toOcsf,
  verifyAudit,
} from "../../src/policy/mod.ts";

const YEAR_MS = 365 * 86_400_000;

/** A home for one test, with a way to open its audit. */
function withFolder(work: (folder: string, open: (options?: Partial<AuditOptions>) => Audit) => void): void {
  const base = mkdtempSync("/tmp/agentcards-audit-");
  const folder = join(base, "audit");
  try {
    work(folder, (options) => openAudit({ folder, engine: "e1", keepMs: YEAR_MS, ...options }));
  } finally {
    rmSync(base, { recursive: true });
  }
}

const call = (n: number) => ({ kind: "call", tool: "kit:echo", call: `c_${n}`, outcome: "ok" }) as const;

function write(audit: Audit, count: number): void {
  for (let n = 1; n <= count; n++) audit.append(call(n));
}

const problems = (folder: string, heads?: readonly Head[]) =>
  verifyAudit(folder, heads).findings.map(({ seq, problem }) => `${seq} ${problem}`);

Deno.test("rows go on after a restart, in a chain that ends with a signed head", () => {
  withFolder((folder, open) => {
    for (let i = 0; i < 3; i++) {
      using audit = open();
      write(audit, 4);
    }
    const { rows, heads, unsigned, findings } = verifyAudit(folder);
    assert.deepEqual({ rows, heads, unsigned, findings }, { rows: 12, heads: 3, unsigned: 0, findings: [] });
    using next = open();
    assert.deepEqual([next.state().last, next.state().signed], [12, 12], "before its first row");
    assert.deepEqual([...readRows(folder)].map(({ seq }) => seq), Array.from({ length: 12 }, (_, i) => i + 1));
  });
});

Deno.test("rows of a killed engine are there, and told as not signed yet", () => {
  withFolder((folder, open) => {
    const audit = open();
    write(audit, 7);
    const { rows, unsigned, findings } = verifyAudit(folder);
    assert.deepEqual({ rows, unsigned, findings }, { rows: 7, unsigned: 7, findings: [] });
    audit[Symbol.dispose]();
  });
});

Deno.test("a head is signed at every thousandth row, and its absence is found", () => {
  withFolder((folder, open) => {
    {
      using audit = open();
      write(audit, 2_001);
    }
    const path = join(folder, "heads");
    assert.deepEqual(readHeads(path).heads.map(({ seq }) => seq), [1_000, 2_000, 2_001]);
    writeFileSync(path, "");
    assert.deepEqual(problems(folder), ["1000 its head is missing", "2000 its head is missing"]);
  });
});

Deno.test("a changed, removed or cut row is named", () => {
  withFolder((folder, open) => {
    {
      using audit = open();
      write(audit, 9);
    }
    const [name] = readdirSync(folder).filter((file) => file.startsWith("rows-"));
    const path = join(folder, name!);
    const lines = readFileSync(path, "utf8").trimEnd().split("\n");
    const put = (rows: readonly string[]) => writeFileSync(path, rows.map((line) => `${line}\n`).join(""));

    put(lines.with(3, lines[3]!.replace("kit:echo", "kit:list")));
    assert.deepEqual(problems(folder), ["4 was changed"]);
    put(lines.toSpliced(3, 1));
    assert.deepEqual(problems(folder), ["4 is missing, up to 4"]);
    put(lines.slice(0, 6));
    assert.deepEqual(problems(folder), ["7 the rows up to 9 are missing: a head was signed for them"]);
    put(lines);
    assert.deepEqual(problems(folder), []);
  });
});

Deno.test("a head that is kept elsewhere proves rows that were cut off with their head", () => {
  withFolder((folder, open) => {
    const elsewhere: Head[] = [];
    {
      using audit = open({ onHead: (head) => elsewhere.push(head) });
      write(audit, 5);
    }
    const rows = join(folder, "rows-000000000001.jsonl");
    writeFileSync(rows, readFileSync(rows, "utf8").split("\n").slice(0, 3).map((line) => `${line}\n`).join(""));
    writeFileSync(join(folder, "heads"), "");
    assert.deepEqual(problems(folder), []);
    assert.deepEqual(problems(folder, elsewhere), ["4 the rows up to 5 are missing: a head was signed for them"]);
  });
});

Deno.test("a line that a power cut left unfinished is taken off, and a row says so", () => {
  withFolder((folder, open) => {
    {
      using audit = open();
      write(audit, 3);
    }
    appendFileSync(join(folder, "rows-000000000001.jsonl"), '{"hash":"abc');
    {
      using audit = open();
      write(audit, 1);
    }
    assert.deepEqual([...readRows(folder)].map(({ kind, bytes }) => [kind, bytes]).slice(-2), [["torn", 12], [
      "call",
      undefined,
    ]]);
    assert.deepEqual(problems(folder), []);
  });
});

Deno.test("old files go, with a signed row that says so; without it their absence is found", () => {
  withFolder((folder, open) => {
    const small = { segmentBytes: 1_000 };
    {
      using audit = open(small);
      write(audit, 40);
    }
    const files = () => readdirSync(folder).filter((file) => file.startsWith("rows-"));
    const before = files().length;
    for (const file of files()) utimesSync(join(folder, file), 0, 0);
    {
      using audit = open(small);
      write(audit, 10);
    }
    assert.ok(files().length < before);
    assert.deepEqual(problems(folder), []);
    rmSync(join(folder, files().sort()[0]!));
    assert.match(problems(folder)[0]!, /is missing, and all before it: no row says that they were removed$/);
  });
});

Deno.test("without a place to write acting calls are refused, reads wait, and both are told", () => {
  withFolder((folder, open) => {
    mkdirSync(folder);
    const rows = join(folder, "rows-000000000001.jsonl");
    // A folder stands where the file of rows has to be: nobody can write it, not even root.
    mkdirSync(rows);
    using audit = open();
    audit.append(call(1));
    assert.throws(() => audit.require({ ...call(2), kind: "sent" }), /The audit cannot be written/);
    assert.equal(audit.state().waiting, 1);
    assert.match(audit.state().problem ?? "", /EISDIR|directory/i);
  });
});

Deno.test("rows hold no line ends of their own, no value beyond its bound, and only their owner may read them", () => {
  withFolder((folder, open) => {
    {
      using audit = open();
      audit.append({ kind: "call", tool: 'kit:x\n{"hash":"forged"}', note: "y".repeat(20_000) });
    }
    const path = join(folder, "rows-000000000001.jsonl");
    assert.equal(readFileSync(path, "utf8").split("\n").length, 2);
    assert.ok(statSync(path).size < 9_000);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(statSync(join(folder, "key.pem")).mode & 0o777, 0o600);
    assert.deepEqual(problems(folder), []);
  });
});

Deno.test("a row as OCSF has its hashes and its outcome", () => {
  withFolder((folder, open) => {
    {
      using audit = open();
      audit.append(call(1));
    }
    const [row] = readRows(folder);
    const event = toOcsf(row!, "1.0.0");
    assert.deepEqual([event.class_uid, event.status_id], [6003, 1]);
    assert.deepEqual(event.attestation, { entry_hash: row!.hash, prev_entry_hash: row!.prev });
  });
});
