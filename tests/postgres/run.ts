// deno task test:postgres [FILES | eval NAME …]: the tests of the stores, and of what needs a PostgreSQL, on a real one.
import { fileURLToPath } from "node:url";
import { withPostgres } from "./server.ts";

/** The tests that run on both databases. */
const TESTS = [
  "tests/db/port_test.ts",
  "tests/db/postgres_test.ts",
  "tests/postgres/cluster_test.ts",
  "tests/postgres/engine_test.ts",
  "tests/postgres/migrate_test.ts",
  "tests/postgres/small_cluster_test.ts",
  "tests/postgres/view_test.ts",
  "tests/postgres/walk_test.ts",
  "tests/dag/journal_test.ts",
  "tests/vector/store_test.ts",
  "tests/graphrag/learning_store_test.ts",
  "tests/call/stores_test.ts",
  "tests/call/call_log_test.ts",
  "tests/stats/metrics_test.ts",
  "tests/workflow/template_store_test.ts",
  "tests/flows/analytics_test.ts",
];
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const code = await withPostgres(async ({ url }) => {
  const [first, ...rest] = Deno.args;
  const tests = new Deno.Command(Deno.execPath(), {
    args: first === "eval"
      ? ["run", "-A", "tests/eval/main.ts", ...rest]
      : ["test", "-A", ...first !== undefined ? Deno.args : TESTS],
    cwd: ROOT,
    env: { AGENTCARDS_TEST_POSTGRES: url },
  }).spawn();
  return (await tests.status).code;
});
Deno.exit(code);
