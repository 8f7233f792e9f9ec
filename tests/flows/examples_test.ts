// Every file in docs/examples runs over real servers, in one gateway.
import assert from "node:assert/strict";
import { type EmbeddedGateway, openGateway, type WorkflowAnswer } from "../../mod.ts";
import { countWords } from "../../docs/examples/program.ts";
import { connectClient } from "../fixtures/client.ts";
import { createTestHome, npmServer, ROOT, type TestHome, testServer, until } from "../fixtures/gateway.ts";
import { atTerminal } from "../fixtures/terminal.ts";

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

async function makeRepository(folder: string): Promise<void> {
  const git = async (...args: string[]) => {
    const identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
    const { success, stderr } = await new Deno.Command("git", { args: ["-C", folder, ...identity, ...args] }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
  };
  await Deno.mkdir(folder);
  await git("init", "-q");
  const commit = (subject: string) => git("commit", "-q", "--allow-empty", "-m", subject);
  await commit("feat: a first file");
  await git("tag", "v1");
  for (const subject of ["feat: a second file", "fix: a wrong word", "chore: tidy"]) await commit(subject);
}

/** The example with a file trigger, in a trusted project, switched on by a person. */
async function startsByItself(home: TestHome, project: string): Promise<void> {
  await Deno.mkdir(`${project}/.agentcards/workflows`, { recursive: true });
  await Deno.mkdir(`${project}/inbox`);
  await Deno.rename(`${home.dir}/workflows/inbox.yaml`, `${project}/.agentcards/workflows/inbox.yaml`);
  assert.equal((await home.run(["trust", "--yes"], { cwd: project })).code, 0);
  await atTerminal(home, ["triggers", "on", "inbox"], { cwd: project, answers: [[/nobody present\?/, "y"]] });
  await Deno.writeTextFile(`${project}/inbox/idea.md`, "a new idea");
  const remembered = async () => await Deno.readTextFile(`${home.dir}/memory.jsonl`);
  await until("the file is remembered", async () => (await remembered()).includes("a new idea"));
}

/** The example of a prompt, as a client gets it. */
async function isPrompt(home: TestHome): Promise<void> {
  await Deno.mkdir(`${home.dir}/prompts`);
  await Deno.copyFile(`${EXAMPLES}/review.md`, `${home.dir}/prompts/review.md`);
  await using client = await connectClient(home);
  const got = await client.request("prompts/get", { name: "review", arguments: { folder: "/notes" } });
  assert.match(JSON.stringify(got.result), /Run workflow:fan_out with the folder \/notes\./);
}

Deno.test("each example does what it says", async () => {
  await using home = await createTestHome((dir) => ({
    servers: {
      files: npmServer("filesystem", `${dir}/world`),
      memory: { ...npmServer("memory"), env: { MEMORY_FILE_PATH: `${dir}/memory.jsonl` } },
      everything: npmServer("everything"),
      git: testServer("git"),
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
  await makeRepository(`${world}/repository`);
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
    assert.match(String(summary), /^3 files\. # Plans[\s\S]*Known: Plans\.$/);
    const notes = `${world}/repository`;
    assert.ok((await done("release_notes", { repository: notes, since: "v1" })).written);
    const written = await Deno.readTextFile(`${notes}/NOTES.md`);
    assert.equal(written, "## Added\n- a second file\n\n## Fixed\n- a wrong word\n");
    assert.ok((await done("daily_report", { path: `${world}/report.txt` })).written);
    assert.match(await Deno.readTextFile(`${world}/report.txt`), /^2 known: Plans, Ideas/);
    await Deno.remove(`${world}/report.txt`);
    assert.ok((await done("inbox", { path: `${world}/notes.md` })).remembered);
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
  await startsByItself(home, world);
  await isPrompt(home);
  await home.run(["engine", "stop"]);
  const told: string[] = [];
  assert.deepEqual(await countWords(`${world}/other`, (line) => told.push(line), home.dir), { "list.md": 3 });
  assert.match(told.join(), /list: [\d.]+ ms,counts:/);
});
