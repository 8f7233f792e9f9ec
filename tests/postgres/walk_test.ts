// The walk-through of docs/SCALE.md, as it stands there.
import assert from "node:assert/strict";
import { connectClient } from "../fixtures/client.ts";
import { createCluster, PASSWORD } from "../fixtures/cluster.ts";
import { createTestHome, ROOT, type TestHome, testServer } from "../fixtures/gateway.ts";
import { isOnPostgres } from "../fixtures/shared_database.ts";
import { run, task } from "../fixtures/workflow.ts";

const ignore = !isOnPostgres;
const CONFIG = { servers: { kit: testServer("kit") }, policy: { effects: { "kit:echo": "read" } } };
const EXAMPLE = "postgres://agentcards:${DATABASE_PASSWORD}@db.example.com/agentcards";

interface Step {
  readonly kind: "console" | "yaml";
  readonly text: string;
}

/** The blocks of the walk-through, in their order. */
async function steps(): Promise<Step[]> {
  const page = await Deno.readTextFile(`${ROOT}docs/SCALE.md`);
  const section = page.slice(page.indexOf("## Two machines"), page.indexOf("## What happens"));
  return [...section.matchAll(/^```(console|yaml)\n([^]*?)^```$/gm)].map(([, kind, text]) =>
    ({ kind, text }) as unknown as Step
  );
}

/** The words of a command line, single quotes taken off. */
const wordsOf = (line: string) => [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);

Deno.test("the two machines of docs/SCALE.md work together", { ignore }, async () => {
  await using cluster = await createCluster();
  await using a = await createTestHome(CONFIG);
  await using b = await createTestHome(CONFIG);
  const address = cluster.url.replace("://tester@", "://tester:${DATABASE_PASSWORD}@");
  let id: string;
  {
    await using client = await connectClient(a);
    id = (await run(client, [task("alone", "kit:echo", { text: "alone" })])).workflow_id;
  }
  const machines: Record<string, TestHome> = { a, b };
  const said: string[] = [];
  for (const { kind, text } of await steps()) {
    const given = text.replaceAll(EXAMPLE, address);
    if (kind === "yaml") {
      await Deno.writeTextFile(`${b.dir}/config.yaml`, given, { append: true });
      continue;
    }
    for (const line of given.trim().split("\n")) {
      const [, machine, rest] = /^([ab])\$ agentcards (.+)$/.exec(line) ?? assert.fail(line);
      const { code, stdout, stderr } = await machines[machine!]!.run(wordsOf(rest!), { input: PASSWORD });
      assert.equal(code, 0, `${line}\n${stdout}${stderr}`);
      said.push(`${machine} ${rest!.replace(/ 'postgres.*/, "")}\n${stdout}`);
    }
  }
  const of = (command: string) => said.filter((text) => text.startsWith(`${command}\n`));
  assert.match(of("a migrate --to")[0]!, /workflow_run +1 /);
  assert.match(of("b runs")[0]!, new RegExp(id));
  const [first, last] = of("b engines");
  assert.equal(first!.match(/ active /g)?.length, 2, first!);
  assert.match(last!, / ended /);
});
