// The library: one gateway for all of it.
import assert from "node:assert/strict";
import { AgentCardsError, openGateway, type WorkflowEvent } from "../mod.ts";
import { createTestHome, testServer } from "./fixtures/gateway.ts";

Deno.test("a program opens a gateway, searches, calls, runs workflows and puts guardrails in front", async () => {
  await using home = await createTestHome({
    servers: { kit: testServer("kit") },
    policy: { effects: { "kit:echo": "read" } },
  });
  await Deno.mkdir(`${home.dir}/workflows`);
  await Deno.writeTextFile(
    `${home.dir}/workflows/greet.yaml`,
    'parameters: { person: { type: string } }\ntasks: [{ id: a, tool: "kit:echo", arguments: { text: $INPUT.person } }]\n',
  );
  const seen: string[] = [];
  const gateway = await openGateway({
    home: home.dir,
    guardrails: [({ tool, effect, by, task, arguments: given }) => {
      seen.push(`${tool} ${effect} ${by} ${task ?? "-"}`);
      if (tool === "kit:fail") throw new Error("it does not work");
      if (given.text === "secret") return { deny: "no secrets" };
      return tool === "kit:mirror" ? { ask: "it mirrors" } : undefined;
    }],
  });
  assert.deepEqual((await gateway.call("kit:add", { a: 20, b: 22 })).structuredContent, { sum: 42 });
  const [best] = await gateway.search("add two numbers");
  assert.equal(best?.tool.id, "kit:add");
  const code = (wanted: string) => (error: unknown) => error instanceof AgentCardsError && error.code === wanted;
  await assert.rejects(gateway.call("kit:nothing"), code("TOOL_UNKNOWN"));
  await assert.rejects(gateway.call("kit:echo", { text: "secret" }), /kit:echo was refused: no secrets/);
  await assert.rejects(gateway.call("kit:fail"), /a guardrail failed/);
  await assert.rejects(gateway.call("kit:mirror"), /needs a human's approval \(it mirrors\)/);
  await assert.rejects(openGateway({ home: home.dir }), /already uses/);

  const events: WorkflowEvent[] = [];
  const run = gateway.runWorkflow({
    tasks: [
      { id: "a", tool: "kit:echo", arguments: { text: "hi" } },
      { id: "b", tool: "kit:echo", arguments: { text: "secret" } },
      { id: "c", tool: "kit:mirror", arguments: { text: "$OUTPUT[a]" } },
    ],
  });
  let step = await run.next();
  for (; !step.done; step = await run.next()) events.push(step.value);
  const { status, tasks, pending } = step.value;
  assert.deepEqual([status, tasks.map((task) => task.status), pending?.task], ["paused", [
    "success",
    "error",
    "waiting",
  ], "c"]);
  assert.ok(
    events.some((event) => event.kind === "done" && event.task === "a" && event.run === step.value.workflow_id),
  );
  assert.equal(events.at(-1)!.kind, "paused");
  const aborted = await gateway.resumeWorkflow({ workflow_id: step.value.workflow_id, action: "abort" });
  assert.equal(aborted.status, "aborted");

  const saved = gateway.runWorkflow({ workflow: "greet", input: { person: "ann" } });
  let last = await saved.next();
  while (!last.done) last = await saved.next();
  assert.deepEqual(last.value.results, { a: "kit: ann" });
  await assert.rejects(gateway.runWorkflow({ tasks: [] }).next(), code("PLAN_INVALID"));
  // Who leaves the loop aborts the run.
  for await (const { run: id } of gateway.runWorkflow({ tasks: [{ id: "h", tool: "kit:hang" }] })) {
    assert.match(id, /^wf_/);
    break;
  }
  assert.ok(seen.includes("kit:echo read agent a") && seen.includes("kit:add effectful human -"), seen.join());
  const { calls, failed, runs, tools } = gateway.stats();
  assert.ok(calls >= 6 && failed >= 4 && runs === 4 && tools["kit:add"]!.calls === 1, JSON.stringify(gateway.stats()));
  await gateway.close();
  await (await openGateway({ home: home.dir })).close();
});
