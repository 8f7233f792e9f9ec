// The files of a repository around what acts: recorded, shown, put back.
import assert from "node:assert/strict";
import { connectClient } from "../fixtures/client.ts";
import { createTestHome, isAlive, testServer, until } from "../fixtures/gateway.ts";
import { createRepository } from "../fixtures/repository.ts";
import { crash, run, task } from "../fixtures/workflow.ts";

const FILES = { "a.txt": "one\n", "b/c.txt": "two\n", ".gitignore": "ignored/\n*.log\n", "run.sh": "#!/bin/sh\n" };

const change = (id: string, steps: readonly unknown[], more = {}) => task(id, "files:change", { steps }, more);

Deno.test("what a run changed in a repository is put back, to the byte and the mode", async () => {
  await using repository = await createRepository(FILES);
  await Deno.chmod(`${repository.dir}/run.sh`, 0o755);
  await repository.write("untracked.bin", new Uint8Array([0, 255, 10, 13]));
  await repository.write("ignored/kept.txt", "mine");
  await Deno.symlink("a.txt", `${repository.dir}/link`);
  await using home = await createTestHome({ servers: { files: { ...testServer("files"), cwd: repository.dir } } });
  await using client = await connectClient(home, { cwd: repository.dir });
  const before = await repository.state();
  const answer = await run(client, [
    change("first", [
      { do: "write", path: "a.txt", text: "changed\n" },
      { do: "remove", path: "b/c.txt" },
      { do: "rename", path: "untracked.bin", to: "deep/er/moved.bin" },
      { do: "write", path: "new/file.txt", text: "new" },
      { do: "mode", path: "run.sh", mode: 0o600 },
      { do: "remove", path: "link" },
      { do: "write", path: "link/now/a folder", text: "x" },
      { do: "write", path: 'odd "name"\n\\.txt', text: "odd" },
    ]),
    {
      id: "second",
      type: "code_execution",
      code: "await files.change({ steps: [{ do: 'append', path: 'a.txt', text: 'twice' }] }); return 1",
      side_effects: true,
      depends_on: ["first"],
    },
  ]);
  assert.equal(answer.status, "completed", JSON.stringify(answer));
  const changed = await repository.state();
  assert.notDeepEqual(changed, before);

  const looked = await home.run(["runs", "undo", answer.workflow_id, "--dry-run"], { cwd: repository.dir });
  assert.equal(looked.code, 0, looked.stderr);
  assert.match(looked.stdout, /rewrite a\.txt[^]*-changed\n-twice[^]*\+one/);
  assert.deepEqual(await repository.state(), changed, "a look changes nothing");

  const undone = await home.run(["runs", "undo", answer.workflow_id, "--yes"], { cwd: repository.dir });
  assert.equal(undone.code, 0, undone.stderr);
  assert.deepEqual(await repository.state(), before);
  assert.equal((await Array.fromAsync(Deno.readDir(repository.dir))).some(({ name }) => name === "new"), false);

  const again = await home.run(["runs", "undo", answer.workflow_id, "--take-back", "--yes", "--json"]);
  assert.equal(JSON.parse(again.stdout).state, "taken_back", again.stderr);
  assert.deepEqual(await repository.state(), changed);
  const one = await home.run(["runs", "undo", answer.workflow_id, "--task", "first", "--yes", "--json"]);
  assert.equal(one.code, 1);
  assert.match(one.stdout, /the task second changed it afterwards/);
  assert.deepEqual(await repository.state(), changed, "all or nothing");
});

Deno.test("a run whose check fails is rolled back, and the answer says so", async () => {
  await using repository = await createRepository(FILES);
  await using home = await createTestHome((dir) => ({
    servers: { files: { ...testServer("files"), cwd: repository.dir } },
    checks: {
      short: { command: "sh", args: ["-c", 'echo "looked at $(wc -c < a.txt)"; test "$(wc -c < a.txt)" -lt 10'] },
      slow: { command: "sh", args: ["-c", `sleep 60 & echo $! > ${dir}/pid; wait`], timeout: "300ms" },
    },
  }));
  const before = await repository.state();
  const write = (text: string) => change("edit", [{ do: "write", path: "a.txt", text }]);
  const rolled = { check: "short", rollback: "on_failure" };
  await using first = await connectClient(home, { cwd: repository.dir });
  const untrusted = await run(first, [write("long enough to fail")], rolled);
  assert.match(untrusted.tasks.at(-1)!.error!, /is not trusted.*1 file was put back/, "nothing of the folder is run");
  assert.equal((await home.run(["trust", "--yes"], { cwd: repository.dir })).code, 0);
  await using client = await connectClient(home, { cwd: repository.dir });

  const good = await run(client, [write("short")], rolled);
  assert.deepEqual([good.status, good.results.check], ["completed", {
    check: "short",
    passed: true,
    output: "looked at 5",
  }]);
  assert.equal((await home.run(["runs", "undo", good.workflow_id, "--yes"])).code, 0);
  assert.deepEqual(await repository.state(), before);

  for (
    const [options, words] of [
      [rolled, /exit code 1\. looked at 19.*1 file was put back/],
      [{ check: { code: "return deps.edit.output === 'never'" }, rollback: "on_failure" }, /answered with false/],
      [{ check: "slow", rollback: "on_failure" }, /did not end within 0\.3 s.*put back/],
    ] as const
  ) {
    const bad = await run(client, [write("long enough to fail")], options);
    assert.equal(bad.status, "failed", JSON.stringify(bad));
    assert.match(bad.tasks.find(({ id }) => id === "check")!.error!, words);
    assert.deepEqual(await repository.state(), before);
  }
  const pid = Number(await Deno.readTextFile(`${home.dir}/pid`));
  await until("the end of its whole tree", () => !isAlive(pid));

  const kept = await run(client, [write("long enough to fail")], { check: "short" });
  assert.equal(kept.status, "failed");
  assert.notDeepEqual(await repository.state(), before, "nothing is put back unasked");
});

Deno.test("what a task had changed when its engine was killed is put back", async () => {
  await using repository = await createRepository(FILES);
  await using home = await createTestHome({ servers: { files: { ...testServer("files"), cwd: repository.dir } } });
  const before = await repository.state();
  await using client = await connectClient(home, { cwd: repository.dir });
  const steps = [{ do: "write", path: "a.txt", text: "half" }, { do: "wait", path: "a.txt", ms: 60_000 }];
  // Its end is never told: the engine dies in the middle of it.
  client.call("run_workflow", { tasks: [change("edit", steps)] }).catch(() => {});
  await until("the first change", async () => await Deno.readTextFile(`${repository.dir}/a.txt`) === "half");
  await crash(home);
  const { stdout } = await home.run(["runs", "--json"], { cwd: repository.dir });
  const [{ id }] = JSON.parse(stdout);
  await home.run(["runs", "abort", id], { cwd: repository.dir });
  const undone = await home.run(["runs", "undo", id, "--yes", "--json"], { cwd: repository.dir });
  assert.equal(JSON.parse(undone.stdout).state, "undone", undone.stderr);
  assert.match(undone.stdout, /The end of edit was not seen/);
  assert.deepEqual(await repository.state(), before);
  const audited = await home.run(["audit", "--json"]);
  assert.match(audited.stdout, /"kind":"undo"/);
});

Deno.test("a task whose files cannot be recorded is not begun, unless the run says so", async () => {
  await using repository = await createRepository(FILES);
  await using home = await createTestHome({ servers: { files: { ...testServer("files"), cwd: repository.dir } } });
  await using client = await connectClient(home, { cwd: repository.dir });
  // Where a folder was to be made lies a file.
  await Deno.writeTextFile(`${home.dir}/snapshots`, "");
  const tasks = [change("edit", [{ do: "write", path: "a.txt", text: "changed" }])];
  const stopped = await run(client, tasks);
  assert.equal(stopped.status, "failed");
  assert.match(stopped.tasks[0]!.error!, /Nothing was sent: the files could not be recorded.*"snapshot": false/);
  assert.equal(await Deno.readTextFile(`${repository.dir}/a.txt`), FILES["a.txt"]);
  assert.equal((await run(client, tasks, { snapshot: false })).status, "completed");
  assert.equal(await Deno.readTextFile(`${repository.dir}/a.txt`), "changed");
});
