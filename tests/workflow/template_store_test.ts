import assert from "node:assert/strict";
import { readTemplates } from "../../src/workflow/saved/template_store.ts";
import { withEmptyDatabase } from "../fixtures/shared_database.ts";

Deno.test("workflows that earlier versions kept in the database are read to the letter", () =>
  withEmptyDatabase(async (db) => {
    const parameters = [{ name: "x", task: "t", argument: "a", type: "string" as const }];
    const put = (name: string, tasks: string) =>
      db.query(
        "insert into workflow_template (name, description, parameters, tasks) values ($1, $2, $3::jsonb, $4)",
        [name, "it's", parameters, tasks],
      );
    await put("b", '{"tasks":[],"pause":"layer"}');
    await put("a", '{"tasks":[],"z":"\\u0000"}');
    const [first, second] = await readTemplates(db);
    assert.deepEqual([first!.name, first!.description, first!.parameters], ["a", "it's", parameters]);
    assert.deepEqual([second!.name, second!.pause], ["b", "layer"]);
  }));
