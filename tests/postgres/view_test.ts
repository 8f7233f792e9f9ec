// One view over engines that share a database: lists, and decisions about a run of another machine.
import assert from "node:assert/strict";
import { connectClient } from "../fixtures/client.ts";
import { createCluster } from "../fixtures/cluster.ts";
import { testServer, until } from "../fixtures/gateway.ts";
import { isOnPostgres } from "../fixtures/shared_database.ts";
import { atTerminal } from "../fixtures/terminal.ts";
import { linesOf, run, task, untilStatus } from "../fixtures/workflow.ts";

const ignore = !isOnPostgres;
const config = (owner: string) => ({
  engine: { owner },
  servers: { kit: testServer("kit") },
  policy: { approve: ["kit:append"], effects: { "kit:echo": "read" } },
});

Deno.test(
  "an approval at one engine releases the run of another; another person's engine does not see it",
  { ignore },
  async () => {
    await using cluster = await createCluster();
    const [a, b, other] = [
      await cluster.home(config("ann")),
      await cluster.home(config("ann")),
      await cluster.home(config("bob")),
    ];
    await using client = await connectClient(a);
    const file = `${a.dir}/oracle`;
    const paused = await run(client, [
      task("acts", "kit:append", { file, line: "once" }),
      task("end", "kit:echo", { text: "$OUTPUT[acts]" }),
    ]);
    assert.deepEqual([paused.status, paused.pending?.reason], ["paused", "approval"]);
    const id = paused.workflow_id;
    const seen = JSON.parse((await b.run(["runs", "--json"])).stdout) as {
      id: string;
      machine: string;
      status: string;
    }[];
    assert.deepEqual(seen.map(({ id, status }) => [id, status]), [[id, "paused"]]);
    assert.ok(seen[0]!.machine);
    assert.match((await b.run(["approvals"])).stdout, new RegExp(id));
    assert.match((await other.run(["runs"])).stdout, /Nothing has been run/);
    assert.match((await other.run(["runs", "show", id])).stderr, /no run/i);
    const { output } = await atTerminal(b, ["approve", id], { answers: [[/Allow exactly this call\?/, "y"]] });
    await untilStatus(client, id, "completed", 20_000).catch((error) => assert.fail(`${error.message}\n${output}`));
    assert.deepEqual(await linesOf(file), ["begin once", "end once"]);
    await until("status tells the engines", async () => {
      const { database } = JSON.parse((await b.run(["status", "--json"])).stdout);
      return database.engines.alive === 3;
    });
  },
);
