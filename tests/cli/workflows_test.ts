import assert from "node:assert/strict";
import type { TaskReport } from "../../src/workflow/report.ts";
import { widthOf } from "../../src/cli/screen/screen.ts";
import { createTaskTree, treeLines } from "../../src/cli/runs/task_tree.ts";
import { timeline } from "../../src/cli/runs/timeline.ts";
import { createTestHome, type TestHome, testServer, until } from "../fixtures/gateway.ts";
import { shareTestHome } from "../fixtures/shared_home.ts";
import { atTerminal, WIDTH } from "../fixtures/terminal.ts";

const CONFIG = {
  servers: { kit: testServer("kit") },
  policy: { approve: ["kit:write"], effects: { "kit:wait": "read", "kit:echo": "read", "kit:place": "read" } },
};

/** A folder with workflow files, apart from the home. */
async function createFolder(files: Record<string, string>) {
  const dir = await Deno.makeTempDir({ prefix: "ac-flow-" });
  for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${dir}/${name}`, text);
  return { dir, [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }) };
}

async function lastRun(home: TestHome): Promise<{ id: string; status: string; pending: { reason: string } | null }> {
  return JSON.parse((await home.run(["runs", "--json", "--limit", "1"])).stdout)[0];
}

function isThere(path: string): Promise<boolean> {
  return Deno.stat(path).then(() => true, () => false);
}

const PARALLEL = `name: two at once
tasks:
  - { id: one, tool: kit:wait, arguments: { ms: 300 } }
  - { id: two, tool: kit:wait, arguments: { ms: 400 } }
  - { id: rows, tool: kit:rows, arguments: { count: 100 } }
  - { id: sum, tool: kit:add, arguments: { a: 1, b: 2 }, depends_on: [one] }
  - id: said
    tool: kit:echo
    arguments: { text: "$OUTPUT[sum].sum, $OUTPUT[rows].rows[7].name" }
    depends_on: [two]
`;

Deno.test("a workflow runs from a file, and is listed and shown on a common time axis", async () => {
  await using home = await shareTestHome(CONFIG);
  await using folder = await createFolder({
    "flow.yaml": PARALLEL,
    "bare.json": JSON.stringify([{ id: "a", tool: "kit:add", arguments: { a: 1, b: 2 } }]),
  });
  const { dir: cwd } = folder;
  assert.match((await home.run(["runs"])).stdout, /^Nothing has been run yet/);

  const done = await home.run(["run", "flow.yaml"], { cwd });
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.stdout, /^said {2}kit: 3, row 7\n\n✓ completed in \d/);
  assert.match(done.stdout, /one by one it would have taken [\d.]+ (ms|s) \([\d.]+x\); 1,\d{3} tokens stayed out/);
  assert.ok(!done.stdout.includes("\x1b") && !done.stderr.includes("\x1b"), "nothing moves where nobody looks");
  const bare = await home.run(["run", "bare.json", "--json"], { cwd });
  const answer = JSON.parse(bare.stdout);
  assert.deepEqual([bare.code, answer.status, answer.results], [0, "completed", { a: { sum: 3 } }]);

  const list = (await home.run(["runs"])).stdout.split("\n");
  assert.match(
    list[1]!,
    new RegExp(`^${answer.workflow_id}  bare\\.json    completed  1/1 +\\d+ ms +(just now|\\d+ s ago)`),
  );
  assert.match(list[2]!, /^wf_[0-9a-f]{16} {2}two at once {2}completed {2}5\/5 /);
  assert.equal((await home.run(["runs", "--limit", "1"])).stdout.trim().split("\n").length, 2);

  const id = list[2]!.split(" ")[0]!;
  const shown = (await home.run(["runs", "show", id.slice(0, 9)], { cwd: "/" })).stdout;
  assert.match(
    shown,
    new RegExp(`run +${id}  two at once\nstatus +completed\nfolder +${cwd}\nstarted .*ago\\)|just now\\)`),
  );
  const bar = (task: string) => new RegExp(`^${task} .*✓ .*\\|(.*)\\|$`, "m").exec(shown)![1]!;
  const [one, two, sum] = [bar("one"), bar("two"), bar("sum")];
  assert.ok(two.indexOf("█") < one.lastIndexOf("█") && one.indexOf("█") < two.lastIndexOf("█"), `at once:\n${shown}`);
  assert.ok(sum.indexOf("█") >= one.lastIndexOf("█") && sum.indexOf("█") > 5, `after what it waits for:\n${shown}`);
  assert.match(shown, /critical path [\d.]+ (ms|s), all tasks together .*x as fast as one by one/);
  const details = JSON.parse((await home.run(["runs", "show", id, "--json"])).stdout);
  assert.deepEqual([details.id, details.reports.length, details.events.at(-1).kind], [id, 5, "finished"]);
});

Deno.test("a run that fails tells which task and why, with every try, and exits with 1", async () => {
  await using home = await shareTestHome(CONFIG);
  await using folder = await createFolder({
    "flow.yaml": `
- { id: bad, tool: kit:fail }
- { id: next, tool: kit:echo, arguments: { text: "$OUTPUT[bad]" } }
- { id: slow, tool: kit:wait, arguments: { ms: 5000 }, timeout_ms: 300, retries: 1 }
`,
  });
  const failed = await home.run(["run", "flow.yaml"], { cwd: folder.dir });
  assert.equal(failed.code, 1);
  assert.match(failed.stdout, /^✗ bad: it did not work\n✗ slow: .*did not answer within 0\.3 s.*\n\n✗ failed in /);
  assert.match(failed.stdout, /; bad, slow failed; next skipped; wf_/);
  assert.match(failed.stdout, /run again what failed: agentcards runs retry wf_/);
  const shown = (await home.run(["runs", "show", (await lastRun(home)).id])).stdout;
  assert.match(shown, /^bad +kit:fail +✗ .*\n {4}it did not work$/m);
  assert.match(shown, /^next +kit:echo +⤼ skipped +it needs bad/m);
  assert.match(
    shown,
    /^slow +kit:wait +✗ \d+ ms ×2 +\| *░+ +░+\|\n {4}attempt 1 failed after \d+ ms\n {4}kit:wait did not answer/m,
  );
});

Deno.test("a run of code with a syntax error failed, exits with 1 and is listed so", async () => {
  await using home = await shareTestHome(CONFIG);
  const broken = { id: "a", type: "code_execution", code: "const b = ;" };
  const flows = { failed: [broken], partial: [broken, { id: "good", type: "code_execution", code: "return 1" }] };
  for (const [status, tasks] of Object.entries(flows)) {
    await using folder = await createFolder({ "flow.json": JSON.stringify({ tasks }) });
    const told = await home.run(["run", "flow.json"], { cwd: folder.dir });
    assert.equal(told.code, 1, told.stdout + told.stderr);
    assert.match(told.stdout, new RegExp(`✗ a: SyntaxError in line 1: .*\n\n✗ ${status} in .*; a failed; wf_`));
    const json = await home.run(["run", "flow.json", "--json"], { cwd: folder.dir });
    const answer = JSON.parse(json.stdout);
    assert.deepEqual([json.code, answer.status, answer.tasks[0].status], [1, status, "failed_safe"]);
    assert.equal((await lastRun(home)).status, status);
    const shown = JSON.parse((await home.run(["runs", "show", answer.workflow_id, "--json"])).stdout);
    assert.deepEqual([shown.status, shown.succeeded, shown.tasks], [status, tasks.length - 1, tasks.length]);
  }
});

Deno.test("a file that cannot be run is refused with its name and line, and nothing is run", async () => {
  const files: Record<string, [string, RegExp]> = {
    "braces.yaml": [
      "tasks:\n  - { id: a, tool: kit:echo, arguments: {text: $OUTPUT[b].x} }\n",
      /braces\.yaml: line 2, column \d+: .*\nPut references in quotes/,
    ],
    "dash.yaml": ["tasks:\n  - id: a\n   tool: x\n", /dash\.yaml: line 3, column \d+: /],
    "keys.yaml": [
      "task:\n  - id: a\nname: 3\noptions: 4\n",
      /line 1, column 1: "task" is not a known key; did you mean "tasks"\?; line 3, .*: name must .*; line 4, .*: options must .*; it has no/,
    ],
    "items.yaml": ["- { id: a, tool: kit:echo }\n- just text\n", /line 2, column 3: task number 2 must be a mapping/],
    "text.yaml": ["hello", /line 1, column 1: it must be a list of tasks/],
    "nothing.yaml": ["", /it is empty/],
    "none.yaml": ["tasks: []\n", /line 1, column 1: tasks is empty/],
    "tool.yaml": [
      "- { id: a, tool: kit:ecoh }\n",
      /^tool\.yaml: .*task a: There is no tool "kit:ecoh"\. Nearest: kit:echo/,
    ],
    "option.yaml": [
      "tasks: [{ id: a, tool: kit:fail }]\noptions: { pauze: layer }\n",
      /option\.yaml: line 2, column 1: .*pauze/,
    ],
  };
  await using home = await createTestHome(CONFIG);
  await using folder = await createFolder(
    Object.fromEntries(Object.entries(files).map(([name, [text]]) => [name, text])),
  );
  for (const [name, [, expected]] of Object.entries(files)) {
    const { code, stdout, stderr } = await home.run(["run", name], { cwd: folder.dir });
    assert.deepEqual([code, stdout], [2, ""], name);
    assert.match(stderr, expected);
  }
  assert.match((await home.run(["run", "missing.yaml"])).stderr, /Cannot read missing\.yaml: there is no such file/);
  assert.equal((await home.run(["runs", "--json"])).stdout, "[]\n");
});

Deno.test("a run that pauses says how to go on, and goes on in its own folder from anywhere", async () => {
  await using home = await shareTestHome(CONFIG);
  await using folder = await createFolder({
    "flow.yaml": `
- { id: a, tool: kit:echo, arguments: { text: hi } }
- { id: b, tool: kit:place, depends_on: [a] }
`,
  });
  await home.run(["trust", "--yes"], { cwd: folder.dir });
  const paused = await home.run(["run", "flow.yaml", "--pause", "layer"], { cwd: folder.dir });
  const { id } = await lastRun(home);
  assert.equal(paused.code, 3);
  assert.match(
    paused.stdout,
    new RegExp(`^a {2}kit: hi\n\n‖ paused: layer 1 of 2 is finished; ${id}\n  go on: +agentcards runs resume ${id}\n`),
  );
  assert.match((await home.run(["runs"])).stdout, /paused +1\/2 .*waits: a word after each layer/);
  const resumed = await home.run(["runs", "resume", id.slice(3, 11)], { cwd: "/" });
  assert.equal(resumed.code, 0, resumed.stderr);
  assert.ok(resumed.stdout.includes(await Deno.realPath(folder.dir)), resumed.stdout);
  const shown = (await home.run(["runs", "show", id])).stdout;
  assert.match(
    shown,
    /\n\d\d:\d\d:\d\d {2}paused: layer 1 of 2 is finished\n\d\d:\d\d:\d\d {2}a human continued\n\n/,
  );

  await home.run(["run", "flow.yaml", "--pause", "layer"], { cwd: folder.dir });
  const second = await lastRun(home);
  const aborted = await home.run(["runs", "abort", second.id], { cwd: "/" });
  assert.equal(aborted.code, 0, aborted.stderr);
  assert.match(aborted.stdout, /^✗ aborted in /);
  assert.equal((await lastRun(home)).status, "aborted");
  assert.equal((await home.run(["runs", "resume", second.id])).code, 1);
  const twice = await home.run(["runs", "abort", second.id]);
  assert.equal(twice.code, 1);
  assert.match(twice.stderr, new RegExp(`^${second.id} is over: aborted\nretry runs what failed again`));
  assert.match((await home.run(["runs", "show", "wf"])).stderr, /Several runs begin with "wf"\nSay more of it: wf_/);
  assert.match((await home.run(["runs", "show", "nope"])).stderr, /There is no run "nope"/);
});

const writing = (file: string) => `
- { id: first, tool: kit:echo, arguments: { text: hello } }
- { id: file, tool: kit:write, arguments: { file: "${file}", note: "a\\u202eb" }, depends_on: [first] }
- { id: last, tool: kit:echo, arguments: { text: "$OUTPUT[file]" } }
`;

Deno.test("a call that needs approval is shown whole and decided by a human at a terminal, nobody else", async () => {
  await using home = await shareTestHome(CONFIG);
  await using folder = await createFolder({});
  const cwd = folder.dir;
  await Deno.writeTextFile(`${cwd}/flow.yaml`, writing(`${cwd}/written`));
  assert.equal((await home.run(["approvals"])).stdout, "No call waits for your approval.\n");
  const paused = await home.run(["run", "flow.yaml"], { cwd });
  const { id } = await lastRun(home);
  assert.equal(paused.code, 3);
  assert.match(
    paused.stdout,
    new RegExp(`allow it: +agentcards approve ${id}\n +refuse it: +agentcards reject ${id}\n`),
  );
  assert.match(
    (await home.run(["approvals"])).stdout,
    new RegExp(`^run .*\n${id}  kit:write  \\{"file":"${cwd}/written".*  approve "kit:write"  (just now|\\d+ s ago)\n`),
  );
  const [approval] = JSON.parse((await home.run(["approvals", "--json"])).stdout);
  assert.deepEqual([approval.id, approval.arguments.file], [id, `${cwd}/written`]);

  for (const action of ["approve", "reject"]) {
    const refused = await home.run([action, id]);
    assert.deepEqual([refused.code, refused.stdout], [1, ""]);
    assert.match(refused.stderr, new RegExp(`To ${action} a call takes a human at a terminal`));
    assert.equal((await home.run([action, id, "--yes"])).code, 2, "there is no such option");
  }
  const undecided = await atTerminal(home, ["approve", id], { answers: [[/Allow exactly this call/, "n"]] });
  assert.equal(undecided.code, 1);
  assert.match(undecided.plain, /Nothing was decided/);
  assert.deepEqual([(await lastRun(home)).status, await isThere(`${cwd}/written`)], ["paused", false]);

  const approved = await atTerminal(home, ["approve", id.slice(0, 8)], {
    cwd: "/",
    answers: [[/Allow exactly this call/, "y"]],
  });
  assert.equal(approved.code, 0, approved.plain);
  for (
    const fact of [
      /server +kit\r/,
      /tool +write\r/,
      new RegExp(`"file": "${cwd}/written"`),
      /"note": "a\\u202eb"/,
      /why +policy\.approve has "kit:write"/,
      new RegExp(`folder +${cwd}\r`),
    ]
  ) assert.match(approved.plain, fact);
  assert.match(approved.plain, /last {2}kit: written\r\n/);
  assert.equal(await Deno.readTextFile(`${cwd}/written`), "written");

  await Deno.remove(`${cwd}/written`);
  await home.run(["run", "flow.yaml"], { cwd });
  const second = await lastRun(home);
  const rejected = await atTerminal(home, ["reject", second.id], { answers: [[/Refuse this call/, "y"]] });
  assert.equal(rejected.code, 1);
  assert.match(rejected.plain, /✗ file: A human did not allow this call/);
  assert.deepEqual([(await lastRun(home)).status, await isThere(`${cwd}/written`)], ["failed", false]);
  const gone = await atTerminal(home, ["approve", second.id]);
  assert.deepEqual([gone.code, /No call of ".*" waits/.test(gone.plain)], [1, true]);
});

Deno.test("a yes is for the very call that was shown, not for one that took its place", async () => {
  await using home = await shareTestHome(CONFIG);
  await using folder = await createFolder({});
  const cwd = folder.dir;
  await Deno.writeTextFile(
    `${cwd}/flow.yaml`,
    `
- { id: a, tool: kit:write, arguments: { file: "${cwd}/a" } }
- { id: b, tool: kit:write, arguments: { file: "${cwd}/b" }, depends_on: [a] }
`,
  );
  await home.run(["run", "flow.yaml"], { cwd });
  const { id } = await lastRun(home);
  const late = await atTerminal(home, ["approve", id], {
    answers: [[/Allow exactly this call/, async () => {
      const other = await atTerminal(home, ["approve", id], {
        answers: [[/Allow exactly this call/, "y"], [/\/b"[^]*Allow exactly this call/, "\x03"]],
      });
      assert.equal(other.code, 3, other.plain);
      return "y";
    }]],
  });
  assert.equal(late.code, 1);
  assert.match(late.plain, /the call has changed since it was shown/);
  assert.deepEqual([await isThere(`${cwd}/a`), await isThere(`${cwd}/b`)], [true, false]);
});

Deno.test("at a terminal the tasks are drawn in place within its width, and a call is asked about right there", async () => {
  await using home = await shareTestHome(CONFIG);
  await using folder = await createFolder({});
  const cwd = folder.dir;
  await Deno.writeTextFile(
    `${cwd}/flow.yaml`,
    writing(`${cwd}/written`) + `- { id: ${"long-".repeat(10)}, tool: kit:wait, arguments: { ms: 400 } }\n`,
  );
  const yes = await atTerminal(home, ["run", "flow.yaml"], { cwd, answers: [[/Allow exactly this call/, "y"]] });
  assert.equal(yes.code, 0, yes.plain);
  assert.equal(await Deno.readTextFile(`${cwd}/written`), "written");
  assert.ok(yes.output.includes("\r\x1b[4A\x1b[2K"), "it goes up over its own lines");
  assert.match(yes.plain, /[⠋⠙⠹⠸] long-long-[^\n]*… +kit:wait +\d+ ms/);
  assert.match(yes.plain, /✓ first[^\n]*\r\n {2}✓ file[^\n]*\r\n {4}✓ last/);
  const wide = yes.plain.split(/[\r\n]+/).filter((line) => widthOf(line) > WIDTH);
  assert.deepEqual(wide, []);

  await Deno.remove(`${cwd}/written`);
  const no = await atTerminal(home, ["run", "flow.yaml"], { cwd, answers: [[/Allow exactly this call/, "n"]] });
  assert.equal(no.code, 1, no.plain);
  assert.deepEqual([(await lastRun(home)).status, await isThere(`${cwd}/written`)], ["partial", false]);
  const noted = /\n {4}file failed; last skipped\r\n/;
  assert.match((await atTerminal(home, ["runs"])).plain, noted, "a note gets a line of its own");
  for (const args of [["runs"], ["runs", "show", (await lastRun(home)).id], ["approvals"]]) {
    const { plain } = await atTerminal(home, args);
    assert.deepEqual(plain.split(/[\r\n]+/).filter((line) => widthOf(line) > WIDTH), [], args.join(" "));
  }
});

Deno.test("who stops the command, or loses the engine, is told how to go on; a call in doubt is resolved by hand", async () => {
  await using home = await createTestHome(CONFIG);
  await using folder = await createFolder({
    "flow.yaml": `
- { id: act, tool: kit:wait, arguments: { ms: 20000 }, side_effects: true }
- { id: after, tool: kit:echo, arguments: { text: "$OUTPUT[act]" } }
`,
    "slow.yaml": "- { id: look, tool: kit:wait, arguments: { ms: 60000 } }\n",
  });
  const cwd = folder.dir;
  const stopped = await atTerminal(home, ["run", "slow.yaml"], { cwd, answers: [[/⠙ look/, "\x03"]] });
  assert.equal(stopped.code, 130);
  const { id: slow } = await lastRun(home);
  assert.match(stopped.plain, new RegExp(`what was done is kept. To go on:\r\n  agentcards runs resume ${slow}`));
  await until("the run rests", async () => (await lastRun(home)).status === "paused");

  const running = home.run(["run", "flow.yaml"], { cwd });
  await until("the call is under way", async () => {
    const { id } = await lastRun(home);
    return id !== slow && /^act .*▸/m.test((await home.run(["runs", "show", id])).stdout);
  });
  const { id } = await lastRun(home);
  Deno.kill((await home.enginePid())!, "SIGKILL");
  const lost = await running;
  assert.equal(lost.code, 1);
  assert.match(
    lost.stderr,
    new RegExp(`The engine went away.*\nWhat was done is kept. To go on:\n  agentcards runs resume ${id}`),
  );
  // Whichever comes first, the engine that takes the run up or this command: the call is in doubt.
  const resumed = await home.run(["runs", "resume", id], { cwd });
  assert.equal(resumed.code, 3, resumed.stderr);
  assert.match(resumed.stdout, new RegExp(`agentcards runs resolve ${id} --task act --outcome done\\|retry\\|skip`));
  const wrong: [string[], RegExp][] = [
    [["--outcome", "maybe"], /Allowed choices are done, retry, skip/],
    [["--outcome", "skip", "--value", "1"], /--value goes with --outcome done only/],
    [["--outcome", "done", "--value", "{"], /The value is not JSON/],
  ];
  for (const [args, expected] of wrong) {
    const { code, stderr } = await home.run(["resolve", id, "--task", "act", ...args]);
    assert.equal(code, 2);
    assert.match(stderr, expected);
  }
  const resolved = await home.run(
    ["runs", "resolve", id, "--task", "act", "--outcome", "done", "--value", '"by hand"'],
    { cwd: "/" },
  );
  assert.equal(resolved.code, 0, resolved.stderr);
  assert.match(resolved.stdout, /^after {2}kit: by hand\n/);
  assert.match((await home.run(["runs", "show", id])).stdout, /\d\d:\d\d:\d\d {2}a human resolved act: done\n/);
});

const report = (i: number, more: Partial<TaskReport> = {}): TaskReport => ({
  id: `t${i}`,
  what: "服务器:工具工具工具工具工具工具工具工具工具工具",
  depends_on: i === 0 ? [] : [`t${Math.floor((i - 1) / 2)}`],
  status: "success",
  attempt: 1,
  began: 0,
  ms: i,
  bytes: 0,
  error: null,
  ...more,
});

Deno.test("a run of very many tasks is drawn in few lines: what goes on and what went wrong first", () => {
  const reports = Array.from(
    { length: 2_000 },
    (_, i) =>
      report(
        i,
        i === 1_500 ? { status: "running" } : i === 77 ? { status: "error", error: "bro\x1b[2Jken ".repeat(50) } : {},
      ),
  );
  const paint = (_style: string, text: string) => text;
  assert.deepEqual(["abc", "服务", "e\u0301", "✓…"].map(widthOf), [3, 4, 1, 2]);
  for (const columns of [40, 80, 200]) {
    const tree = createTaskTree();
    tree.see({ id: "wf_1", reports });
    const lines = treeLines(tree.tasks(), { columns, rows: 20, frame: 0, now: 1_000, paint });
    assert.equal(lines.length, 20);
    assert.match(lines.join("\n"), /⠋ t1500 [^]*✗ t77 |✗ t77 [^]*⠋ t1500 /);
    assert.equal(lines.at(-1), "… and 1,981 more: 1,981 ✓");
    const drawn = timeline({ status: "running", reports, events: [] }, { columns, now: 1_000, paint });
    assert.ok(drawn.length < 100 && drawn.at(-1)?.startsWith("… and 1,940 more tasks; --json"), drawn.join("\n"));
    assert.match(drawn.join("\n"), /^t1500 .*▸/m);
    for (const line of [...lines, ...drawn]) {
      assert.ok(widthOf(line) <= columns, `${columns}: ${line}`);
      assert.ok(!line.includes("\x1b"), "foreign escapes stay out");
    }
  }
});

Deno.test("the tree follows what happens, tasks that are added later included", () => {
  const tree = createTaskTree();
  tree.see({ id: "wf_1", reports: [report(0, { status: "waiting" }), report(1, { status: "waiting" })] });
  const state = () => tree.tasks().map(({ id, depth, status }) => `${id} ${depth} ${status}`);
  const at = { seq: 1, at: 5 };
  tree.see({ event: { ...at, kind: "started", task: "t0", attempt: 1, effect: "read" } });
  assert.deepEqual(state(), ["t0 0 running", "t1 1 waiting"]);
  tree.see({ event: { ...at, kind: "failed", task: "t0", attempt: 1, ms: 1, error: "x", status: "again" } });
  assert.deepEqual(state(), ["t0 0 waiting", "t1 1 waiting"]);
  const output = { kind: "value", value: 1 } as const;
  tree.see({ event: { ...at, kind: "done", task: "t0", attempt: 2, ms: 1, bytes: 1, output } });
  tree.see({ event: { ...at, kind: "skipped", task: "t1", why: "y" } });
  const added = { id: "n", type: "tool", tool: "a:b", arguments: {}, depends_on: ["t0"] } as const;
  tree.see({ event: { ...at, kind: "planned", tasks: [added] } });
  tree.see({ event: { ...at, kind: "in_doubt", task: "n", attempt: 1, why: "z" } });
  assert.deepEqual(state(), ["t0 0 success", "t1 1 skipped", "n 1 in_doubt"]);
});
