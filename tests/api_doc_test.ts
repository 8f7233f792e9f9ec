import assert from "node:assert/strict";
import { apiPage } from "./api_doc.ts";
import { ROOT } from "./fixtures/gateway.ts";

Deno.test("docs/API.md says what the comments of mod.ts say", async () => {
  assert.equal(await Deno.readTextFile(`${ROOT}docs/API.md`), await apiPage(), "deno task api writes it anew");
});
