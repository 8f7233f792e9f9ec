// deno-lint-ignore-file no-console -- what it prints is what the test reads
// A database that spins, as one does whose disk fails in a way that nobody foresaw. Ends itself, since its thread does not.
import { openDatabase } from "../../src/db/pglite/open.ts";
import { superviseDatabase } from "../../src/db/supervisor.ts";
import { messageOf } from "../../src/model/errors.ts";

const ENDLESS = "select count(*) from generate_series(1, 1000000000000) as n";
const { database, state } = superviseDatabase({
  open: (onDeath) => openDatabase(Deno.args[0]!, { onDeath, deadlines: { statementMs: 1_500 } }),
});
await database.exec("create table kept (n integer); insert into kept values (1)");
const began = performance.now();
const hung = database.query(ENDLESS).catch(messageOf);
const behind = database.query("insert into kept values (3)").catch(messageOf);
const told = { hung: await hung, behind: await behind };
let now = state();
while (!(now.kind === "unusable" && /another process has it open/.test(now.problem.message))) {
  await new Promise((resolve) => setTimeout(resolve, 50));
  now = state();
}
const ms = Math.round(performance.now() - began);
console.log(JSON.stringify({ ...told, later: now.kind, hint: now.problem.hint, ms }));
Deno.kill(Deno.pid, "SIGKILL");
