import assert from "node:assert/strict";
import { type LauncherFiles, shellLauncher, windowsLauncher } from "../../src/cli/launcher.ts";

/** Files in a folder whose name a shell would stumble over. */
function filesIn(folder: string): LauncherFiles {
  return {
    deno: `${folder}/deno`,
    clone: folder,
    config: `${folder}/deno.json`,
    main: `${folder}/main.ts`,
    locks: [`${folder}/deno.lock`, `${folder}/installed.lock`],
    setup: "deno task setup",
  };
}

Deno.test("the launcher starts the program, unless its packages are those of another version", async () => {
  const dir = await Deno.makeTempDir({ prefix: "ac it's (x86) $HOME " });
  try {
    const files = filesIn(dir);
    await Deno.writeTextFile(files.deno, '#!/bin/sh\nprintf "%s\\n" "$@"\n');
    const launcher = `${dir}/agentcards`;
    await Deno.writeTextFile(launcher, shellLauncher(files));
    for (const program of [files.deno, launcher]) await Deno.chmod(program, 0o755);
    for (const lock of files.locks) await Deno.writeTextFile(lock, "one");
    const start = async () => {
      const { code, stdout, stderr } = await new Deno.Command(launcher, { args: ["call", "a b"] }).output();
      return { code, said: new TextDecoder().decode(stdout), error: new TextDecoder().decode(stderr) };
    };
    const { code, said } = await start();
    assert.deepEqual([code, said.trimEnd().split("\n").slice(-4)], [0, [files.config, files.main, "call", "a b"]]);
    await Deno.writeTextFile(files.locks[0], "two");
    const refused = await start();
    assert.deepEqual([refused.code, refused.said], [1, ""]);
    assert.equal(
      refused.error,
      `AgentCards was updated, its packages were not. In ${dir} run: deno task setup\n`,
    );
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("the launcher for Windows compares the lock files before it starts anything", () => {
  const files = filesIn("C:\\Users\\100% me\\cards (x86)");
  const lines = windowsLauncher(files).split("\r\n");
  const at = (text: string) => lines.findIndex((line) => line.includes(text));
  const path = (name: string) => `"C:\\Users\\100%% me\\cards (x86)/${name}"`;
  assert.equal(lines[at("fc /b")], `fc /b ${path("deno.lock")} ${path("installed.lock")} >nul 2>nul`);
  assert.deepEqual(lines.slice(at("fc /b") + 1, at("set DENO")), [
    "if not errorlevel 1 goto start",
    `>&2 echo AgentCards was updated, its packages were not. In "C:\\Users\\100%% me\\cards (x86)" run: deno task setup`,
    "exit /b 1",
    ":start",
  ]);
  assert.match(lines[at(path("main.ts"))]!, /--cached-only --frozen --config .* %\*$/);
  assert.ok(at("fc /b") < at(path("main.ts")));
});
