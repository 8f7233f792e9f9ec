// Every hostile case of the areas we cover is tested under its id, or stands here with the reason why not.
import assert from "node:assert/strict";

const AREAS = ["jsonrpc", "server", "storage", "secrets", "dag", "http", "spec-2026"];

/** Cases whose feature does not exist yet. */
const NOT_YET: Readonly<Record<string, string>> = {
  "srv-010": "tool definitions are not pinned yet",
  "srv-011": "tool definitions are not pinned yet",
  "srv-016": "descriptions are not linted for the names of other servers' tools yet",
  "srv-024": "runs carry no taint yet",
  "http-007": "there is no dashboard yet",
  "http-012": "there is no dashboard yet",
  "srv-036": "there is no OAuth yet: such servers stay in the client",
};

Deno.test("every hostile case is tested or listed", async () => {
  const rows = (await Deno.readTextFile(new URL("./data/hostile.jsonl", import.meta.url))).trim().split("\n")
    .map((line) => JSON.parse(line) as { id: string; area: string });
  let tests = "";
  for (
    const file of [
      "hostile_frames",
      "hostile_server",
      "hostile_workflow",
      "approval",
      "http",
      "serve_http",
      "stateless",
      "storage",
      "orphans",
      "secrets",
    ]
  ) {
    tests += await Deno.readTextFile(new URL(`./flows/${file}_test.ts`, import.meta.url));
  }
  const ids = rows.filter(({ area }) => AREAS.includes(area)).map(({ id }) => id);
  assert.ok(ids.length > 30);
  assert.deepEqual(ids.filter((id) => !tests.includes(`${id}:`) && !(id in NOT_YET)), [], "neither tested nor listed");
  assert.deepEqual(Object.keys(NOT_YET).filter((id) => tests.includes(`${id}:`)), [], "listed although tested");
});

/** Cases of the second list whose feature does not exist yet. */
const NOT_YET_EITHER: Readonly<Record<string, string>> = {
  "poi-102": "tool definitions are not pinned yet",
};

Deno.test("every case of the second list is tested, by a test that names it or by the sandbox's data", async () => {
  const rows = (await Deno.readTextFile(new URL("./data/hostile2.jsonl", import.meta.url))).trim().split("\n");
  const ids = rows.map((line) => (JSON.parse(line) as { id: string }).id);
  assert.equal(new Set(ids).size, 35);
  const names = await testNamesIn(new URL("./", import.meta.url));
  const code = await Deno.readTextFile(new URL("./data/hostile_code.jsonl", import.meta.url));
  const isTested = (id: string) => names.includes(id) || code.includes(`"id": "${id}"`);
  assert.deepEqual(ids.filter((id) => !isTested(id) && !(id in NOT_YET_EITHER)), [], "neither tested nor listed");
  assert.deepEqual(Object.keys(NOT_YET_EITHER).filter(isTested), [], "listed although tested");
});

/** The names of all tests and steps below a folder. */
async function testNamesIn(folder: URL): Promise<string> {
  let names = "";
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) names += await testNamesIn(new URL(`${name}/`, folder));
    else if (name.endsWith("_test.ts")) {
      const text = await Deno.readTextFile(new URL(name, folder));
      for (const [, quoted] of text.matchAll(/\b(?:(?:test|step)\(|name:)\s*(["`].*)/g)) names += `${quoted}\n`;
    }
  }
  return names;
}
