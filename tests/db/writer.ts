// A process to be killed: takes the lock and, when it is to write, says what it finds and then every row once it is in.
import { takeLock } from "../../src/db/lock.ts";
import { openDatabase } from "../../src/db/pglite/open.ts";

const [dir, mode] = Deno.args as [string, "lock" | "write"];
const encoder = new TextEncoder();
const say = async (line: string) => void await Deno.stdout.write(encoder.encode(`${line}\n`));

await using lock = await takeLock(`${dir}/engine.lock`);
await say(lock ? "locked" : "busy");
if (lock && mode === "lock") await new Promise((resolve) => setTimeout(resolve, 60_000));
if (lock && mode === "write") {
  const db = await openDatabase(`${dir}/data`);
  await db.exec("create table if not exists written (n integer primary key, filler text)");
  const found = await db.query<{ n: number }>("select n from written order by n");
  await say(JSON.stringify(found.map(({ n }) => n)));
  for (let n = (found.at(-1)?.n ?? 0) + 1;; n++) {
    await db.transaction((tx) => tx.query("insert into written values ($1, repeat('x', 2000))", [n]));
    await say(String(n));
  }
}
