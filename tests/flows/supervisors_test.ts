// Supervisors look at runs, folders and the engine: they report, pause, abort and raise alerts by name.
import assert from "node:assert/strict";
import { connectClient } from "../fixtures/client.ts";
import { createTestHome, testServer, until } from "../fixtures/gateway.ts";
import { linesOf, run, statuses, task } from "../fixtures/workflow.ts";

interface Report {
  readonly supervisor: string;
  readonly subject: string;
  readonly text: string;
  readonly done: string[];
}

const hang = (id: string) => task(id, "kit:hang", {}, { timeout_ms: 60_000 });

Deno.test("a rule pauses a run, another aborts one; reports are kept, shown, and told to the next agent", async () => {
  await using home = await createTestHome((dir) => ({
    servers: { kit: testServer("kit") },
    agents: { plain: testServer("agent", `--state=${dir}`) },
    policy: { effects: { "kit:hang": "read" } },
    notify: {
      desktop: false,
      channels: {
        team: { command: "/bin/sh", args: ["-c", `cat >> ${dir}/team`], for: ["note"] },
        other: { command: "/bin/sh", args: ["-c", `cat >> ${dir}/other`] },
      },
    },
    supervisors: [
      {
        name: "two",
        scope: "run",
        every: "100ms",
        when: "run.tasks == 2 && run.running == 2",
        then: ["pause", "report"],
      },
      {
        name: "three",
        scope: "run",
        every: "100ms",
        when: "run.tasks == 3 && run.running > 0",
        then: ["report", "abort", "alert"],
        say: "three are too many",
        channels: ["team"],
      },
      { name: "ended", scope: "project", every: "100ms", when: "project.aborted > 0", say: "one was aborted" },
      { name: "wrong", scope: "system", every: "100ms", when: "system.rss_mb + 'x' == 1" },
    ],
  }));
  await using client = await connectClient(home);
  const paused = await run(client, [hang("a"), hang("b")]);
  assert.deepEqual([paused.status, paused.pending?.reason], ["paused", "waiting"]);
  assert.match(paused.pending!.why, /^supervisor two: run\.tasks == 2/);
  const aborted = await run(client, [hang("a"), hang("b"), hang("c")]);
  assert.equal(aborted.status, "aborted");

  const reports = async () => JSON.parse((await home.run(["agents", "reports", "--json"])).stdout) as Report[];
  await until("all reports", async () => (await reports()).length === 3);
  const found = new Map((await reports()).map((report) => [report.supervisor, report]));
  assert.deepEqual(found.get("three"), {
    ...found.get("three")!,
    subject: aborted.workflow_id,
    text: "three are too many",
    done: ["report", "abort", "alert"],
  });
  assert.equal(found.get("two")!.subject, paused.workflow_id);
  assert.equal(found.get("ended")!.subject, home.dir);
  await until(
    "the alert",
    async () => (await linesOf(`${home.dir}/team`)).length > 0 || (await alertText(home.dir)) !== "",
  );
  assert.match(await alertText(home.dir), /three are too many/);
  assert.deepEqual(await linesOf(`${home.dir}/other`), [], "only the channel that was named");
  assert.match(await home.log(), /supervisor_failed.*"supervisor":"wrong"/);

  const told = await run(client, [{ id: "a", type: "agent", agent: "plain", prompt: "go on" }]);
  assert.match((told.results as { a: string }).a, /heard: go on\n\nReports of supervisors[^]*- ended: one was aborted/);
});

const alertText = (dir: string) => Deno.readTextFile(`${dir}/team`).catch(() => "");

Deno.test("an agent judges what a condition found, and may do only what the supervisor may", async () => {
  await using home = await createTestHome((dir) => ({
    servers: { kit: testServer("kit") },
    agents: { judge: testServer("agent", `--answers=${dir}/answers`) },
    policy: { effects: { "kit:hang": "read" } },
    supervisors: [
      { name: "kind", scope: "run", every: "100ms", when: "run.tasks == 2", use: "judge", then: ["report", "alert"] },
      { name: "strict", scope: "run", every: "100ms", when: "run.tasks == 3", use: "judge", then: ["report", "abort"] },
    ],
  }));
  const answer = JSON.stringify({ report: "it hangs", act: "abort" });
  await Deno.writeTextFile(`${home.dir}/answers`, JSON.stringify([["You supervise workflows", [{ say: answer }]]]));
  await using client = await connectClient(home);
  const [spared, ended] = await Promise.all([
    run(client, [hang("a"), task("b", "kit:hang", {}, { timeout_ms: 8_000, retries: 0 })], { timeout_ms: 8_000 }),
    run(client, [hang("a"), hang("b"), hang("c")]),
  ]);
  assert.equal(ended.status, "aborted");
  assert.equal(statuses(ended).a, "skipped");
  assert.notEqual(spared.status, "aborted");
  const reports = JSON.parse((await home.run(["agents", "reports", "--json"])).stdout) as Report[];
  const done = Object.fromEntries(reports.map(({ supervisor, text, done }) => [supervisor, [text, done]]));
  assert.deepEqual(done, { kind: ["it hangs", ["report"]], strict: ["it hangs", ["report", "abort"]] });
});
