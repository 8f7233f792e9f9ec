// deno-lint-ignore-file no-console -- printing is asked for by an option
// How many honest definitions the lint flags, and how many poisoned ones it finds.
import { lintDefinition, lintServerName } from "../../src/policy/mod.ts";
import type { Evaluation } from "./main.ts";

interface Row {
  readonly server: string;
  readonly name: string;
  readonly description?: string;
  readonly input_schema?: unknown;
  readonly class?: string;
}

export const evaluation: Evaluation = {
  options: { benign: { type: "string" }, poisoned: { type: "string" }, show: { type: "boolean" } },
  async run({ benign, poisoned = "tests/data/poisoned.jsonl", show }) {
    const honest = benign ? judge(await rowsOf(benign)) : [];
    const hostile = judge(await rowsOf(poisoned));
    const flagged = honest.filter(({ why }) => why);
    const found = hostile.filter(({ why }) => why);
    if (show) {
      for (const { row, why } of flagged) console.log(`benign   ${row.server}:${row.name}: ${why}`);
      for (const { row, why } of hostile) if (!why) console.log(`missed   ${row.class} ${row.server}:${row.name}`);
    }
    const classes = Object.fromEntries(
      [...Map.groupBy(hostile, ({ row }) => row.class ?? "all")].map((
        [name, rows],
      ) => [name, `${rows.filter(({ why }) => why).length}/${rows.length}`]),
    );
    return {
      benign: honest.length,
      flagged: flagged.length,
      flagged_share: honest.length ? flagged.length / honest.length : 0,
      poisoned: hostile.length,
      found: found.length,
      found_share: found.length / hostile.length,
      classes,
    };
  },
};

/** Each server is judged as it would be beside a few that everybody has. */
const USUAL = {
  servers: new Set(["github", "filesystem", "slack", "memory", "fetch", "git"]),
  tools: new Set(["read_file", "write_file", "create_issue", "send_message", "create_pull_request", "list_directory"]),
};

function judge(rows: readonly Row[]): { row: Row; why: string | undefined }[] {
  const own = Map.groupBy(rows, ({ server }) => server);
  return rows.map((row) => {
    const names = new Set(own.get(row.server)!.map(({ name }) => name));
    const [finding] = [
      ...lintServerName(row.server, [...USUAL.servers]),
      ...lintDefinition(
        { name: row.name, description: row.description, inputSchema: row.input_schema },
        { own: names, others: USUAL },
      ),
    ];
    return { row, why: finding && `${finding.rule} in ${finding.where}: ${finding.why}` };
  });
}

async function rowsOf(path: string): Promise<Row[]> {
  return (await Deno.readTextFile(path)).split("\n").filter(Boolean).map((line) => JSON.parse(line));
}
