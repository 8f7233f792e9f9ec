// Conditions, polls and approvals through the client, the command line, and a crash.
import assert from "node:assert/strict";
import { connectClient, type ToolResult } from "../fixtures/client.ts";
import { createTestHome, npmServer, testServer, until } from "../fixtures/gateway.ts";
import { atTerminal } from "../fixtures/terminal.ts";
import { crash, linesOf, read, refused, resume, run, statuses, task, toldId } from "../fixtures/workflow.ts";

Deno.test("a run takes one way, waits until something is true, and asks a human, over a crash", async () => {
  await using home = await createTestHome((dir) => ({
    servers: { kit: testServer("kit"), files: npmServer("filesystem", dir) },
    policy: { effects: { "kit:echo": "read" } },
  }));
  await using client = await connectClient(home);
  const [state, log] = [`${home.dir}/state.json`, `${home.dir}/log`];
  await Deno.writeTextFile(state, JSON.stringify({ check: "running" }));
  const wrong = await refused(client.call("run_workflow", {
    tasks: [
      task("a", "kit:append", { file: log, line: "x" }, { until: { when: "output.n > 1", every_ms: 5, times: 2 } }),
      task("b", "kit:echo", { text: "x" }, { when: "deps.zz.status == 'error' && deps.a.output.s.matches('x')" }),
    ],
  }));
  assert.match(wrong, /kit:append may act on the world; only what reads is polled/);
  assert.match(wrong, /task b: .*matches\(\) is not available/);

  const seen = client.others.length;
  await client.send({
    id: "doomed",
    method: "tools/call",
    params: {
      name: "run_workflow",
      arguments: {
        tasks: [
          task("broken", "files:read_text_file", { path: `${home.dir}/none` }),
          task("notes", "kit:append", { file: log, line: "no file" }, { when: "deps.broken.status == 'error'" }),
          task("shown", "kit:echo", { text: "never" }, { when: "deps.broken.status == 'success'" }),
          task("green", "files:read_text_file", { path: state }, {
            until: { when: "output.content.contains('green')", every_ms: 200, times: 10_000 },
          }),
          task("ship", "kit:append", { file: log, line: "shipped" }, { depends_on: ["green"], approve: "human" }),
          { id: "sum", type: "code_execution", code: "return deps.ship.output", approve: "human" },
        ],
      },
      _meta: { progressToken: "p" },
    },
  });
  const id = await toldId(client, seen);
  const told = (what: RegExp) => client.others.slice(seen).filter((one) => what.test(JSON.stringify(one))).length;
  await until("it polls, and the failure was taken up", () => told(/green: not yet/) > 1 && told(/notes: success/) > 0);
  await crash(home);
  await Deno.writeTextFile(state, JSON.stringify({ check: "green" }));
  const asked = read((await client.answerTo("doomed")).result as ToolResult);
  const written = async () => (await linesOf(log)).filter((line) => line.startsWith("end")).join();
  assert.deepEqual([asked.pending?.reason, asked.pending?.for, asked.pending?.task], ["approval", "human", "ship"]);
  assert.match(asked.pending!.why, /the task asks for approval/);
  assert.deepEqual([statuses(asked).shown, statuses(asked).notes, statuses(asked).green], [
    "skipped",
    "success",
    "success",
  ]);
  await refused(client.call("resume_workflow", { workflow_id: id, action: "approve", note: "me" }));

  // The human allows the call, and refuses the code with a reason.
  const allowed = await atTerminal(home, ["approve", id, "--note", "looks right"], {
    answers: [[/Allow exactly this call\?/, "y"], [/Allow exactly this call\?/, "n"]],
  });
  assert.match(allowed.plain, /deps\.ship\.output/);
  const details = JSON.parse((await home.run(["runs", "show", id, "--json"])).stdout);
  const decisions = details.events.filter(({ kind }: { kind: string }) => kind === "command");
  assert.equal(decisions[0].note, "looks right");
  const shown = (await home.run(["runs", "show", id])).stdout;
  assert.match(shown, /a human approved ship: looks right/);
  assert.match(shown, /a human rejected sum/);
  assert.match(shown, /attempt \d+ took .*not yet: output\.content\.contains\('green'\)/);
  assert.equal(await written(), "end no file,end shipped", "nothing was done twice");
  const end = await resume(client, id, "status");
  assert.deepEqual([end.status, statuses(end).sum], ["partial", "failed_safe"]);
  assert.match(JSON.stringify(end), /A human did not allow this call/);

  // A whole run at the command line, with a note on its abort.
  await Deno.writeTextFile(
    `${home.dir}/way.yaml`,
    `tasks:
  - { id: look, tool: files:read_text_file, arguments: { path: ${state} } }
  - { id: ship, tool: kit:echo, arguments: { text: shipped }, when: 'deps.look.output.content.contains("green")' }
  - { id: wait, tool: kit:echo, arguments: { text: waiting }, when: 'deps.look.output.content.contains("red")' }
  - { id: odd, tool: kit:echo, arguments: { text: odd }, when: deps.look.output.contents == "green" }
  - id: again
    tool: files:read_text_file
    arguments: { path: ${state} }
    until: { when: output.state != "red", every_ms: 5, times: 3 }
options: { priority: 5 }
`,
  );
  const done = await home.run(["run", "way.yaml"]);
  assert.match(done.stdout, /ship {2}kit: shipped/);
  assert.match(done.stdout, /⤼ wait was skipped: its condition was false: .*"red"\)\n/);
  const absent = /odd was skipped: .* \(deps\.look\.output has content, so deps\.look\.output\.contents is null\)/;
  assert.match(done.stdout, absent);
  assert.match(
    done.stdout,
    /! again: The condition of until holds, but output has content, so output\.state is null\./,
  );
  assert.equal(done.code, 0, done.stdout);
  const paused = await run(client, [task("a", "kit:append", { file: log, line: "z" }, { approve: "human" })]);
  assert.equal((await home.run(["runs", "abort", paused.workflow_id, "--note", "not today"])).code, 0);
  assert.match((await home.run(["runs", "show", paused.workflow_id])).stdout, /a human aborted the run: not today/);
});
