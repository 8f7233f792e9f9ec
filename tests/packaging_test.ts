import assert from "node:assert/strict";
import { type CommandFiles, shellCommand, windowsCommand } from "../packaging/command_file.ts";
import { closure } from "../packaging/packages.ts";
import { DENO_VERSION } from "../packaging/platforms.ts";
import { ownProgram } from "../src/platform/mod.ts";
import { ROOT } from "./fixtures/gateway.ts";

const read = (path: string) => Deno.readTextFile(`${ROOT}${path}`);

/** Files in a folder whose name a shell would stumble over. */
function filesIn(folder: string): CommandFiles {
  return { deno: `${folder}/deno`, config: `${folder}/deno.json`, main: `${folder}/main.js` };
}

Deno.test("the command that setup writes starts the program, whatever its folder is called", async () => {
  const dir = await Deno.makeTempDir({ prefix: "ac it's (x86) $HOME " });
  try {
    const files = filesIn(dir);
    await Deno.writeTextFile(files.deno, '#!/bin/sh\nprintf "%s\\n" "$@"\n');
    await Deno.writeTextFile(`${dir}/agentcards`, shellCommand(files));
    for (const program of [files.deno, `${dir}/agentcards`]) await Deno.chmod(program, 0o755);
    const { code, stdout } = await new Deno.Command(`${dir}/agentcards`, { args: ["call", "a b"] }).output();
    const words = new TextDecoder().decode(stdout).trimEnd().split("\n");
    assert.deepEqual([code, words.slice(-4)], [0, [files.config, files.main, "call", "a b"]]);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("the command for Windows spells percent signs", () => {
  const lines = windowsCommand(filesIn("C:\\Users\\100% me\\cards (x86)")).split("\r\n");
  assert.ok(lines.some((line) => line.includes('"C:\\Users\\100%% me\\cards (x86)/main.js" %*')));
});

Deno.test("all ways to start the program give Deno the same flags", async () => {
  const flags = ownProgram().slice(1, -2);
  const launcher = await read("bin/program.cjs");
  assert.deepEqual([...launcher.matchAll(/^ {4}"(run|--[a-z-]+)",$/gm)].map(([, word]) => word), flags);
  const files = filesIn("/x");
  for (const text of [shellCommand(files), windowsCommand(files)]) {
    assert.ok(text.includes(` ${flags.join(" ")} `), text);
  }
});

Deno.test("package.json says what deno.json says", async () => {
  const [own, { name, version }] = [JSON.parse(await read("package.json")), JSON.parse(await read("deno.json"))];
  assert.deepEqual({ name: own.name, version: own.version }, { name, version });
  assert.equal(own.dependencies, undefined, "deno.json has them");
  assert.match(await read("CHANGELOG.md"), new RegExp(`^## .*\\b${version.replaceAll(".", "\\.")}\\b`, "m"));
});

Deno.test("every text that names a version of Deno names the one that is packed", async () => {
  for (const path of ["README.md", ".ci/run", "setup.ts"]) {
    for (const [, version] of (await read(path)).matchAll(/deno@(\d+\.\d+\.\d+)/g)) {
      assert.equal(version, DENO_VERSION, path);
    }
  }
});

Deno.test("a package holds the versions of deno.lock, without what is never loaded", async () => {
  const lock = await read("deno.lock");
  const found = closure(lock, ["@huggingface/transformers", "zod"]);
  for (const { name, version } of found) assert.ok(`${name}@${version}` in Object.fromEntries(keys(lock)), name);
  const names = found.map(({ name }) => name);
  assert.ok(names.includes("onnxruntime-node") && names.includes("sharp") && names.includes("zod"));
  assert.ok(
    !names.some((name) => /^(?:onnxruntime-web|adm-zip|global-agent)$|^@(?:img|types)\//.test(name)),
    String(names),
  );
});

Deno.test("a package that the lock file does not have is an error", async () => {
  const lock = await read("deno.lock");
  assert.throws(() => closure(lock, ["left-pad"]), /deno.lock has no left-pad/);
});

/** The packages of a lock file without what follows their version. */
function keys(lock: string): [string, true][] {
  return Object.keys(JSON.parse(lock).npm).map((key) => [/^@?[^@]+@[^_]+/.exec(key)![0], true]);
}
