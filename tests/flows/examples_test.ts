// Every file in docs/examples runs over real servers, in one gateway.
import assert from "node:assert/strict";
import { type EmbeddedGateway, openGateway, type WorkflowAnswer } from "../../mod.ts";
import { countWords } from "../../docs/examples/program.ts";
import { createTestHome, npmServer, ROOT } from "../fixtures/gateway.ts";

const EXAMPLES = `${ROOT}docs/examples`;

async function ran(
  gateway: EmbeddedGateway,
  workflow: string,
  input: Record<string, unknown>,
): Promise<WorkflowAnswer> {
  const run = gateway.runWorkflow({ workflow, input });
  let step = await run.next();
  while (!step.done) step = await run.next();
  return step.value;
}

Deno.test("each example does what it says", async () => {
  await using home = await createTestHome((dir) => ({
    servers: {
      files: npmServer("filesystem", `${dir}/world`),
      memory: { ...npmServer("memory"), env: { MEMORY_FILE_PATH: `${dir}/memory.jsonl` } },
      everything: npmServer("everything"),
    },
  }));
  const world = `${home.dir}/world`;
  await Deno.mkdir(`${world}/other`, { recursive: true });
  await Deno.mkdir(`${home.dir}/workflows`);
  const names: string[] = [];
  for await (const { name } of Deno.readDir(EXAMPLES)) {
    if (!name.endsWith(".yaml")) continue;
    names.push(name.slice(0, -5));
    await Deno.copyFile(`${EXAMPLES}/${name}`, `${home.dir}/workflows/${name}`);
  }
  await Deno.writeTextFile(`${world}/notes.md`, "# Plans\nwrite the report\n# Ideas\n");
  await Deno.writeTextFile(`${world}/other/list.md`, "one two three");
  const seen = new Set<string>();
  {
    await using gateway = await openGateway({ home: home.dir });
    const example = (name: string, input: Record<string, unknown>) => (seen.add(name), ran(gateway, name, input));
    const done = async (name: string, input: Record<string, unknown>) => {
      const answer = await example(name, input);
      assert.equal(answer.status, "completed", `${name}: ${JSON.stringify(answer)}`);
      return answer.results;
    };
    assert.ok((await done("code_between", { path: `${world}/notes.md` })).remembered);
    const { summary } = await done("morning_summary", { folder: world, topic: "Plans" });
    assert.match(String(summary), /^2 files\. # Plans[\s\S]*Known: Plans\.$/);
    assert.deepEqual(await done("fan_out", { folder: world }), { counts: { "notes.md": 7 } });
    assert.deepEqual((await done("calls_another", { one: world, two: `${world}/other` })).both, {
      "notes.md": 7,
      "list.md": 3,
    });
    assert.match(
      String((await done("plan_b", { first: `${world}/none.md`, second: `${world}/notes.md` })).text),
      /Plans/,
    );

    await Deno.writeTextFile(`${world}/state`, "running");
    const green = done("until_green", { state: `${world}/state` });
    setTimeout(() => Deno.writeTextFile(`${world}/state`, "green"), 250);
    assert.match(JSON.stringify(await green), /The check says green/);

    const asked = await example("approved_write", { path: `${world}/new.md`, text: "new" });
    assert.deepEqual([asked.status, asked.pending?.reason, asked.pending?.for], ["paused", "approval", "human"]);
    await gateway.resumeWorkflow({ workflow_id: asked.workflow_id, action: "abort", note: "only a test" });

    const failed = await example("repair", { path: `${world}/late.md` });
    assert.equal(failed.status, "failed");
    await Deno.writeTextFile(`${world}/late.md`, "here it is");
    const repaired = await gateway.resumeWorkflow({ workflow_id: failed.workflow_id, action: "retry" });
    assert.equal(repaired.status, "completed");
    assert.match(JSON.stringify(repaired.results), /here it is/);
  }
  assert.deepEqual([...seen].sort(), names.sort(), "each file is run");
  const told: string[] = [];
  assert.deepEqual(await countWords(`${world}/other`, (line) => told.push(line), home.dir), { "list.md": 3 });
  assert.match(told.join(), /list: [\d.]+ ms,counts:/);
});
