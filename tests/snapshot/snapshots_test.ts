// Snapshots and undo without a gateway: what is recorded, what is in the way, what a hostile repository can do.
import assert from "node:assert/strict";
import { exactStats, writeChecked } from "../../src/platform/mod.ts";
import { makeSteps } from "../../src/snapshot/put_back.ts";
import { createRecorder, type Kept, type Recording } from "../../src/snapshot/recorder.ts";
import { createSnapshots } from "../../src/snapshot/mod.ts";
import { createRepository, type TestRepository } from "../fixtures/repository.ts";

/** A folder of snapshots and a run in a repository; `act` is what a task does. */
async function createRun(repository: TestRepository, run = "wf_0") {
  const home = await Deno.makeTempDir({ prefix: "ac-snap-" });
  const snapshots = createSnapshots(`${home}/snapshots`);
  const recorder = snapshots.ofRun(run, repository.dir);
  return {
    home,
    snapshots,
    recorder,
    async act(task: string, work: () => Promise<unknown>) {
      assert.equal(await recorder.before(task), undefined);
      await work();
      assert.equal(await recorder.after(task), undefined);
    },
    undo: (request = {}) => snapshots.undo(run, request),
    [Symbol.asyncDispose]: () => Deno.remove(home, { recursive: true }),
  };
}

Deno.test("a person's change is never taken for a task's, and is in the way where it is the same file", async () => {
  await using repository = await createRepository({ "a.txt": "a", "b.txt": "b", "c.txt": "c" });
  await using run = await createRun(repository);
  await run.act("one", () => repository.write("a.txt", "by one"));
  await repository.write("b.txt", "by a person");
  await run.act("two", () => repository.write("c.txt", "by two"));
  const report = await run.undo({ isPreview: true });
  assert.deepEqual(report.files.map(({ path }) => path).toSorted(), ["a.txt", "c.txt"]);

  await repository.write("c.txt", "by a person");
  const before = await repository.state();
  const refused = await run.undo();
  assert.equal(refused.state, "refused");
  assert.deepEqual(refused.conflicts, [{ path: "c.txt", why: "it was changed since" }]);
  assert.deepEqual(await repository.state(), before, "nothing was changed");
  assert.equal((await run.undo({ task: "one" })).state, "undone");
  assert.equal(await Deno.readTextFile(`${repository.dir}/a.txt`), "a");
});

Deno.test("a person's change between two tasks of the same file is told", async () => {
  await using repository = await createRepository({ "a.txt": "a" });
  await using run = await createRun(repository);
  await run.act("one", () => repository.write("a.txt", "by one"));
  await repository.write("a.txt", "by a person");
  await run.act("two", () => repository.write("a.txt", "by two"));
  assert.match((await run.undo()).conflicts[0]!.why, /something else changed it after the task one/);
});

Deno.test("tasks that overlap are undone together", async () => {
  await using repository = await createRepository({ "a.txt": "a", "b.txt": "b" });
  await using run = await createRun(repository);
  await run.recorder.before("one");
  await run.recorder.before("two");
  await repository.write("a.txt", "by one");
  await repository.write("b.txt", "by two");
  await run.recorder.after("one");
  await run.recorder.after("two");
  const report = await run.undo({ task: "one" });
  assert.equal(report.state, "undone");
  assert.deepEqual(report.tasks, ["one", "two"]);
  assert.match(report.notes[0]!, /at the same time: two/);
  assert.equal(await Deno.readTextFile(`${repository.dir}/b.txt`), "b");
});

Deno.test("an ignored file is neither recorded nor removed, whatever becomes of the rules that ignore it", async () => {
  await using repository = await createRepository({ ".gitignore": "secret\n*.tmp\n", "a.txt": "a" });
  await repository.write("secret", "mine");
  await using run = await createRun(repository);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await repository.write("seen.txt", "untracked");
  await run.act("one", async () => {
    await repository.write(".gitignore", "seen.txt\n");
    await repository.write("seen.txt", "changed");
    await repository.write("made.tmp", "made");
  });
  const report = await run.undo();
  assert.equal(report.state, "undone", JSON.stringify(report));
  assert.match(report.notes.join(), /Left as they are.*secret/);
  assert.equal(await Deno.readTextFile(`${repository.dir}/secret`), "mine");
  assert.equal(await Deno.readTextFile(`${repository.dir}/seen.txt`), "untracked");
});

Deno.test("nothing that a repository names is run, and nothing is written into its .git", async () => {
  await using repository = await createRepository({
    "a.txt": "a\r\n",
    ".gitattributes": "*.txt filter=evil diff=evil\n",
  });
  const proof = `${repository.dir}-proof`;
  const evil = `touch ${proof}`;
  for (
    const [key, value] of Object.entries({
      "core.fsmonitor": evil,
      "core.hooksPath": `${repository.dir}/hooks`,
      "filter.evil.clean": evil,
      "filter.evil.smudge": evil,
      "filter.evil.process": evil,
      "filter.evil.required": "true",
      "diff.evil.command": evil,
      "diff.evil.textconv": evil,
      "core.pager": evil,
      "core.alternateRefsCommand": evil,
      "include.path": `${repository.dir}/included`,
    })
  ) await repository.git("config", key, value);
  await repository.write("included", `[core]\n\tfsmonitor = "${evil}"\n`);
  for (const hook of ["post-index-change", "reference-transaction", "pre-commit"]) {
    await repository.write(`hooks/${hook}`, `#!/bin/sh\n${evil}\n`);
    await Deno.chmod(`${repository.dir}/hooks/${hook}`, 0o755);
  }
  await using run = await createRun(repository);
  const before = await repository.state();
  await run.act("one", () => repository.write("a.txt", "changed\n"));
  assert.match((await run.undo({ isPreview: true })).patch, /^-changed$/m);
  assert.equal((await run.undo()).state, "undone");
  assert.deepEqual(await repository.state(), before);
  await assert.rejects(Deno.lstat(proof), Deno.errors.NotFound);
});

Deno.test("a repository inside of the repository is named and left out", async () => {
  await using repository = await createRepository({ "a.txt": "a" });
  await using inner = await createRepository({ "b.txt": "b" });
  await Deno.rename(inner.dir, `${repository.dir}/inner`);
  await using run = await createRun(repository);
  await run.act("one", async () => {
    await repository.write("inner/b.txt", "changed");
    await repository.write("a.txt", "changed");
  });
  const report = await run.undo();
  assert.match(report.notes.join(), /repositories of their own: inner/);
  assert.equal(await Deno.readTextFile(`${repository.dir}/a.txt`), "a");
  assert.equal(await Deno.readTextFile(`${repository.dir}/inner/b.txt`), "changed");
});

Deno.test("a folder that became a link is no way out of the repository", async () => {
  await using repository = await createRepository({ "d/a.txt": "a" });
  const outside = await Deno.makeTempDir();
  await Deno.writeTextFile(`${outside}/a.txt`, "outside");
  await using run = await createRun(repository);
  await run.act("one", () => repository.write("d/a.txt", "changed"));
  await Deno.remove(`${repository.dir}/d`, { recursive: true });
  await Deno.symlink(outside, `${repository.dir}/d`);
  const refused = await run.undo();
  assert.deepEqual(refused.conflicts, [{ path: "d/a.txt", why: "a folder above it is a link by now" }]);
  assert.equal(await Deno.readTextFile(`${outside}/a.txt`), "outside");
  // Where the task itself made the link, the folder comes back.
  await Deno.remove(`${repository.dir}/d`);
  await repository.write("d/a.txt", "changed");
  await run.act("two", async () => {
    await Deno.remove(`${repository.dir}/d`, { recursive: true });
    await Deno.symlink(outside, `${repository.dir}/d`);
  });
  const report = await run.undo();
  assert.equal(report.state, "undone", JSON.stringify(report.conflicts));
  assert.equal(await Deno.readTextFile(`${repository.dir}/d/a.txt`), "a");
  assert.equal(await Deno.readTextFile(`${outside}/a.txt`), "outside");
  await Deno.remove(outside, { recursive: true });
});

Deno.test("an undo that cannot be made whole is not made", async () => {
  await using repository = await createRepository({ "a.txt": "a", "d/b.txt": "b" });
  await using run = await createRun(repository);
  await run.act("one", async () => {
    await repository.write("a.txt", "changed");
    await repository.write("d/b.txt", "changed");
  });
  // The content of one file is gone: a person cleaned up the folder of snapshots, and the repository.
  const objects = `${repository.dir}/.git/objects`;
  const blob = (await repository.git("rev-parse", "HEAD:d/b.txt")).trim();
  await Deno.remove(`${objects}/${blob.slice(0, 2)}/${blob.slice(2)}`);
  const before = await repository.state();
  const refused = await run.undo();
  assert.deepEqual(refused.conflicts, [{ path: "d/b.txt", why: "its content of before is not there any more" }]);
  assert.deepEqual(await repository.state(), before);
});

Deno.test("a file that changes while an undo is made stops it, and what was done of it is taken back", async () => {
  await using repository = await createRepository({ "a.txt": "a", "b.txt": "b" });
  const home = await Deno.makeTempDir();
  const recording = await createRecorder(home).open(repository.dir) as Recording;
  await recording.take();
  const { look } = exactStats();
  const [a, b] = ["a.txt", "b.txt"].map((path) => look(`${repository.dir}/${path}`)!);
  const { entry } = (await recording.take() as Kept).taken.files.get("a.txt")!;
  const before = await repository.state();
  const steps = [
    { path: "a.txt", from: entry, to: undefined, seen: a },
    { path: "new/c.txt", from: undefined, to: entry, seen: undefined },
    { path: "b.txt", from: entry, to: undefined, seen: { ...b!, modified: 0 } },
  ];
  await assert.rejects(makeSteps(recording.repository, "0", steps), /Nothing was undone: b\.txt was changed meanwhile/);
  assert.deepEqual(await repository.state(), before);
  await Deno.remove(home, { recursive: true });
});

Deno.test("an interrupted undo is finished, or taken back", async () => {
  for (const takesBack of [false, true]) {
    await using repository = await createRepository({ "a.txt": "a", "b.txt": "b", "c.txt": "c" });
    await using run = await createRun(repository);
    const before = await repository.state();
    await run.act("one", async () => {
      await repository.write("a.txt", "changed");
      await Deno.remove(`${repository.dir}/b.txt`);
      await repository.write("new.txt", "new");
    });
    const changed = await repository.state();
    await run.undo();
    // As a crash leaves it: one file is back, one is put aside, the others are not begun, and the record says so.
    const file = `${run.home}/snapshots/undos/wf_0.json`;
    const begun = JSON.parse(await Deno.readTextFile(file)).value;
    await repository.write("new.txt", "new");
    await Deno.remove(`${repository.dir}/a.txt`);
    await repository.write(`.agentcards-undo-${begun.undo}/old-0`, "changed");
    await writeChecked(file, JSON.stringify({ ...begun, isDone: false }));
    const report = await run.undo({ takesBack });
    assert.equal(report.state, takesBack ? "taken_back" : "undone", JSON.stringify(report));
    assert.deepEqual(await repository.state(), takesBack ? changed : before);
  }
});

Deno.test("a task during which the engine stopped is undone with all that came after", async () => {
  await using repository = await createRepository({ "a.txt": "a" });
  await using run = await createRun(repository);
  await run.recorder.before("one");
  await repository.write("a.txt", "changed");
  const later = createSnapshots(`${run.home}/snapshots`);
  const report = await later.undo("wf_0", {});
  assert.equal(report.state, "undone");
  assert.match(report.notes.join(), /The end of one was not seen/);
  assert.equal(await Deno.readTextFile(`${repository.dir}/a.txt`), "a");
});

Deno.test("files are read anew where the index cannot vouch for them", async () => {
  await using repository = await createRepository({ "a.txt": "a\n" });
  await using run = await createRun(repository);
  // The same size at the same time: only the time of the index tells that it may have changed.
  await repository.write("a.txt", "b\n");
  await run.act("one", () => repository.write("a.txt", "c\n"));
  await run.undo();
  assert.equal(await Deno.readTextFile(`${repository.dir}/a.txt`), "b\n");
});

Deno.test("outside of a repository nothing is recorded, and a split or a newer index is read", async () => {
  const outside = await Deno.makeTempDir();
  const snapshots = createSnapshots(`${outside}/snapshots`);
  assert.equal(await snapshots.ofRun("wf_1", outside).before("one"), undefined);
  await assert.rejects(snapshots.undo("wf_1", {}), { code: "RUN_STATE" });
  await Deno.remove(outside, { recursive: true });
  for (const how of [["update-index", "--index-version", "4"], ["update-index", "--split-index"]]) {
    await using repository = await createRepository({ "a/long/path.txt": "a", "a/long/pathology.txt": "b", "z": "z" });
    await repository.git(...how);
    await using run = await createRun(repository);
    const before = await repository.state();
    await run.act("one", () => repository.write("a/long/pathology.txt", "changed"));
    assert.equal((await run.undo()).files.length, 1, how.join(" "));
    assert.deepEqual(await repository.state(), before);
  }
});

Deno.test("what is recorded of a run goes with the run, and the rest stays whole", async () => {
  await using repository = await createRepository({ "a.txt": "a", "b.txt": "b" });
  await using run = await createRun(repository, "wf_kept");
  const gone = run.snapshots.ofRun("wf_gone", repository.dir);
  await gone.before("one");
  await repository.write("a.txt", "changed by the run that goes");
  await gone.after("one");
  await run.act("one", () => repository.write("b.txt", "changed by the run that stays"));
  await repository.write("other.txt", "untracked, recorded before and after the pruning");
  await run.act("two", () => repository.write("b.txt", "changed again"));
  const known = () => Promise.resolve(new Set(["wf_kept"]));
  assert.equal(await run.snapshots.prune(known), 0, "what is young may be under way");
  const files = async () => {
    const found: string[] = [];
    const walk = async (dir: string): Promise<void> => {
      for await (const { name, isDirectory } of Deno.readDir(dir)) {
        if (isDirectory) await walk(`${dir}/${name}`);
        else found.push(`${dir}/${name}`);
      }
    };
    await walk(run.home);
    return found;
  };
  const before = await files();
  const old = new Date(Date.now() - 2 * 3_600_000);
  for (const path of before) await Deno.utime(path, old, old);
  assert.equal(await run.snapshots.prune(known), 1);
  const after = await files();
  assert.ok(after.length < before.length && !after.some((path) => path.includes("wf_gone")));
  const objects = (paths: readonly string[]) => paths.filter((path) => path.includes("/objects/")).length;
  assert.ok(objects(after) >= 4 && objects(after) <= objects(before));
  // A file that nothing of the pruned run vouches for is read anew.
  await run.act("three", () => repository.write("other.txt", "changed"));
  assert.equal((await run.undo()).state, "undone");
  assert.equal(await Deno.readTextFile(`${repository.dir}/b.txt`), "b");
  assert.match(await Deno.readTextFile(`${repository.dir}/other.txt`), /recorded before/);
  assert.match(await Deno.readTextFile(`${repository.dir}/a.txt`), /the run that goes/);
});

Deno.test("a file that is renamed while the files before an overlapping task are recorded is put back all the same", async () => {
  await using repository = await createRepository({ "a.txt": "a", "b.txt": "b" });
  await using run = await createRun(repository);
  await run.recorder.before("one");
  // For the second snapshot the file is not there: it lies outside while its names are listed.
  const outside = `${run.home}/outside`;
  await Deno.rename(`${repository.dir}/a.txt`, outside);
  await run.recorder.before("two");
  await Deno.rename(outside, `${repository.dir}/renamed.txt`);
  await run.recorder.after("two");
  await run.recorder.after("one");
  assert.equal((await run.undo()).state, "undone");
  const state = await repository.state();
  assert.ok("a.txt" in state && !("renamed.txt" in state));
});
