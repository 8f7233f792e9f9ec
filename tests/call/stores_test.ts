import assert from "node:assert/strict";
import { createCatalogueTables } from "../../src/call/stores/catalogue_store.ts";
import { createPiiStore } from "../../src/call/stores/pii_store.ts";
import { createResultTable } from "../../src/call/stores/result_store.ts";
import type { Tool } from "../../src/model/tool.ts";
import { withEmptyDatabase } from "../fixtures/shared_database.ts";

const tool = (name: string): Tool => ({
  id: `s:${name}`,
  server: "s",
  name,
  hash: `hash of ${name}`,
  description: `does ${name}; it's "quoted"`,
  inputSchema: { type: "object", z: 1, a: 2 } as never,
});

Deno.test("a server's lists are replaced as a whole, to the letter and in their order", () =>
  withEmptyDatabase(async (db) => {
    const store = createCatalogueTables(db);
    assert.equal(await store.find("f"), undefined);
    await store.putFailure("f", "it did not start");
    assert.equal((await store.failure("f"))?.reason, "it did not start");
    const dropped = [{ name: "bad", why: "a null schema" }];
    for (const names of [["a", "b", "c"], ["z", "y"]]) {
      const catalogue = { tools: names.map(tool), dropped, repaired: [], instructions: "be kind" };
      await store.put("f", "s", { catalogue: catalogue as never, era: { modern: true }, startMs: 12.4 });
      const found = (await store.find("f"))!;
      assert.deepEqual(found.tools.map(({ name }) => name), names);
      const { id: _id, server: _server, name: _name, hash: _hash, ...rest } = tool(names[0]!);
      assert.deepEqual(JSON.parse(found.tools[0]!.definition).inputSchema, rest.inputSchema);
      assert.match(found.tools[0]!.definition, /"z":1,"a":2/);
      assert.deepEqual([found.era, found.dropped, found.repaired, found.offers], [{ modern: true }, dropped, [], null]);
      assert.deepEqual([found.instructions, found.start_ms], ["be kind", 12]);
      assert.ok(Number(found.era_age_ms) < 60_000);
    }
    assert.equal(await store.failure("f"), undefined, "with its lists it has started well");
    assert.deepEqual((await store.definitions()).map(({ server, name }) => `${server}:${name}`).sort(), ["s:y", "s:z"]);
  }));

Deno.test("values behind tokens are found to the letter, the newest of a server are kept", () =>
  withEmptyDatabase(async (db) => {
    const store = createPiiStore(db);
    const row = (token: string, value: string) => ({ token, value, servers: ["s"] });
    await store.put([row("[a]", "NUL \u0000 and \ud800"), row("[b]", "b"), row("[c]", "c")]);
    assert.deepEqual(await store.find(["[a]", "[none]"]), [row("[a]", "NUL \u0000 and \ud800")]);
    await db.query("update pii_value set seen_at = now() - interval '1 hour' where token = '[a]'");
    await store.pruneServer("s", 2);
    assert.deepEqual((await store.find(["[a]", "[b]", "[c]"])).map(({ token }) => token).sort(), ["[b]", "[c]"]);
    await db.query("update pii_value set seen_at = now() - interval '40 days' where token = '[b]'");
    await store.prune(30);
    assert.deepEqual((await store.find(["[b]", "[c]"])).map(({ token }) => token), ["[c]"]);
  }));

Deno.test("stored results go by age and, oldest first, by bytes, but not those of an open run", () =>
  withEmptyDatabase(async (db) => {
    const store = createResultTable(db);
    await db.query(
      `insert into workflow_run (id, name, status, cwd, fingerprint, servers, variables, summary, epoch, lease_until)
       values ('wf_1', '', 'paused', '/', '', '[]', '[]', '{}', 1, now())`,
    );
    for (const [i, handle] of ["r1", "r2", "r3", "r4"].entries()) {
      await store.put({ handle, tool: "s:t", bytes: 100, ...handle === "r1" && { run: "wf_1" } }, 60_000);
      await db.query("update result_handle set created_at = now() + $2 * interval '1 s' where handle = $1", [
        handle,
        i,
      ]);
    }
    assert.deepEqual(await store.prune(250), ["r2"]);
    assert.deepEqual([...await store.handles()].sort(), ["r1", "r3", "r4"]);
    await store.put({ handle: "r5", tool: "", bytes: 1 }, -1);
    await store.put({ handle: "r5", tool: "s:late", bytes: 5 }, -1);
    assert.equal(await store.toolOf("r5"), "s:late");
    assert.deepEqual(await store.prune(1_000), ["r5"]);
  }));
