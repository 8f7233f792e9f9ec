import assert from "node:assert/strict";
import { openPiiVault } from "../../src/call/privacy/vault.ts";
import { openEmptyDatabase } from "../fixtures/database.ts";

Deno.test("values are kept within a server's quota, without a pause for others, and each server has its own key", async () => {
  const folder = await Deno.makeTempDir();
  const db = await openEmptyDatabase(`${folder}/data`);
  try {
    const vault = openPiiVault(`${folder}/key`, db);
    assert.notDeepEqual(vault.keyOf("a"), vault.keyOf("b"));
    vault.keep("a", [{ token: "[email:a]", kind: "email", value: "a@example.com" }]);
    const texts = Array.from({ length: 200 }, (_, i) =>
      JSON.stringify(
        Array.from(
          { length: 500 },
          (_, j) => ({ token: `[email:${i}-${j}]`, kind: "email", value: `${i}.${j}@x.example` }),
        ),
      ));
    let longest = 0;
    let last = performance.now();
    const timer = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 1);
    vault.keepTexts("b", texts);
    // Asked while the others are still being written.
    const found = await vault.find(["[email:30-1]", "[email:199-499]", "[email:a]"]);
    clearInterval(timer);
    assert.equal(found.get("[email:30-1]")?.value, "30.1@x.example");
    assert.equal(found.get("[email:199-499]"), undefined, "beyond what is kept of a server within an hour");
    assert.deepEqual([...found.get("[email:a]")!.servers], ["a"]);
    const [row] = await db.query<{ count: number }>("select count(*)::int as count from pii_value");
    assert.ok(row!.count <= 20_001, String(row!.count));
    assert.ok(longest < 1_000, `a pause of ${Math.round(longest)} ms`);
  } finally {
    await db.close();
    await Deno.remove(folder, { recursive: true });
  }
});
