import assert from "node:assert/strict";
import { locateHome } from "../../src/config/home.ts";
import { placeServer, startFolder } from "../../src/config/place.ts";
import { isPackageRunner, relativeWord } from "../../src/config/runner.ts";
import { parseConfig } from "../../src/config/read.ts";
import type { ServerConfig } from "../../src/config/schema.ts";

const home = locateHome({ AGENTCARDS_HOME: "/home/.agentcards" });
const TRUSTED = { path: "/p", trustedBy: "agentcards" } as const;
const UNTRUSTED = { path: "/p" };
const NEUTRAL = "/home/.agentcards/run/s";
const line = (text: string) => {
  const [command, ...args] = text.split(" ");
  return { command: command!, args };
};

function placed(text: string, more: Partial<ServerConfig> = {}, folder: typeof TRUSTED | typeof UNTRUSTED = TRUSTED) {
  const entry: ServerConfig = { ...line(text), name: "s", origin: "global", ...more };
  const start = startFolder(entry, { folder, root: "/p" });
  const { cwd, args } = placeServer({ ...entry, ...start !== undefined && { folder: start }, secrets: [] }, {
    home,
    folder,
  });
  return [cwd, args?.join(" ")];
}

Deno.test("a program that looks for packages or modules by name is known by its words, behind a wrapper too", () => {
  for (
    const text of [
      "npx -y x",
      "/usr/bin/npx x",
      "npm exec x",
      "npm --prefix /a exec -- x",
      "pnpm dlx x",
      "bunx x",
      "bun x y",
      "yarn dlx x",
      "uvx x",
      "uv run x",
      "uv --directory /a run x",
      "uv tool run x",
      "pipx run x",
      "deno run -A npm:x",
      "deno run --allow-net jsr:@a/b",
      "deno x npm:y",
      "python3 -m x",
      "python3.12 -u -m x",
      "python -Im x",
      "python -W ignore -mx",
      "python -c code",
      "env A=b npx x",
      "cmd /c npx x",
      "op run -- npx x",
      "npx.cmd x",
    ]
  ) assert.equal(isPackageRunner(line(text)), true, text);
  assert.equal(isPackageRunner({ command: "sh", args: ["-c", "cd /x && exec npx -y y"] }), true);
  for (
    const text of [
      "node /a/x.js",
      "deno run -A /a/x.ts",
      "python /a/x.py -m y",
      "python3 -u /a/x.py",
      "npm run start",
      "docker run -i x",
      "/opt/server --uvx",
      "gopls mcp",
    ]
  ) assert.equal(isPackageRunner(line(text)), false, text);
});

Deno.test("a word that means another file in another folder is found", () => {
  const found = (text: string) => relativeWord(line(text));
  assert.equal(found("node ./tools/server.mjs"), "./tools/server.mjs");
  assert.equal(found("node --enable-source-maps dist/index.js --port 1"), "dist/index.js");
  assert.equal(found("node server.js"), "server.js");
  assert.equal(found("python3 src/server.py"), "src/server.py");
  assert.equal(found("deno run -A main.ts"), "main.ts");
  assert.equal(found("npx tsx src/server.ts"), "src/server.ts");
  assert.equal(found("npx -y server-filesystem ."), ".");
  assert.equal(found("serve --root=../x"), "--root=../x");
  assert.equal(found("serve ${DIR:-.}"), "${DIR:-.}");
  assert.equal(found("./bin/server x"), "./bin/server");
  assert.equal(found("bin/server"), "bin/server");
  for (
    const text of [
      "node /a/x.js",
      "npx -y chart.js",
      "deno run -A npm:x",
      "serve ...",
      "serve .hidden",
      "serve --level=.5",
      "bash -c ls",
      "docker run a/b",
    ]
  ) assert.equal(found(text), undefined, text);
});

Deno.test("a server starts in a trusted folder, in a neutral one otherwise, a package runner always in the latter", () => {
  assert.deepEqual(placed("git-mcp"), ["/p", ""]);
  assert.deepEqual(placed("git-mcp", {}, UNTRUSTED), [NEUTRAL, ""]);
  assert.deepEqual(placed("node ./x.mjs"), ["/p", "./x.mjs"]);
  assert.deepEqual(placed("npx -y x"), [NEUTRAL, "-y x"]);
  assert.deepEqual(placed("npx -y x", { cwd: "session" }), [NEUTRAL, "-y x"]);
  assert.deepEqual(placed("npx -y x . --root=./y"), [NEUTRAL, "-y x /p --root=/p/y"]);
  assert.deepEqual(placed("npx tsx src/x.ts"), [NEUTRAL, "tsx /p/src/x.ts"]);
  assert.deepEqual(placed("uv run ./x.py"), [NEUTRAL, "run /p/x.py"]);
  assert.deepEqual(placed("git-mcp", { cwd: "neutral" }), [NEUTRAL, ""]);
  assert.deepEqual(placed("git-mcp", { shared: true }), [NEUTRAL, ""]);
  assert.deepEqual(placed("npx x", { cwd: "/opt" }, UNTRUSTED), ["/opt", "x"]);
  assert.deepEqual(placed("./x", { cwd: "/opt" }, UNTRUSTED), ["/opt", ""]);
  assert.deepEqual(placed("git-mcp", { cwd: "sub" }), ["/p/sub", ""]);
  assert.deepEqual(placed("./x", { origin: "project" }), ["/p", ""]);
  assert.deepEqual(placed("npx x", { origin: "project" }), [NEUTRAL, "x"]);
});

Deno.test("what would be looked for in a folder that nobody trusts is refused, and so is a package in any folder", () => {
  const untrusted = { code: "SERVER_UNREACHABLE", hint: /agentcards trust.*servers\.s\.cwd/ };
  for (const text of ["node ./x.mjs", "node x.mjs", "npx -y x .", "serve --root=./y"]) {
    assert.throws(() => placed(text, {}, UNTRUSTED), {
      ...untrusted,
      message: /is a path in \/p, which is not trusted/,
    });
  }
  assert.throws(() => placed("git-mcp", { cwd: "session" }, UNTRUSTED), { ...untrusted, message: /is not trusted/ });
  assert.throws(() => placed("git-mcp", { cwd: "sub" }, UNTRUSTED), untrusted);
  const never = { code: "SERVER_UNREACHABLE", hint: /servers\.s\.cwd/ };
  for (
    const text of [
      "npx ./pkg",
      "npx -p . x",
      "uvx --from . x",
      "uv --directory . run x",
      "npm --prefix=./a exec x",
      "./x",
    ]
  ) assert.throws(() => placed(text), never, text);
  assert.throws(() => placed("npx x", { cwd: "sub" }), never);
  assert.throws(() => placed("node ./x.mjs", { shared: true }), { hint: /absolute path/ });
});

Deno.test("cwd: session does not go with shared", () => {
  const text = (cwd: string) => `servers: { s: { command: x, shared: true, cwd: ${cwd} } }`;
  for (const cwd of ["session", "sub", "./x"]) {
    assert.throws(() => parseConfig(text(cwd), "f"), {
      code: "CONFIG_INVALID",
      message: /shared by sessions of all folders/,
    });
  }
  for (const cwd of ["auto", "neutral", "/opt"]) parseConfig(text(cwd), "f");
});
