// A workflow that starts by itself: switched on by a person at a terminal, once per cause over a killed engine.
import assert from "node:assert/strict";
import { createTestHome, isAlive, sleep, type TestHome, testServer, until } from "../fixtures/gateway.ts";
import { atTerminal } from "../fixtures/terminal.ts";
import { crash, linesOf } from "../fixtures/workflow.ts";

interface Listed {
  name: string;
  state: string;
  next?: number;
  last?: { state: string; run: string | null; why?: string; cause: string };
}

async function triggers(home: TestHome, cwd = home.dir): Promise<Record<string, Listed>> {
  const { stdout } = await home.run(["triggers", "--json"], { cwd });
  return Object.fromEntries((JSON.parse(stdout) as Listed[]).map((one) => [one.name, one]));
}

const on = (home: TestHome, name: string, cwd?: string) =>
  atTerminal(home, ["triggers", "on", name], { ...cwd && { cwd }, answers: [[/nobody present\?/, "y"]] });

Deno.test("a file starts a workflow once per cause, also over a killed engine; a person switches it on", async () => {
  await using home = await createTestHome({
    servers: { kit: { ...testServer("kit"), env: { LOG: "${TRIGGER_LOG}" } } },
    policy: { approve: ["kit:write"] },
    engine: { idle_exit: 500 },
  });
  await Deno.mkdir(`${home.dir}/workflows`);
  await Deno.mkdir(`${home.dir}/inbox`);
  await Deno.writeTextFile(`${home.dir}/inbox/before.txt`, "was there");
  const log = `${home.dir}/log`;
  const text = `on: [{ file: "${home.dir}/inbox/*.txt", input: { path: $CAUSE.path } }]
parameters: { path: { type: string } }
tasks:
  - { id: note, tool: "kit:append", arguments: { file: ${log}, line: $INPUT.path, ms: 1500 } }
`;
  await Deno.writeTextFile(`${home.dir}/workflows/take.yaml`, text);
  await Deno.writeTextFile(
    `${home.dir}/workflows/asks.yaml`,
    `on: [{ run: take, status: [completed, aborted] }]
tasks:
  - { id: w, tool: "kit:write", arguments: { file: ${home.dir}/asked, text: x } }
`,
  );

  // Inert, and a program cannot switch it on.
  assert.equal((await triggers(home)).take!.state, "off");
  const refused = await home.run(["triggers", "on", "take"]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /takes a human at a terminal/);
  const shown = await on(home, "take");
  assert.match(shown.plain, /kit: .*TRIGGER_LOG|TRIGGER_LOG/, "the variable that no shell gives it is named");
  assert.match(shown.plain, /line: \$INPUT\.path/, "the whole text is shown");
  await Deno.writeTextFile(`${home.dir}/secrets.env`, "TRIGGER_LOG=1\n", { mode: 0o600 });
  await on(home, "asks");

  // The engine stays without a connection; a file that comes is a cause, once.
  const pid = (await home.enginePid())!;
  await sleep(1_200);
  assert.ok(isAlive(pid), "an engine with a trigger does not leave");
  await Deno.writeTextFile(`${home.dir}/inbox/one.txt`, "1");
  await until("the run acts", async () => (await linesOf(log)).length > 0);
  await crash(home);
  // The next engine is back with the next command; the act that was sent is in doubt, not repeated.
  await until("it is told", async () => (await triggers(home)).take!.last?.run?.startsWith("wf_") === true);
  const { run } = (await triggers(home)).take!.last!;
  await until("it waits", async () => {
    const { status } = JSON.parse((await home.run(["runs", "show", run!, "--json"])).stdout);
    return status === "paused";
  });
  assert.deepEqual((await linesOf(log)).filter((line) => line.startsWith("begin")), [
    `begin ${home.dir}/inbox/one.txt`,
  ]);
  await home.run(["runs", "resolve", run!, "--outcome", "done", "--value", '"ok"', "--note", "looked"]);
  await until(
    "the run behind it waits for a person",
    async () => (await triggers(home)).asks!.last?.state === "started",
  );
  const waiting = JSON.parse((await home.run(["approvals", "--json"])).stdout);
  assert.equal(waiting.length, 1);
  assert.equal(await Deno.stat(`${home.dir}/asked`).catch(() => undefined), undefined);

  // A second file after that, and no third start.
  await Deno.writeTextFile(`${home.dir}/inbox/two.txt`, "2");
  await until("the second", async () => (await linesOf(log)).includes(`end ${home.dir}/inbox/two.txt`));
  const begun = (await linesOf(log)).filter((line) => line.startsWith("begin"));
  assert.deepEqual(begun.map((line) => line.split("/").at(-1)), ["one.txt", "two.txt"]);

  // Another text is inert.
  await Deno.writeTextFile(`${home.dir}/workflows/take.yaml`, text.replace("1500", "1"));
  assert.equal((await triggers(home)).take!.state, "changed");
  await Deno.writeTextFile(`${home.dir}/inbox/three.txt`, "3");
  const tried = await home.run(["triggers", "try", "asks"]);
  assert.equal(tried.code, 3, tried.stdout + tried.stderr);
  assert.equal((await home.run(["triggers", "off", "asks"])).code, 0);
  assert.equal((await triggers(home)).asks!.state, "off");
  assert.ok(!(await linesOf(log)).join().includes("three"));
});
