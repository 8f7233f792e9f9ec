// A home moves to a server and back with all of its rows.
import assert from "node:assert/strict";
import { connectClient } from "../fixtures/client.ts";
import { createCluster, PASSWORD } from "../fixtures/cluster.ts";
import { createTestHome, testServer } from "../fixtures/gateway.ts";
import { isOnPostgres } from "../fixtures/shared_database.ts";
import { linesOf, resume, run, task } from "../fixtures/workflow.ts";

const ignore = !isOnPostgres;
const CONFIG = { servers: { kit: testServer("kit") }, policy: { effects: { "kit:echo": "read" } } };

Deno.test(
  "everything moves to a server and back, a run that waits included, and a password is refused",
  { ignore },
  async () => {
    await using cluster = await createCluster();
    await using home = await createTestHome(CONFIG);
    const file = `${home.dir}/oracle`;
    let id: string;
    {
      await using client = await connectClient(home);
      const odd = 'NUL \u0000, half a pair \ud800, "quotes" and \\\\ backslashes';
      await run(client, [task("odd", "kit:echo", { text: odd })]);
      const paused = await run(client, [
        task("first", "kit:append", { file, line: "first" }),
        task("then", "kit:append", { file, line: "then" }, { depends_on: ["first"] }),
      ], { pause_after: ["first"] });
      id = paused.workflow_id;
    }
    const to = cluster.url.replace("://tester@", "://tester:${DATABASE_PASSWORD}@");
    const plain = await home.run(["migrate", "--to", to.replace("${DATABASE_PASSWORD}", PASSWORD)]);
    assert.match(plain.stderr, /password in it/);
    await Deno.writeTextFile(`${home.dir}/secrets.env`, `DATABASE_PASSWORD=${PASSWORD}\n`, { mode: 0o600 });
    const moved = await home.run(["migrate", "--to", to]);
    assert.equal(moved.code, 0, moved.stderr);
    assert.match(moved.stdout, /workflow_event +\d+ +[0-9a-f]{16}/);
    assert.match(await Deno.readTextFile(`${home.dir}/config.yaml`), /^database: postgres:.*\$\{DATABASE_PASSWORD\}/m);
    {
      await using client = await connectClient(home);
      const done = await resume(client, id, "continue");
      assert.equal(done.status, "completed");
      assert.equal(JSON.parse((await home.run(["status", "--json"])).stdout).database.engines.alive, 1);
    }
    const again = await home.run(["migrate", "--to", to]);
    assert.match(again.stderr, /on a server already/);
    const back = await home.run(["migrate", "--to", "pglite"]);
    assert.equal(back.code, 0, back.stderr);
    assert.doesNotMatch(await Deno.readTextFile(`${home.dir}/config.yaml`), /^database:/m);
    const runs = JSON.parse((await home.run(["runs", "--json"])).stdout) as { id: string; status: string }[];
    assert.deepEqual(runs.map(({ status }) => status), ["completed", "completed"]);
    assert.deepEqual(await linesOf(file), ["begin first", "end first", "begin then", "end then"]);
    // The rows that it left on the server are in nobody's way, and nothing is poured over them.
    assert.match((await home.run(["migrate", "--to", to])).stderr, /has rows already/);
    assert.equal(JSON.parse((await home.run(["status", "--json"])).stdout).database.problem, null);
  },
);
