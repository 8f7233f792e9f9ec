// The level of the sandbox: recorded in the home, raised by itself, lowered only by the user.
import assert from "node:assert/strict";
import { connectClient, textOf } from "../fixtures/client.ts";
import { createTestHome, testServer } from "../fixtures/gateway.ts";
import { pathWithout } from "../fixtures/weaker_machine.ts";
import { availableLevel } from "../../src/sandbox/level.ts";

const { level: strongest } = await availableLevel();
const CODE = { code: "return 1 + 1" };

Deno.test({
  name: "a sandbox that became weaker runs no code until the user accepts its level",
  ignore: strongest === 0,
  async fn() {
    await using home = await createTestHome({ servers: { kit: testServer("kit") } });
    const env = { AGENTCARDS_SYSTEM_PATH: await pathWithout([strongest > 1 ? "bwrap" : "prlimit"], `${home.dir}/bin`) };
    const weaker = strongest > 1 ? 1 : 0;
    {
      await using client = await connectClient(home);
      assert.equal(JSON.parse(textOf(await client.call("execute_code", CODE))).result, 2);
    }
    await home.run(["engine", "stop"]);
    {
      await using client = await connectClient(home, { env });
      const refused = await client.call("execute_code", CODE);
      assert.equal(refused.isError, true);
      assert.match(textOf(refused), new RegExp(`level ${weaker} \\(.*\\); it was ${strongest}`));
      assert.match(textOf(refused), /agentcards sandbox accept/);
      const run = await client.call("run_workflow", { tasks: [{ id: "a", type: "code_execution", ...CODE }] });
      assert.match(textOf(run), new RegExp(`it was ${strongest}`));
      assert.equal(textOf(await client.use("kit:echo", { text: "on" })), "kit: on", "tools are called as before");
      const status = await home.run(["status"], { env });
      assert.equal(status.code, 1);
      assert.match(
        status.stdout,
        new RegExp(`✗ The sandbox is of level ${weaker} .*; it was ${strongest}: no code runs`),
      );

      const accepted = await home.run(["sandbox", "accept"], { env });
      assert.deepEqual([accepted.code, accepted.stdout], [0, `Code runs in a sandbox of level ${weaker}.\n`]);
      assert.equal(JSON.parse(textOf(await client.call("execute_code", CODE))).result, 2, "without a restart");
    }
    await home.run(["engine", "stop"]);
    {
      await using client = await connectClient(home, { env });
      assert.equal(JSON.parse(textOf(await client.call("execute_code", CODE))).result, 2, "and after one");
    }
    const record = JSON.parse(await Deno.readTextFile(`${home.dir}/sandbox.json`));
    assert.deepEqual(record.value, { strongest, accepted: weaker });
  },
});

Deno.test("a machine that never had a stronger sandbox runs code, and is told how to get one", async () => {
  await using home = await createTestHome({});
  const env = { AGENTCARDS_SYSTEM_PATH: await pathWithout(["bwrap"], `${home.dir}/bin`) };
  await using client = await connectClient(home, { env });
  assert.equal(JSON.parse(textOf(await client.call("execute_code", CODE))).result, 2);
  const status = await home.run(["status"], { env });
  assert.equal(status.code, 0, status.stdout);
  const expected = Deno.build.os === "linux" ? /sandbox +level \d \(.*\); for a stronger one, install / : /level 0/;
  assert.match(status.stdout, expected);
});
